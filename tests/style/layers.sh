#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Includes go only towards lower layers: a file in src/LAYER may include its own folder's headers,
# those of the layers before it in the list below, and the public ones. A folder within a layer, or
# a file, may have its own entry in the list; otherwise it has that of the folder around it. A
# quoted include of a file that does not exist is a violation, too, so that a typo cannot hide a
# dependency.
. "$(dirname "$0")/lib.sh"
order='base ctl wire sched sched/model sched/policy sched/engine sim model daemon ptx cfg image'
order="$order dev dev/cpu dev/cpu/exec dev/cpu/decode dev/cpu/sm dev/cpu/drv"
order="$order pass/pass.h pass/merge.h pass/harness.h pass/passes.def pass/passes.h"
order="$order pass/analysis pass/verify pass/virtual pass/worker pass/fuse pass/task pass"
order="$order host rt shim cudart front stage job lab cli opencl spank"

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
		own = FILENAME ~ /^include/ ? "" : place(substr(FILENAME, 5))
		folder = FILENAME
		sub(/[^\/]*$/, "", folder)
	}
	# Returns the entry of the list for a path, or "" if there is none.
	function place(path) {
		while (!(path in rank) && sub(/\/[^\/]*$/, "", path))
			;
		return path in rank ? path : ""
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
		goal = place(to)
		if (own == "") {
			print FILENAME ":" FNR ": a public header may not include \"" to "\""
		} else if (to ~ /\// && goal != "" && exists("src/" to)) {
			if (rank[goal] > rank[own])
				print FILENAME ":" FNR ": " own " may not include " goal ": \"" to "\""
		} else if (!exists(folder to) && to !~ /\.(def|inc)$/ && to !~ /_gen\.h$/) {
			print FILENAME ":" FNR ": no such file in the tree: \"" to "\""
		}
	}'
} | verdict
