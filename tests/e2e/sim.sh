#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: sim.sh BUILD
# Two programs on the virtual GPU leave an event log, and heddle sim reads it: under every policy it
# has the same programs and the same number of launches, each measured and run to its end. A broken
# line of the log is reported.
set -eu
build=$1
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
here=$(dirname "$0")
for part in heddle heddled examples/mm src/shim/libcuda.so.1 src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
export HEDDLE_VGPU="sim-$$"
# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

"$heddle" sim -h | grep -q -e --events || {
	echo "skipped: this heddle reads no event logs"
	exit 77
}
start_daemon --policy hpf
for name in low high; do
	# shellcheck disable=SC2086
	run "$name" "$name" mm $large --until "$dir/end"
	pids="$pids $started"
done
await 60 has_event preempt || fail "nothing is preempted"
: >"$dir/end"
for pid in $pids; do wait "$pid" || fail "a program: $?"; done
pids=
await 60 sh -c "[ \$(grep -c '\"event\": \"leave\"' '$dir/events') = 2 ]" || fail "the programs do not leave"
kill "$daemon"
wait "$daemon" || :
daemon=

ends=$(grep -cE '"event": "(finish|drop)"' "$dir/events")
[ "$ends" -ge 2 ] || fail "$ends launches ended"
for policy in hpf ffs none; do
	"$heddle" sim "$dir/events" --policy "$policy" >"$dir/sim.out" 2>"$dir/sim.err" || fail "sim: $?"
	cat "$dir/sim.out" "$dir/sim.err"
	[ "$(wc -l <"$dir/sim.err")" = 1 ] || fail "more than one line of what the log does not say"
	! grep -q 'left out\|how many SMs' "$dir/sim.err" || fail "it does not understand all of the log"
	awk -v ends="$ends" '
		/^mm-[12] / { programs++; priorities = priorities $3; finished += $4; unfinished += $5 }
		END { exit !(programs == 2 && (priorities == "lowhigh" || priorities == "highlow") && finished == ends && unfinished == 0) }' \
		"$dir/sim.out" || fail "not the two programs with $ends launches"
done
sms=$(sed -n 's/.*"device_sms": \([0-9]*\).*/\1/p' "$dir/events" | head -n 1)
grep -q ": policy none, $sms SMs\$" "$dir/sim.out" || fail "the device does not have $sms SMs"

lines=$(wc -l <"$dir/events")
{ cat "$dir/events"; echo '{"t_ns": 1, "event": "finish", '; } >"$dir/broken"
! "$heddle" sim "$dir/broken" >"$dir/broken.out" 2>&1 || fail "a broken line is taken"
grep -q "broken:$((lines + 1)): not JSON: " "$dir/broken.out" || fail "$(cat "$dir/broken.out")"
