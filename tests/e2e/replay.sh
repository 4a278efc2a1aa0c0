#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: replay.sh BUILD [CASE...]
# Programs on the virtual GPU leave an event log, and heddle sim --replay reproduces heddled's
# decisions byte for byte. Without a CASE, all of them:
#   hpf        a high-priority program that launches often preempts a low-priority one
#   temporal   the same with full preemption
#   ffs        two programs take turns by weight; the weight and priority of one change
#   greedy     two programs share each SM
#   none       two programs without control
#   shared     a policy from a shared object halves each SM; its log is refused without the file
#   split      one of heddle's own policies in a shared object, with options
#   opaque     a high-priority program with launches that heddled cannot steer
#   killed     a program is killed while it is suspended, another one while it runs
#   again      heddled is killed and restarted under two programs: both logs, the first truncated
#   reloaded   heddled gets another policy while two programs run
#   records    heddled has records of the kernels from an earlier run
#   planted    another policy, and a changed line: the first difference is reported with its line
set -eu
build=$1
shift
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
for part in heddle heddled examples/mm examples/va examples/tick tests/shim/shim_prog src/shim/libcuda.so.1 \
	src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
export HEDDLE_VGPU="replay-$$"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

stop_daemon() {
	kill "$daemon"
	wait "$daemon" || :
	daemon=
}

# replays CASE [OPTION...]: replays the log, which must give the same decisions.
replays() {
	name=$1
	shift
	"$heddle" sim --replay "$dir/events" "$@" >"$dir/replay.out" 2>"$dir/replay.err" ||
		fail "$name: $(tail -n 4 "$dir/replay.err")"
	grep -q ': all equal$' "$dir/replay.out" || fail "$name: it does not say that all is equal"
	echo "$name: $(sed -n 's/^.*: \([0-9]* inputs.*\)/\1/p' "$dir/replay.out")"
}

# has CASE EVENT...: fails unless the log has at least one of these events, because the case would
# show nothing without them. Which of them occur depends on the machine's load.
has() {
	name=$1
	shift
	for event; do
		! has_event "$event" || return 0
	done
	fail "$name: none of these events is in the log: $*"
}

# beside PRIORITY COMMAND...: runs the command beside mm, waits for it, and ends mm after at least
# one launch.
# shellcheck disable=SC2086
beside() {
	run "$1" mm mm $large --until "$dir/mm.end"
	low=$started
	shift
	await 60 grep -q '"round":0' "$dir/mm.out" || fail "mm does not begin"
	"$@"
	ends mm "$low"
	low=
}

# program PRIORITY NAME PROGRAM ARG...: runs a program to its end.
program() {
	run "$@"
	wait "$started" || fail "$2: $?"
}

case_hpf() {
	start_daemon
	beside low program high tick tick --rounds 10 --count 20 --every-us 20000
	stop_daemon
	has hpf preempt shrink wait
	replays hpf
}

case_temporal() {
	start_daemon --temporal
	beside low program high va va --size small --repeat 3
	stop_daemon
	has temporal preempt wait
	replays temporal
}

set_and_run() {
	"$heddle" set 1 -w 3
	program normal va va --size small --repeat 3
	"$heddle" set 1 -p high
	program normal va va --size small
}

case_ffs() {
	start_daemon --policy ffs
	beside normal set_and_run
	stop_daemon
	has ffs preempt wait hold
	replays ffs
}

case_greedy() {
	start_daemon --policy greedy --set min_managed_us=1
	beside normal program normal va va --size small --repeat 2
	stop_daemon
	has greedy shrink grow begin
	replays greedy
}

case_none() {
	start_daemon --policy none
	beside low program high va va --size small
	stop_daemon
	has none arrive finish
	replays none
}

case_shared() {
	cp "$build/tests/sched/policy_halves.so" "$dir/halves.so"
	chmod 755 "$dir/halves.so"
	start_daemon --policy "$dir/halves.so" --set min_managed_us=1
	beside normal program normal va va --size small --repeat 2
	stop_daemon
	has shared shrink begin
	! "$heddle" sim --replay "$dir/events" >"$dir/replay.out" 2>&1 || fail "shared: replayed without the policy"
	grep -q 'name the file with --policy' "$dir/replay.out" || fail "shared: $(cat "$dir/replay.out")"
	replays shared --policy "$dir/halves.so"
}

