#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: for p in va nn pf pl md spmv mm cfd nb bo mh tp fd lm px; do build/examples/$p --calibrate; done |
#                sh examples/fit-sizes.sh examples/sizes.def >new && mv new examples/sizes.def
# Fits the rows of sizes.def to a device: multiplies each row's work by the scale that --calibrate
# found for it, in the way that --scale does. Rows that were not measured stay as they are. Do it
# twice: what a size takes is not quite proportional to it.
set -eu
exec awk '
# Which of p0… is the number of elements, of batches, of batches a block (0: none).
BEGIN {
	split("va 1 3 2;nn 1 2 3;pf 1 4 5;pl 1 5 6;md 1 3 4;spmv 1 3 4;mm 0 2 3;cfd 1 3 4;" \
		"nb 1 2 3;bo 1 3 4;mh 1 3 4;tp 1 3 4;fd 1 4 5;lm 1 3 4;px 1 2 3", row, ";")
	for (k in row) {
		split(row[k], c, " ")
		n_at[c[1]] = c[2]; batches_at[c[1]] = c[3]; per_block_at[c[1]] = c[4]
	}
}
function field(name) {
	return match($0, "\"" name "\":\"?[^\",}]*") ? \
		substr($0, RSTART + length(name) + 3 + (substr($0, RSTART + length(name) + 3, 1) == "\""), \
		RLENGTH - length(name) - 3 - (substr($0, RSTART + length(name) + 3, 1) == "\"")) : ""
}
function at_least_1(x) { x = int(x + 0.5); return x < 1 ? 1 : x }
FILENAME == "-" {
	scale[field("program") " " field("class") " " field("size")] = field("scale")
	next
}
!/^SIZE\(/ { print; next }
{
	line = $0
	gsub(/^SIZE\(|\)$/, "", line)
	count = split(line, v, /, */)
	key = v[1] " " v[2] " " v[3]
	s = scale[key]
	if (s == "" || s <= 0) { print; next }
	n = 4 + n_at[v[1]]; b = 4 + batches_at[v[1]]; p = 4 + per_block_at[v[1]]
	if (v[1] == "va" && v[p] > 1) {
		blocks = v[n] / (256 * v[p])
		v[p] = at_least_1(v[p] * s)
		v[n] = blocks * 256 * v[p]
	} else if (v[p] > 1) { # long blocks: longer, not more
		rows = v[b] / v[p]
		v[p] = at_least_1(v[p] * s)
		v[b] = rows * v[p]
	} else if (v[b] * s >= 16 || v[1] == "mm") {
		v[b] = at_least_1(v[b] * s)
	} else {
		v[n] = at_least_1(v[n] * s)
	}
	out = sprintf("SIZE(%-5s %s, %-8s %7d", v[1] ",", v[2], v[3] ",", v[4])
	for (k = 5; k <= count; k++)
		out = out ", " v[k]
	print out ")"
}' - "$1"
