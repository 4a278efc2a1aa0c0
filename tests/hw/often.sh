#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: often.sh WHERE [TIMES]
# Programs and kernels that are preempted TIMES times (2500) on this machine's GPU, each result
# compared: by words of heddled, wholly without MPS, wholly and in part with it; and in one launch
# that stops itself (../exec/preempted_often.sh). WHERE is a build folder or what ./run dist made.
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

# stop: the disturber, and the daemon with its MPS.
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

# by_words MPS temporal|spatial TICK: a round of nn takes some 16 ms of this GPU.
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
# A word lets the blocks through that are claimed before it is seen: some for each SM.
echo "in one launch:"
"$(dirname "$0")/../exec/preempted_often.sh" "$heddle" "$kernels" cuda "$times" $((times * 300))
echo passed
