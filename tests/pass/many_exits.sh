#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: many_exits.sh TOOL
# A loop of 20,000 exits, each with a condition that was loaded, must be classified quickly
# (analysing each exit took a minute). The pass treats such a loop as one that waits for other
# blocks. It analyses a loop of one hundred exits.
set -eu
tool=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
ways() { # N
	awk -v n="$1" 'BEGIN {
		print ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry ways(.param .u64 p)\n{"
		print ".reg .b32 %r<4>;\n.reg .b64 %d<2>;\n.reg .pred %q<2>;\nld.param.u64 %d1, [p];"
		print "mov.u32 %r1, 0;\nmov.u32 %r3, 0;\nloop:"
		for (k = 0; k < n; k++)
			printf "ld.global.u32 %%r2, [%%d1+%d];\nadd.u32 %%r1, %%r1, %%r2;\n" \
				"setp.eq.u32 %%q1, %%r1, %d;\n@%%q1 bra out;\n", 4 * k, k
		print "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %q1, %r3, 100;\n@%q1 bra loop;\nout:"
		print "st.global.u32 [%d1], %r1;\nret;\n}"
	}' >"$work/$1.ptx"
	timeout 30 "$tool" classify "$work/$1.ptx"
}
many=$(ways 20000)
few=$(ways 100)
echo "$few"
echo "$many"
[ "$few" = 'ways: managed local' ] && [ "$many" = 'ways: managed rising local' ]
