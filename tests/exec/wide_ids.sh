#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: wide_ids.sh HEDDLE DEVICE
# Tests block ids beyond 2^32. The grids are too large to run whole here (tests/hw/wide.sh does),
# so --first starts at their last blocks, and the ids must match arithmetic. Each of these blocks
# must run once, and no other block. SAMPLE=1: one set of options for each grid, and all of them
# for the last grid.
set -eu
heddle=$1
device=$2
ptx=$(dirname "$0")/far.ptx
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
runs=0 bad=0 turn=0

# exec_from FIRST GRID KERNEL WORDS OPTIONS: runs a kernel, and writes its output to $work/out.
exec_from() {
	# shellcheck disable=SC2086
	timeout 60 "$heddle" exec --json --device "$device" --as preempt --first "$1" --grid "$2" \
		--block "$threads" $5 "$ptx" "$3" $4 >"$work/all" 2>"$work/err" || {
		echo "FAIL $3 $2 from $1 $5: $(cat "$work/err" "$work/all" | grep -F error | tr '\n' ' ')"
		return 1
	}
	sed '/^{$/,$d' "$work/all" >"$work/out"
	sed -n 's/.*"launches": \([0-9]*\).*/\1/p' "$work/all" >"$work/launches"
}

# compare NAME AGAIN: compares $work/out with $work/want. AGAIN 1: the kernel must have been
# resumed, too.
compare() {
	runs=$((runs + 1))
	if ! cmp -s "$work/want" "$work/out"; then
		echo "FAIL $1: $(diff "$work/want" "$work/out" | head -n 5 | tr '\n' ' ')"
	elif [ "$2" = 1 ] && [ "$(cat "$work/launches")" -lt 10 ]; then
		echo "FAIL $1: never preempted"
	else
		return 0
	fi
	bad=$((bad + 1))
}

# ids X Y Z LAST: prints the ids of the grid's last LAST blocks, and that each block ran once.
ids() {
	at=$(($1 * $2 * $3 - $4)) end=$(($1 * $2 * $3))
	while [ "$at" -lt "$end" ]; do
		echo "$((at % $1)) $((at / $1 % $2)) $((at / $1 / $2)) 1"
		at=$((at + 1))
	done | tr ' ' '\n'
	printf '0\n0\n0\n0\n' # no block ran outside the range
}

# counts DIVISOR MODULUS FROM BLOCKS CELLS: prints how often each value of one id occurs in BLOCKS
# blocks from number FROM on. Values from CELLS on are counted together.
counts() {
	awk -v by="$1" -v of="$2" -v at="$3" -v blocks="$4" -v n="$5" 'BEGIN {
		for (end = at + blocks; at < end; at++) {
			id = int(at / by) % of
			c[id < n ? id : n]++
		}
		for (i = 0; i <= n; i++) print c[i] + 0
	}'
}

last=150 threads=32
# One row; many rows; many layers; 2^32 + 1 blocks; about 1.5 and 15 times 2^32 blocks; the largest
# grid.
for grid in 4294967295,1,1 65538,65535,1 1,65535,65535 6700417,641,1 100003,1,65535 1001,997,65521 \
	2147483647,65535,65535; do
	IFS=, read -r x y z <<-EOF
		$grid
	EOF
	first=$((x * y * z - last))
	ids "$x" "$y" "$z" $last >"$work/want"
	for kernel in far_all far_guard; do
		# These options do not apply to the guard form.
		for options in "--yield-every 8" "" "--yield-every 5 --chunk 4" \
			"--yield-every 11 --chunk 3 --pull-ahead --workers 1"; do
			[ $kernel = far_all ] || [ "$options" = "--yield-every 8" ] || continue
			turn=$((turn + 1))
			[ -z "${SAMPLE-}" ] || [ "$x" = 2147483647 ] || [ $((turn % 3)) -eq 0 ] || continue
			exec_from $first "$grid" $kernel \
				"u32[$((4 * last + 4))]:zero>- u64:$first u32:$last" "$options" ||
				bad=$((bad + 1))
			compare "$kernel $grid $options" "$([ -z "$options" ] || echo 1)"
		done
	done
done

# Tickets that pass 2^32 during the launch, in grids whose kernels read only one id.
x=65053 y=641 z=103 # 2^32 + 26923 blocks
first=$(((1 << 32) - 300))
blocks=$((x * y * z - first))
threads=1
for dimension in x y z; do
	case $dimension in
	x) counts 1 $x $first "$blocks" 70000 ;;
	y) counts $x $y $first "$blocks" 70000 ;;
	z) counts $((x * y)) $z $first "$blocks" 70000 ;;
	esac >"$work/want"
	for options in "--chunk 1" "--chunk 16 --yield-every 2000"; do
		[ -z "${SAMPLE-}" ] || [ "$options" != "--chunk 1" ] || [ $dimension = z ] || continue
		exec_from $first $x,$y,$z far_$dimension "u32[70001]:zero>- u32:70000" "$options" ||
			bad=$((bad + 1))
		compare "far_$dimension $options" 0
	done
done
# --first refuses a number beyond the grid's last block.
if exec_from 12 3,2,2 far_x "u32[5]:zero u32:4" "" >/dev/null; then
	echo "FAIL --first 12 of 12 blocks"
	bad=$((bad + 1))
fi
grep -q "has 12 blocks" "$work/all" || bad=$((bad + 1))
echo "$runs runs, $bad wrong"
[ $bad -eq 0 ]
