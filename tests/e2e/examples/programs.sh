#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: programs.sh LIST EXAMPLES LIBCUDA
# Runs every example program on the virtual GPU with the kernels of at most COMPILERS compilers (9)
# and checks the results. Also checks that a pair starts together, and the exit status for wrong
# usage and for a missing kernel.
set -u
list=$1
examples=$2
grep -qv "	ptx	" "$list" || {
	echo "skipped: no compiler for kernels"
	exit 77
}
LD_LIBRARY_PATH=$(dirname "$3")
HEDDLE_VGPU=examples-$$
export LD_LIBRARY_PATH HEDDLE_VGPU
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0
complain() {
	echo "$*"
	cat "$tmp/out"
	bad=1
}
# expect STATUS PROGRAM ARG…: runs the program, which must end with this status.
expect() {
	want=$1
	program=$2
	shift 2
	timeout 60 "$examples/$program" "$@" >"$tmp/out" 2>&1
	got=$?
	[ $got = "$want" ] || complain "$program $*: status $got, expected $want"
}
toolchains=$(cut -f 3 "$list" | sort -u | grep -vx ptx | head -n "${COMPILERS:-9}")
for program in va nn pf pl md spmv mm cfd nb bo mh tp fd lm px; do
	for toolchain in $toolchains; do
		expect 0 "$program" --size trivial --repeat 2 --toolchain "$toolchain"
		grep -q "pass: 2 of 2 checked" "$tmp/out" || complain "$program: no verdict"
	done
done
# Runs the kernels in slices (heddle ptx slice): in one slice, in a number of slices that does not
# divide the grid, and with one block in each slice.
for program in va nn pf pl md spmv mm cfd nb bo mh tp fd lm px; do
	for toolchain in $toolchains; do
		"$examples/../heddle" ptx slice "$examples/../kernels/$toolchain/$program.ptx" >"$tmp/sliced.ptx" ||
			complain "$program: not sliced"
		for slices in 1 7 100000; do
			expect 0 "$program" --size trivial --ptx "$tmp/sliced.ptx" --slices $slices
			grep -q "pass: 1 of 1 checked" "$tmp/out" || complain "$program in $slices: no verdict"
		done
	done
done
expect 2 va --size trivial --slices 7
expect 0 va --size trivial --library --json --check last --seed 7
grep -q '"verdict":"pass"' "$tmp/out" || complain "va --json: no verdict"
expect 2 va --size huge
expect 1 va --ptx /nonexistent.ptx

timeout 60 "$examples/md" --size small --repeat 3 --barrier "$tmp/meet" --role low --json >"$tmp/low" &
expect 0 mm --size trivial --repeat 3 --barrier "$tmp/meet" --role high --delay-us 100 --json
cp "$tmp/out" "$tmp/high"
wait $! || complain "md, role low, failed"
# The high-priority program launches after the start of the low-priority one, in every round.
awk -F '[:,]' '
	/"round":/ {
		for (k = 1; k < NF; k++) {
			if ($k ~ /"launch_ns"/) launch[FILENAME, n[FILENAME] + 0] = $(k + 1)
			if ($k ~ /"started_ns"/) started[FILENAME, n[FILENAME] + 0] = $(k + 1)
		}
		n[FILENAME]++
	}
	END {
		low = ARGV[1]; high = ARGV[2]
		if (n[low] != 3 || n[high] != 3) exit 1
		for (k = 0; k < 3; k++)
			if (launch[high, k] < started[low, k] + 100000) exit 1
	}' "$tmp/low" "$tmp/high" || { cat "$tmp/low"; complain "the pair did not start together"; }
exit $bad
