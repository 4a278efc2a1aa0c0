#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: spins.sh TOOL PTX...
# The assembler inserts YIELD, which lets waiting lanes of a warp continue, into exactly those
# kernels that the pass takes to spin (src/pass/analysis/rising.c). In the workers of these
# kernels, lanes reconverge before barriers. Needs ptxas and nvdisasm (or NVDISASM).
set -eu
tool=$1
shift
# shellcheck source=tests/pass/sass.sh disable=SC2154
. "$(dirname "$0")/sass.sh"
: >"$work/found"
# Reads $ptx and its code in $work/cubin, and adds a line for each worker to $work/found.
look() {
	# The code of functions follows that of the kernel that calls them.
	"$nvdisasm" -c "$work/cubin" | awk '
		/^\.text\./ { kernel = substr($1, 7); sub(/:.*/, "", kernel) }
		/ YIELD/ && kernel != "" { print "yields " kernel; kernel = "" }' >"$work/yields"
	"$tool" lean "$ptx" 2>/dev/null | awk '
		/^(\.visible |\.weak )?\.(entry|func)/ {
			name = $0
			sub(/.*\.(entry|func) */, "", name)
			sub(/[^A-Za-z0-9_$].*/, "", name)
			ours = 0
		}
		{ line = $0; sub(/^[ \t]*/, "", line) }
		line == "$hd_begin:" { ours = 1; print "worker " name }
		ours && line ~ /^(@[^ ]* )?bar.warp.sync (-1|%hd_n);/ && last != "$hd_begin:" { print "meets " name }
		{ last = line }' | sort -u >>"$work/yields"
	awk -v file="$arch $(basename "$(dirname "$ptx")")/$(basename "$ptx")" '
		{ is[$1, $2] = 1; if ($1 == "worker") kernels[$2] = 1 }
		END {
			for (k in kernels)
				print file, k, (("yields", k) in is) + 0, (("meets", k) in is) + 0
		}' "$work/yields" >>"$work/found"
}

# shellcheck disable=SC2086
for arch in ${ARCHS:-sm_80 sm_90}; do
	for ptx; do
		"$ptxas" -arch=$arch -o "$work/cubin" "$ptx" 2>/dev/null || continue
		look
	done
done
awk '
	{ n++; yields += $4; more += !$4 && $5 }
	$4 && !$5 { print "bad " $1 " " $2 ": " $3 " has YIELD, and lanes do not meet"; bad++ }
	END {
		print n " kernels, " yields " with YIELD, " bad + 0 " of them not known to spin; " more " others are"
		exit bad > 0 || yields < 5
	}' "$work/found"
