#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: scenarios.sh MODE MIN SCENARIO…
# Every scenario of the program must print the same natively and under a daemon that preempts,
# shrinks or holds in this mode. The daemon must store at least MIN preemptions and grants in total.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
mode=$1 min=$2
shift 2
start "$mode" 3
for scenario; do
	case $scenario in
	many*) CUDA_DEVICE_MAX_CONNECTIONS=32 same "$scenario" 4 24 30 ;; # enough channels to manage many streams
	*) same "$scenario" 4 24 30 ;;
	esac
done
# These launches are long enough to be preempted many times.
if [ "$min" -gt 0 ]; then
	for repeat in 1 2 3 4 5; do
		: "$repeat"
		same chain 20 120 100
	done
fi
kill "$daemon"
wait "$daemon" || true
daemon=
cat "$dir/daemon"
words=$(sed -n 's/.*preempted \([0-9]*\) granted \([0-9]*\).*/\1 \2/p' "$dir/daemon")
words=$((${words% *} + ${words#* }))
[ "$words" -ge "$min" ] || fail "only $words preemptions and grants"
# The shim launches workers again for each word, but not for drain reports of workers that did
# nothing.
resumed=$(sed -n 's/.*resumed \([0-9]*\).*/\1/p' "$dir/daemon")
[ "$min" -eq 0 ] || [ "$resumed" -le "$words" ] || fail "$resumed rounds for $words words"
seen=$(sed -n 's/^seen \([0-9]*\) .*/\1/p' "$dir/daemon")
[ "$mode" = grant ] || [ "$min" -gt 0 ] || [ "$seen" -gt 10 ] || fail "only $seen managed launches"
