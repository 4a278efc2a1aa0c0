#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: all_at_once.sh HEDDLE KERNELS
# If all blocks of a grid may wait for each other, heddle exec keeps them all resident at once, and
# says so if its options asked for something else. Without such options, and for other grids, it
# says nothing. KERNELS: the folder build/kernels, with the compilers' output.
set -eu
heddle=$1
file=$2/nvcc/gridwait.ptx
[ -e "$file" ] || file=$2/clang/gridwait.ptx
other=$(dirname "$file")/va.ptx
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
bad=0

# says YES|NO FILE KERNEL ARG...: checks whether heddle exec says that all blocks are resident at
# once.
says() {
	expected=$1
	shift
	timeout 60 "$heddle" exec --device cpu --as preempt --block 64 "$@" >"$dir/out" 2>"$dir/err" || {
		echo "$*: exit status $?"
		cat "$dir/err"
		bad=1
	}
	said=no
	! grep -q 'its blocks may wait for each other, so all [0-9]* were there at once' "$dir/err" || said=yes
	[ "$said" = "$expected" ] || {
		echo "$*: $said, expected $expected"
		bad=1
	}
}

wait_for_all() { # OPTION...
	set -- "$@" --grid 24 "$file" gridwait_counter 'u32[1]:zero' 'u32[24]:zero' i32:5
	says "$expect" "$@"
}

expect=no
wait_for_all
wait_for_all --chunk 4
expect=yes
wait_for_all --yield-every 3
wait_for_all --workers 1
wait_for_all --total-workers 5
says no --grid 40 --yield-every 3 --workers 1 "$other" va 'f32[2560]:iota' 'f32[2560]:iota' 'f32[2560]:zero' u32:2560 u32:1
"$heddle" exec --json --device cpu --as preempt --yield-every 3 --grid 24 --block 64 "$file" gridwait_counter \
	'u32[1]:zero' 'u32[24]:zero' i32:5 2>/dev/null | grep -q '"together": *true' || {
	echo "not in JSON"
	bad=1
}
[ "$bad" = 0 ]
