#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: two_forms.sh
# A kernel whose preemptible form needs more registers than the kernel itself gets a second form
# limited to the kernel's own. Launches measure which is faster, and the second is preempted as well
# as the first, with the same results. The program's next start knows the measurements.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
# so few registers that the first form limits the number of threads on an SM
export HEDDLE_VGPU="$HEDDLE_VGPU,registers=32K"
# launches_of MODE SCENARIO...: prints how many launches used the second form of their kernel.
launches_of() {
	start "$1" 5
	shift
	same "$@"
	stop
	sed -n 's/.* second \([0-9]*\)$/\1/p' "$dir/daemon"
}

# Without stored measurements, each start tries the second form. With them, it uses the form only if
# it seems faster, which occasionally happens on a busy machine.
for _ in 1 2 3 4 5; do
	rm -rf "$dir/cache"
	first=$(launches_of grant waits 15 64 60)
	next=$(launches_of grant waits 15 64 60)
	echo "launches of second forms at the first start: $first, at the next: $next"
	[ "$first" -eq 0 ] || [ "$next" -gt 0 ] || break
done
[ "$first" -gt 0 ] || fail "the second form is not tried"
[ "$next" -eq 0 ] || fail "it is tried again, in $next launches"
# In a grid of another size, blocks may do more or less work, so the measurements do not apply.
larger=$(launches_of grant waits 15 1024 60)
[ "$larger" -gt 0 ] || fail "what small grids have taught is taken for large ones"
rm -rf "$dir/cache" # a program with two launches stores its measurements, too
start grant
same waits 1 64 60
stop
grep -rl hdtaugh "$dir/cache/heddle" >/dev/null || fail "nothing is kept of a brief program"

# Which form is used after the trials depends on the machine. So this repeats until second forms
# were launched often enough under preemption. On a busy machine the daemon does not see all
# launches.
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
