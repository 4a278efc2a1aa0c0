#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Includes run downwards only: a file in src/LAYER may include its own folder's headers, those of
# the layers that stand before it in the list below, and the public ones. A quoted include that
# names no file of the tree is a violation too, so that a typo cannot hide an arrow.
. "$(dirname "$0")/lib.sh"
order='base ctl wire sched daemon ptx cfg image dev pass host model trace rt shim cli opencl spank'

{
	for dir in src/*/; do
		layer=$(basename "$dir")
		case " $order " in *" $layer "*) ;; *) echo "$dir:1: not in the list of layers" ;; esac
	done
	files '*.c' '*.h' | grep -E '^(src|include)/' | xargs -r awk -v order="$order" '
	BEGIN {
		n = split(order, names, " ")
		for (i = 1; i <= n; i++)
			rank[names[i]] = i
	}
	FNR == 1 {
		split(FILENAME, part, "/")
		own = part[1] == "include" ? "" : part[2]
		folder = FILENAME
		sub(/[^\/]*$/, "", folder)
	}
	function exists(path,   line, r) {
		if (!(path in known)) {
			r = getline line < path
			close(path)
			known[path] = r >= 0
		}
		return known[path]
	}
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, quoted, "\"")
		to = quoted[2]
		if (to ~ /^heddle\//)
			next
		if (to ~ /\.\./) {
			print FILENAME ":" FNR ": write \"layer/file.h\", not \"" to "\""
			next
		}
		split(to, path, "/")
		if (own == "") {
			print FILENAME ":" FNR ": a public header may not include \"" to "\""
		} else if (to ~ /\// && path[1] in rank && exists("src/" to)) {
			if (rank[path[1]] > rank[own])
				print FILENAME ":" FNR ": " own " may not include " path[1] ": \"" to "\""
		} else if (!exists(folder to) && to !~ /\.(def|inc)$/ && to !~ /_gen\.h$/) {
			print FILENAME ":" FNR ": no such file in the tree: \"" to "\""
		}
	}'
} | verdict
