#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# two_forms.sh: a kernel whose preemptible form needs more registers than the kernel itself has a second
# one within those. Which is faster is tried out in launches, and the second is preempted as well as
# the first: the same results. What was tried is known at the program's next start.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export HEDDLE_VGPU="$HEDDLE_VGPU,registers=32K" # else they have enough for all threads
# launches_of MODE SCENARIO...: how many were of second forms, where there are others beside them.
launches_of() {
	start "$1" 5
	shift
	same "$@"
	stop
	sed -n 's/.* second \([0-9]*\)$/\1/p' "$dir/daemon"
}

# Without what is known the second form is tried at each start. With it, it is launched again only
# where it seems the faster by now, which on a busy machine it may, once in a while.
for _ in 1 2 3 4 5; do
	rm -rf "$dir/cache"
	first=$(launches_of grant waits 15 64 60)
	next=$(launches_of grant waits 15 64 60)
	echo "launches of second forms at the first start: $first, at the next: $next"
	[ "$first" -eq 0 ] || [ "$next" -gt 0 ] || break
done
[ "$first" -gt 0 ] || fail "the second form is not tried"
[ "$next" -eq 0 ] || fail "it is tried again, in $next launches"
# Blocks of a grid of another size may do more, or less: what is known is not of them.
larger=$(launches_of grant waits 15 1024 60)
[ "$larger" -gt 0 ] || fail "what small grids have taught is taken for large ones"
rm -rf "$dir/cache" # and of a program that launches twice, what both have taught
start grant
same waits 1 64 60
stop
grep -rl hdtaugh "$dir/cache/heddle" >/dev/null || fail "nothing is kept of a brief program"

# With which form the launches go on after the tries is the machine's affair: several times, if need
# be, until the second was preempted a few times. On a busy machine the daemon does not see them all.
total=0 both=
for mode in grant grant grant storm storm storm storm storm storm; do
	[ "$total" -lt 10 ] || [ "$mode" = grant ] || break
	[ -z "$both" ] || [ "$mode" != grant ] || continue
	[ -n "$both" ] || [ "$mode" = grant ] || fail "all launches are of second forms, three times"
	rm -rf "$dir/cache"
	start "$mode" 5
	for scenario in chain ranks params; do
		same "$scenario" 24 64 60
	done
	stop
	cat "$dir/daemon"
	launched=$(sed -n 's/.* second \([0-9]*\)$/\1/p' "$dir/daemon")
	all=$(sed -n 's/^seen \([0-9]*\) .*/\1/p' "$dir/daemon")
	[ "$launched" -gt 0 ] || fail "$mode: no launch of a second form"
	if [ "$mode" = grant ]; then
		[ "$launched" -ge "$all" ] || both=1
	else
		total=$((total + launched))
	fi
done
[ "$total" -ge 10 ] || fail "only $total launches of second forms under preemption"
