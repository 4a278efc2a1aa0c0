#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: share.sh WHERE
# Runs two instances of examples/share.c on DEVICE (cpu: the virtual GPU; cuda, under MPS) beside
# each other under heddled --policy greedy. The first instance has every SM, shrinks to half of each
# when the second arrives, and grows again when the second leaves. When it shrinks, its surplus
# blocks must leave the GPU, and every result must be right. Without heddled, an instance runs with
# all blocks that fit. WHERE is a build folder or the output of ./run dist. BLOCKS, ROUNDS: the
# first instance's work.
set -eu
where=$1
heddle=$where/bin/heddle examples=$where/lib/heddle/examples
[ -x "$heddle" ] || heddle=$where/heddle examples=$where/examples
heddled=$(dirname "$heddle")/heddled device=${DEVICE:-cpu}
here=$(dirname "$0")
ptx=$examples/share.ptx
[ -f "$ptx" ] || ptx=$here/../../examples/share.ptx
for part in "$heddle" "$heddled" "$examples/share"; do
	[ -x "$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
if [ "$device" = cuda ]; then
	if [ ! -e /dev/nvidiactl ] || ! command -v nvidia-cuda-mps-control >/dev/null; then
		echo "skipped: no NVIDIA GPU, or no nvidia-cuda-mps-control"
		exit 77
	fi
	driver='' mps=on blocks=${BLOCKS:-1000000} rounds=${ROUNDS:-1000000}
else
	driver=$(dirname "$(find "$where" -path '*cpu/libcuda.so.1' | head -n 1)")
	mps=off blocks=${BLOCKS:-20000} rounds=${ROUNDS:-2000}
fi
export HEDDLE_VGPU="share-$$"
# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

# share NAME BLOCKS: starts the program in the background; its process id is in $started.
share() {
	LD_LIBRARY_PATH=${driver:-${LD_LIBRARY_PATH-}} "$examples/share" "$device" "$ptx" "$2" "$rounds" \
		>"$dir/$1.out" 2>"$dir/$1.err" &
	started=$!
}

# told NAME LINE TEXT: that line of the program's output starts with TEXT.
told() {
	sed -n "$2p" "$dir/$1.out" | grep -q "^$3 blocks on an SM"
}

share alone 500
wait "$started" || fail "without heddled: $?"
grep -q 'heddled does not run' "$dir/alone.err" || fail "without heddled it does not say so"
all=$(sed -n '1s/ blocks on an SM.*//p' "$dir/alone.out")
places=$(sed -n '1s/.*, \([0-9]*\) in all$/\1/p' "$dir/alone.out")
[ "$device" = cuda ] || [ "$all" = 16 ] || fail "without heddled it does not have all that fit"
half=$((all / 2))

start_daemon --policy greedy --mps "$mps"
# heddled's MPS folder; heddle run would set it.
[ "$mps" = off ] || export CUDA_MPS_PIPE_DIRECTORY="$dir/mps-pipe"
share one "$blocks"
one=$started
pids=$one
await 60 told one 1 "$all" || fail "the first one does not have all"
share two $((blocks / 5))
two=$started
pids="$pids $two"
await 60 told two 1 "$half" || fail "the second one does not have half"
await 60 told one 2 "$half" || fail "the first one does not shrink"
wait "$two" || fail "the second one: $?"
await 60 told one 3 "$all" || fail "the first one does not grow"
wait "$one" || fail "the first one: $?"
pids=
for name in one two; do
	grep -q ' 0 of [0-9]* results wrong$' "$dir/$name.out" || fail "$name: wrong results"
done
# While the first program grew, its blocks that were still on the GPU were no more than it had been
# allowed: half of all places.
present=$(sed -n 's/.*"event": "grow", "tenant": 1,.* "present": \([0-9]*\),.*/\1/p' "$dir/events" | head -n 1)
case $present in
"" | 0) fail "the first one is not seen on the GPU as it grows" ;;
*) [ "$present" -le $((places / 2)) ] || fail "$present blocks stayed, of $((places / 2)) allowed" ;;
esac
! grep -qE 'illegal|warning' "$dir/daemon.log" || fail "heddled found something wrong"
echo passed
