#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: record.sh WHERE [PROGRAM...]
# Records the example programs on DEVICE (cpu: the virtual GPU; cuda) and runs the recorded kernels
# again: plain, preempted, and in one launch together with the kernel of the program before. Each
# must leave the same memory as in its program. WHERE is a build folder or the output of ./run dist.
# On cuda, also records the programs of the CUDA runtime.
set -eu
where=$1
shift
heddle=$where/bin/heddle examples=$where/lib/heddle/examples device=${DEVICE:-cpu} size='--size trivial --device-class cpu'
[ -x "$heddle" ] || heddle=$where/heddle examples=$where/examples
[ $# -gt 0 ] || set -- va nn pf pl md spmv mm cfd nb bo mh tp fd lm px
if [ "$device" = cuda ]; then
	[ -e /dev/nvidiactl ] || {
		echo "skipped: no NVIDIA GPU"
		exit 77
	}
	for program; do
		[ ! -x "$examples/rt/$program" ] || set -- "$@" "rt/$program"
	done
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	cat "$dir/out"
	exit 1
}
export HEDDLE_SOCKET="$dir/none" HEDDLE_VGPU="record-$$"

before=''
for program; do
	[ -x "$examples/$program" ] || {
		echo "skipped: no $examples/$program"
		exit 77
	}
	name=$(echo "$program" | tr / -)
	# shellcheck disable=SC2086
	"$heddle" record --device "$device" -o "$dir/$name" -- "$examples/$program" $size >"$dir/out" 2>&1 ||
		fail "$program is not recorded"
	grep -q 'checked results correct' "$dir/out" || fail "$program: other results while it is recorded"
	grep -q '^heddle record: 1 launch,' "$dir/out" || fail "$program: not one launch"
	for as in plain 'preempt --yield-every 7'; do
		# shellcheck disable=SC2086
		"$heddle" exec --device "$device" --check --as $as -- "recorded:$dir/$name" >"$dir/out" 2>&1 ||
			fail "$program, $as"
	done
	if [ "$before" ]; then
		"$heddle" corun --device "$device" --check --how merge -- "recorded:$dir/$before" + \
			"recorded:$dir/$name" >"$dir/out" 2>&1 || fail "$before and $program merged"
	fi
	before=$name
done
echo "$# programs recorded and run again"
