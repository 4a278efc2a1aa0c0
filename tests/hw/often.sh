#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: often.sh WHERE [TIMES]
# Preempts programs and kernels TIMES times (2500) on this machine's GPU, and compares each result.
# heddled preempts programs: fully without MPS, and fully and on some SMs only with MPS. Also runs
# one launch that stops itself again and again (../exec/preempted_often.sh). WHERE is a build folder
# or the output of ./run dist.
set -eu
where=$1
times=${2:-2500}
heddle=$where/bin/heddle
examples=$where/lib/heddle/examples
kernels=$where/lib/heddle/kernels
[ -x "$heddle" ] || {
	heddle=$where/heddle
	examples=$where/examples
	kernels=$where/kernels
}
if [ ! -e /dev/nvidiactl ] || [ ! -x "$examples/nn" ]; then
	echo "skipped: no NVIDIA GPU, or no compiler for kernels"
	exit 77
fi
heddled=$(dirname "$heddle")/heddled device=cuda
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

# stop: ends the disturber and the daemon with its MPS.
stop() {
	# shellcheck disable=SC2086
	kill $pids
	# shellcheck disable=SC2086
	wait $pids 2>/dev/null || :
	pids=
	kill "$daemon"
	wait "$daemon" || :
	daemon=
	rm -f "$dir/events" "$dir/tick.out"
}

# by_words MPS temporal|spatial TICK: preempts nn, whose rounds take some 16 ms on this GPU.
by_words() {
	echo "heddled, MPS $1, $2:"
	start_daemon --mps "$1" --set preempt="$2" --set min_managed_us=1 --set linger_max_us=1
	often "$times" "$3" "nn --size large --repeat 100"
	"$heddle" status
	[ "$2" = temporal ] || has_event shrink || fail "nothing but whole preemptions"
	stop
}

"$examples/tick" --kernel-us 20 --count 1 >"$dir/rounds" || fail "tick alone"
rounds=$(sed -n 's/.*ready, \([0-9]*\) rounds.*/\1/p' "$dir/rounds")
tick="--every-us 500 --rounds ${rounds:?}"
by_words off temporal "$tick"
if command -v nvidia-cuda-mps-control >/dev/null; then
	by_words on temporal "$tick"
	by_words on spatial "$tick --blocks 64"
else
	echo "left out: no nvidia-cuda-mps-control"
fi
# Blocks that were claimed before the workers saw a word still run, several for each SM. So the grid
# has 300 blocks for each preemption.
echo "in one launch:"
"$(dirname "$0")/../exec/preempted_often.sh" "$heddle" "$kernels" cuda "$times" $((times * 300))
echo passed
