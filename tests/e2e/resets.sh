#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: resets.sh WHERE [later|race]...
# Tests programs whose context ends (cudaDeviceReset) and that continue in the next one. WHERE is a
# build folder or the output of ./run dist.
#   later  a low-priority program beside a high-priority one: its launches are preempted from its
#          third context on, it stays one tenant, and its results are right
#   race   a second thread launches while contexts end: the program continues, and its results are
#          right (only on the virtual GPU: a real driver may not allow that)
# Without a case, runs both. DEVICE in the environment: cpu (default) is the virtual GPU; cuda is
# this machine's GPU.
set -eu
where=$1
shift
[ $# -gt 0 ] || set -- later race
heddle=$where/bin/heddle examples=$where/lib/heddle/examples
[ -x "$heddle" ] || heddle=$where/heddle examples=$where/examples
heddled=$(dirname "$heddle")/heddled device=${DEVICE:-cpu}
for part in "$heddled" "$heddle" "$examples/reset" "$examples/tick"; do
	[ -x "$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
export HEDDLE_VGPU="resets-$$"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# On a GPU, the kernels run long enough to be managed. On the virtual GPU they are short, because
# all their work is CPU time; there min_managed_us is 1.
long='--loops 30' managed=1
[ "$device" = cpu ] || long='--loops 20000' managed=4000

# begins US OPTION...: starts a disturber that launches every US, and the low-priority program.
begins() {
	start_daemon --set min_managed_us=$managed
	run high tick tick --every-us "$1" --rounds 10 --count 10000000
	pids=$started
	await 60 grep -q ready "$dir/tick.out" || fail "the disturber does not begin"
	shift
	# shellcheck disable=SC2086
	run low low reset $long --until "$dir/low.end" "$@"
	low=$started
}

stop() {
	kill "$pids"
	wait "$pids" || fail "the high program: $?"
	kill "$daemon"
	wait "$daemon" || fail "heddled: $?"
	pids='' daemon=''
	rm -f "$dir/events"
}

# words: counts the words that revoke all or some SMs from the low-priority program's launches.
words() {
	tenant=$(sed -n 's/.*"event": "join", "tenant": \([0-9]*\),.*"name": "reset".*/\1/p' "$dir/events" | tail -n 1)
	grep -Ec "\"event\": \"(preempt|shrink)\", \"tenant\": ${tenant:-none}," "$dir/events" || :
}

more_than() {
	[ "$(words)" -gt "$1" ]
}

later() {
	begins 3000
	await 60 grep -q 'context 1 has ended' "$dir/low.out" || fail "the low program does not go on"
	await 60 more_than $(($(words) + 3)) || fail "after two resets its launches are not preempted"
	await 60 grep -q 'context 5 has ended' "$dir/low.out" || fail "the low program does not go on"
	await 60 more_than $(($(words) + 3)) || fail "after six resets its launches are not preempted"
	"$heddle" ps --json >"$dir/ps"
	! grep -q '"reason": "context"' "$dir/ps" || fail "launches are of a context that is not served: $(cat "$dir/ps")"
	ends low "$low" "after resets"
	low=
	[ "$(grep '"event": "join"' "$dir/events" | grep -c '"name": "reset"')" = 1 ] ||
		fail "the program was more than one tenant"
	! grep -q '"event": "drop"' "$dir/events" || fail "heddled dropped launches: $(grep -m 3 '"event": "drop"' "$dir/events")"
	stop
	echo "later: launches after resets are preempted, results are right"
}

race() {
	if [ "$device" != cpu ]; then
		echo "race: not on $device"
		return
	fi
	export HEDDLE_FORM_WAIT_MS=20 # a kernel runs at all times, so forms become ready late
	begins 100000 --race --rounds 1
	await 60 grep -q 'context 8 has ended' "$dir/low.out" || fail "the low program does not go on"
	ends low "$low" "with a thread that launches while contexts end"
	low=
	stop
	echo "race: launches while contexts end disturb nothing"
}

for case in "$@"; do
	case $case in
	later | race) "$case" ;;
	*) fail "no such case: $case" ;;
	esac
done