case_split() {
	start_daemon --policy split --set policy_options=whole=25 --set min_managed_us=1
	beside normal program high va va --size small --repeat 2
	stop_daemon
	grep -q '"input": "create", .*"policy_options": "whole=25"' "$dir/events" || fail "split: no options"
	replays split
}

case_opaque() {
	start_daemon --set opaque_us=1000
	# A captured graph is launched unchanged, so heddled cannot steer it.
	beside low run_opaque
	stop_daemon
	has opaque opaque
	replays opaque
}

run_opaque() {
	"$heddle" run --device cpu -p high -- "$build/tests/shim/shim_prog" capture >"$dir/opaque.out" 2>"$dir/opaque.err" ||
		fail "the opaque program: $?"
}

kill_some() {
	run low second mm --size large --until "$dir/never"
	second=$started
	run high high mm --size large --until "$dir/never"
	high=$started
	pids="$second $high"
	await 60 has_event drained || fail "killed: nothing is suspended"
	kill -9 "$second"
	sleep 0.2
	kill -9 "$high"
	wait "$second" "$high" 2>/dev/null || :
	pids='' high=''
}

case_killed() {
	start_daemon
	beside low kill_some
	stop_daemon
	has killed drained
	replays killed
}

kill_daemon() {
	# shellcheck disable=SC2086
	run high high mm $large --until "$dir/high.end"
	high=$started
	await 60 has_event drained || fail "again: nothing is suspended"
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null || :
	replays 'again, the first log'
	start_daemon
	await 60 has_event preempt || fail "again: its successor preempts nothing"
	ends high "$high"
	high=
}

case_again() {
	start_daemon
	beside low kill_daemon
	stop_daemon
	replays 'again, the second log'
}

reload() {
	run normal va va --size small --repeat 4
	sleep 0.3
	printf '[heddled]\npolicy = ffs\n' >"$dir/etc/heddle/heddled.conf"
	kill -HUP "$daemon"
	wait "$started" || fail "va: $?"
	program high tick tick --rounds 10 --count 5 --every-us 20000
}

case_reloaded() {
	mkdir -p "$dir/etc/heddle"
	printf '[heddled]\npolicy = greedy\n' >"$dir/etc/heddle/heddled.conf"
	start_daemon --config-root "$dir"
	beside normal reload
	stop_daemon
	grep -q '"input": "reconfigure", .*"policy": "ffs"' "$dir/events" || fail "reloaded: no other policy"
	replays reloaded
}

case_records() {
	start_daemon
	program normal va va --size small --repeat 3
	stop_daemon
	start_daemon
	beside low program high va va --size small --repeat 2
	stop_daemon
	grep -q '"input": "kernel", .*"shapes": \[{' "$dir/events" || fail "records: no kernel has a record"
	has records grant grow begin
	replays records
}

# The log of hpf must not replay under ffs, nor if the number of SMs in one of its actions is
# changed.
case_planted() {
	[ "${last:-}" = hpf ] || case_hpf
	cp "$dir/events" "$dir/good"
	! "$heddle" sim --replay "$dir/good" --policy none >"$dir/replay.out" 2>"$dir/replay.err" ||
		fail "planted: policy none decides as hpf"
	grep -q "good:[0-9]*: the decisions differ from here on" "$dir/replay.err" || fail "$(cat "$dir/replay.err")"
	line=$(grep -n '"action": .*"sms": ' "$dir/good" | head -n 1 | cut -d: -f1)
	sed "${line}s/\"sms\": [0-9]*/\"sms\": 77/" "$dir/good" >"$dir/events"
	! "$heddle" sim --replay "$dir/events" >"$dir/replay.out" 2>"$dir/replay.err" ||
		fail "planted: a changed action is equal"
	grep -q "events:$line: the decisions differ" "$dir/replay.err" || fail "$(cat "$dir/replay.err")"
	sed 1d "$dir/good" >"$dir/events"
	! "$heddle" sim --replay "$dir/events" >"$dir/replay.out" 2>"$dir/replay.err" ||
		fail "planted: a log without its beginning is taken"
	grep -q "events:1: this is not the first line" "$dir/replay.err" || fail "$(cat "$dir/replay.err")"
	echo "planted: named with its line"
}

[ $# -gt 0 ] || set -- hpf planted temporal ffs greedy none shared split opaque killed again reloaded records
for case; do
	"case_$case"
	last=$case
done
