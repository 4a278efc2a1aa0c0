#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: edges.sh HEDDLE TABLE [DEVICE]
# Runs each row of the table (edges.txt) on DEVICE (default: cpu), and prints each row that gives
# another value, with that value. On a GPU: edges.sh build/heddle tests/dev/cpu/edges.txt cuda
set -eu
heddle=$1 table=$2 device=${3:-cpu}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
[ "$device" != cpu ] || export HEDDLE_VGPU="edges-$$"

# One thread runs all rows. Operands come from memory, so that ptxas cannot fold the results.
grep -v '^#' "$table" | awk -F '\t' -v rows="$dir/rows" '
function width(letter) { return letter == "h" ? 16 : letter == "r" || letter == "p" ? 32 : 64 }
{
	print >rows
	n = split($3, o, " ")
	list = ""
	body = body "{\n.reg .b16 %h<6>; .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .pred %p<6>;\n"
	for (i = 1; i <= n; i++) {
		letter = substr(o[i], 1, 1)
		values = values (values == "" ? "" : ", ") "0x" substr(o[i], 3)
		body = body sprintf("ld.global.b%d %%%s%d, [in+%d];\n", width(letter), letter, i, 8 * at++)
		list = list sprintf(", %%%s%d", letter, i)
	}
	to = substr($2, 1, 1)
	body = body sprintf("%s %%%s0%s;\n", $1, to, list)
	body = body (to == "p" ? "selp.u64 %d0, 1, 0, %p0;\n" : to == "h" ? "cvt.u64.u16 %d0, %h0;\n" : \
		to == "r" ? "cvt.u64.u32 %d0, %r0;\n" : "")
	body = body sprintf("st.global.u64 [%%out+%d], %%d0;\n}\n", 8 * (NR - 1))
}
END {
	print ".version 8.0\n.target sm_90\n.address_size 64"
	print ".visible .global .align 8 .b64 in[" at "] = {" values "};"
	print ".visible .entry edges(.param .u64 p)\n{\n.reg .b64 %out;\nld.param.u64 %out, [p];\n" body "ret;\n}"
}' >"$dir/edges.ptx"
n=$(wc -l <"$dir/rows")
"$heddle" exec --device "$device" --grid 1 --block 1 "$dir/edges.ptx" edges "u64[$n]:zero>-" >"$dir/out"
tail -n "$n" "$dir/out" | while read -r got; do printf '%x\n' "$got"; done >"$dir/got"
paste "$dir/rows" "$dir/got" | awk -F '\t' '
{ split($2, want, ":"); if (want[2] != $5) { bad++; print $1 ", " $3 ": " $5 ", expected " want[2] " (" $4 ")" } }
END { print NR " rows, " bad + 0 " differ"; exit bad > 0 }'
