#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: again.sh WHERE first|killed|stopped [SECONDS]|often [N]
# Tests that programs continue when heddled ends and starts again, on DEVICE (cpu: the virtual GPU;
# cuda). WHERE is a build folder or the output of ./run dist. MPS (off): on cuda, whether heddled
# runs MPS, which then outlives it.
#   first    heddled starts after a program, which becomes its tenant and is suspended for another
#   killed   heddled is killed while one program is suspended for another. Both become tenants of
#            the next heddled, with their numbers and their priorities, even one that was set during
#            their run, and it preempts again
#   stopped  as killed, but heddled is stopped by SIGSTOP for at least SECONDS; the suspended
#            program continues in this time
#   often    heddled is killed N times, at random moments (SEED), under programs that launch all the
#            time; all results are right
# shellcheck disable=SC2086 # $large is several words
set -eu
where=$1
what=$2
heddle=$where/bin/heddle examples=$where/lib/heddle/examples
[ -x "$heddle" ] || heddle=$where/heddle examples=$where/examples
heddled=$(dirname "$heddle")/heddled device=${DEVICE:-cpu} mps='' tick='--rounds 10'
for part in "$heddled" "$heddle" "$examples/mm" "$examples/tick"; do
	[ -x "$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
if [ "$device" = cuda ]; then
	mps="--mps ${MPS:-off}" tick='--kernel-us 30'
	[ -e /dev/nvidiactl ] || {
		echo "skipped: no NVIDIA GPU"
		exit 77
	}
	[ "${MPS:-off}" = off ] || command -v nvidia-cuda-mps-control >/dev/null || {
		echo "skipped: no nvidia-cuda-mps-control"
		exit 77
	}
fi
export HEDDLE_VGPU="again-$$"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# is_tenant NUMBER PID PRIORITY: succeeds if heddle ps lists this tenant.
is_tenant() {
	"$heddle" ps | awk -v n="$1" -v pid="$2" -v p="$3" '$1 == n && $2 == pid && $4 == p { found = 1 }
		END { exit !found }'
}

both_are_tenants() { # PRIORITY of the first one
	is_tenant 1 "$low" "$1" && is_tenant 2 "$high" high
}

# suspend_one PROGRAM ARG...: starts mm at low priority and PROGRAM at high priority, and waits
# until mm is preempted.
suspend_one() {
	start_daemon $mps
	run low low mm $large --until "$dir/low.end"
	low=$started
	await 60 grep -q '"round":0' "$dir/low.out" || fail "the low program does not begin"
	run high high "$@"
	high=$started
	await 60 has_event drained || fail "nothing is suspended"
}

both_end_well() {
	ends high "$high"
	ends low "$low"
	low='' high=''
}

is_preempted_again() {
	tail -n +"$((lines + 1))" "$dir/events" | grep -q '"event": "preempt", "tenant": 1'
}

first() {
	run low low mm $large --until "$dir/low.end"
	low=$started
	await 60 grep -q '"round":0' "$dir/low.out" || fail "the program does not begin without heddled"
	start_daemon $mps
	await 30 is_known "$low" || fail "the program that was there before is no tenant"
	is_tenant 1 "$low" low || fail "its priority is lost: $("$heddle" ps)"
	run high high mm $large --until "$dir/high.end"
	high=$started
	await 60 has_event drained || fail "nothing is suspended"
	both_are_tenants low || fail "the second program is not tenant 2: $("$heddle" ps)"
	[ "$(wc -l <"$dir/low.err")" = 1 ] || fail "not one line of warning"
	both_end_well
}

killed() {
	suspend_one mm $large --until "$dir/high.end"
	is_tenant 1 "$low" low || fail "the low program is not tenant 1"
	"$heddle" set 1 -p normal
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null || :
	start_daemon $mps # starts a new event log
	await 30 both_are_tenants normal || fail "who they were is lost: $("$heddle" ps)"
	await 60 has_event preempt || fail "its successor preempts nothing"
	both_end_well
	! grep -q '"event": "preempt", "tenant": 2' "$dir/events" || fail "the high one was preempted"
	await 30 "$heddle" ps >"$dir/ps"
	grep -q 'no tenants' "$dir/ps" || fail "tenants are left"
}

# On a GPU, mm would end before a shell script could stop heddled, so a kernel of one second
# preempts the program.
stopped() {
	if [ "$device" = cuda ]; then
		suspend_one tick --kernel-us 1000000 --every-us 1200000
	else
		suspend_one mm $large --until "$dir/high.end"
	fi
	kill -STOP "$daemon"
	began=$(date +%s)
	lines=$(wc -l <"$dir/events")
	await 30 gone || fail "the suspended program does not notice"
	while [ $(($(date +%s) - began)) -lt "$1" ]; do
		sleep 0.1
	done
	kill -CONT "$daemon"
	await 30 both_are_tenants low || fail "who they were is lost: $("$heddle" ps)"
	# launches that began while heddled was stopped cannot be preempted, so wait for later ones
	await 60 is_preempted_again || fail "nothing is preempted any more"
	if [ "$device" = cuda ]; then
		kill "$high"
		wait "$high" || fail "the high program: $?"
		high=
		ends low "$low"
		low=
	else
		both_end_well
	fi
}

is_known() { # PID
	"$heddle" ps | awk -v pid="$1" '$2 == pid { found = 1 } END { exit !found }'
}

# Checks by kernel name, because a new program may have the number of one that has not reconnected
# yet.
has_preempted() {
	grep -Eq '"event": "(preempt|shrink)".*"kernel": "nn"' "$dir/events"
}

often_killed() {
	seed=${SEED:-$$}
	echo "seed $seed"
	options="--temporal $mps --set min_managed_us=1 --set linger_max_us=1"
	# shellcheck disable=SC2086
	start_daemon $options
	run high high tick --every-us 3000 $tick --count 10000000
	high=$started
	await 60 grep -q ready "$dir/high.out" || fail "the disturber does not begin"
	run low low nn $large --repeat 2 --check each --reference "$dir"
	low=$started
	n=0 programs=0
	while [ "$n" -lt "$1" ]; do
		n=$((n + 1))
		random 20
		sleep "0.$((10 + value))"
		kill -9 "$daemon"
		wait "$daemon" 2>/dev/null || :
		random 3
		[ "$value" = 0 ] || sleep "0.0$value"
		# shellcheck disable=SC2086
		start_daemon $options
		if ! kill -0 "$low" 2>/dev/null; then
			wait "$low" || fail "the low program, after $n restarts: $?"
			passed low || fail "wrong result after $n restarts"
			programs=$((programs + 1))
			run low low nn $large --repeat 2 --check each --reference "$dir"
			low=$started
		fi
		await 30 is_known "$high" || fail "restart $n: the disturber is lost"
	done
	# Launches that began while no heddled ran cannot be preempted, so check one more program.
	wait "$low" || fail "the low program, after $n restarts: $?"
	passed low || fail "wrong result after $n restarts"
	run low low nn $large --repeat 1 --check each --reference "$dir"
	low=$started
	await 60 has_preempted || fail "nothing is preempted after $n restarts"
	wait "$low" || fail "the low program, after all: $?"
	low=
	passed low || fail "wrong result at last"
	kill -0 "$high" || fail "the disturber ended"
	echo "$n restarts, $((programs + 2)) programs, results correct"
}

case $what in
first) first ;;
killed) killed ;;
stopped) stopped "${3:-5}" ;;
often) often_killed "${3:-20}" ;;
*) exit 2 ;;
esac
echo passed
