#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: preempted_often.sh HEDDLE KERNELS DEVICE TIMES BLOCKS [NAME...]
# Stops and resumes kernels at least TIMES times in one launch, in grids of about BLOCKS blocks:
# each must leave the plain kernel's memory, to the last bit. KERNELS: a folder with nvcc/ or
# clang/ in it; the script reports kernels that are missing there. NAME: only these kernels. Before
# each stop, all workers on the device run a block, so on a device with many SMs BLOCKS must be
# several times TIMES.
set -eu
heddle=$1
kernels=$2
device=$3
times=$4
n=$5
shift 5
only="$*"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
tried=0 bad=0 shared=0
limit=60

# shellcheck source=tests/exec/form.sh
. "$(dirname "$0")/form.sh"

# form OUT PTX KERNEL GRID BLOCK ARGS OPTIONS: runs a kernel.
form() {
	run_form "$1" "$device" "$2" "$3 $6" "--grid $4 --block $5 --shared $shared $7"
}

# check FILE KERNEL GRID BLOCK ARG...: compares the preemptible with the plain form.
check() {
	file=$1 kernel=$2 grid=$3 block=$4
	shift 4
	[ -z "$only" ] || case " $only " in *" $kernel "*) ;; *) return 0 ;; esac
	for ptx in "$kernels/nvcc/$file.ptx" "$kernels/clang/$file.ptx"; do
		[ -r "$ptx" ] && break
	done
	[ -r "$ptx" ] || {
		echo "left out $kernel: no $file.ptx"
		return 0
	}
	tried=$((tried + 1))
	rm -f "$work"/*
	if ! form "$work/plain" "$ptx" "$kernel" "$grid" "$block" "$*" "" ||
		! form "$work/form" "$ptx" "$kernel" "$grid" "$block" "$*" \
			"--as preempt --yield-every 1 --workers 1"; then
		echo "FAIL $kernel: $(cat "$work"/*.err | head -n 2 | tr '\n' ' ')"
		bad=$((bad + 1))
		return 0
	fi
	launches=$(sed -n 's/.*"launches": \([0-9]*\).*/\1/p' "$work/form.out")
	why=
	for f in "$work"/plain.[0-9]*; do
		cmp -s "$f" "$work/form.${f##*.}" || why="another result"
	done
	[ "$launches" -gt "$times" ] || why="${why:+$why, }too few preemptions"
	echo "${why:+FAIL }$kernel: $((launches - 1)) preemptions${why:+: $why}"
	[ -z "$why" ] || bad=$((bad + 1))
}

# A plain kernel; ids of three dimensions; blocks that wait for earlier ones; barriers with
# reductions; early exits before barriers; shared memory; the guard form.
check va va "$n" 64 "f32[$((n * 64))]:rand(1)" "f32[$((n * 64))]:rand(2)" "f32[$((n * 64))]:zero" \
	u32:$((n * 64 - 5)) u32:1
check grids grid_all $((n / 20)),5,4 4,3,5 "u32[$((n * 60))]:zero"
check lookback lookback "$n" 64 "u32[$((n * 64))]:const(3)" "u32[$((n * 64))]:zero" "u64[$n]:zero"
check barriers bar_reduce "$n" 96 "u32[$((n * 288))]:zero"
check early_return er_barrier "$n" 128 "i32[$((n * 128))]:iota" "i32[$((n * 128))]:zero" \
	u32:$((n * 128 - 62))
# Without --workers: an SM holds only one or two workers with so much shared memory.
shared=98304
check shared shared_full "$n" 128 "u32[$((n * 128))]:zero"
check early_return er_exit_callee "$n" 64 "i32[$((n * 64))]:iota" "i32[$((n * 64))]:zero" \
	u32:$((n * 64 - 56))
echo "$tried kernels, $bad wrong"
[ $bad -eq 0 ] && [ $tried -gt 0 ]
