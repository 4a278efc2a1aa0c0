#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: whole.sh TOOL PTX...
# Ahead of each barrier whose warps the assembler may take for parted the lanes of a warp meet, with
# the barrier's own guard (src/pass/emit.h, WHOLE_WARP, says why). Looked at: those with a number and no
# count. Kernels that stay as they are do not count.
set -eu
tool=$1
shift
for ptx; do
	"$tool" lean "$ptx" 2>/dev/null | awk -v file="$ptx" '
		/^\.visible \.entry|^\.entry|^\.weak \.entry/ { ours = 0 }
		/hd_args/ { ours = 1 }
		{ line = $0; sub(/^[ \t]*/, "", line) }
		line ~ /^(@[^ ]* )?barrier\./ && line ~ /sync [0-9]*;/ && ours {
			guard = ""
			if (match(line, /^@[^ ]* /))
				guard = substr(line, 1, RLENGTH)
			barriers++
			if (last != guard "bar.warp.sync -1;")
				print "bad " file ": " line " behind " last
		}
		{ last = line }
		END { print "barriers " barriers + 0 }'
done | awk '
	/^bad/ { bad++; print }
	/^barriers/ { n += $2 }
	END {
		print n " barriers, " bad + 0 " without"
		exit bad > 0 || n == 0
	}'
