#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: matrix.sh ROOT BUILD
# Tests ./run test itself: it selects the tests that a changed file concerns, and reports where the
# time of a run went.
build=$(cd "${2:?usage: matrix.sh ROOT BUILD}" && pwd) || exit 1
. "$(dirname "$0")/lib.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# concerns FILE TEST…: the file must concern all these tests, and the first one must be the first
# selected.
concerns() {
	file=$1
	shift
	python3 tests/changed.py "$build" 1000000 "$file" >"$tmp/tests" 2>&1
	[ "$(head -n 1 "$tmp/tests")" = "$1" ] || echo "$file: $1 is not the first test"
	for name; do
		grep -qx "$name" "$tmp/tests" || echo "$file: does not concern $name"
	done
}

log() { # NAME START SECONDS CPU-SECONDS
	printf '{"name": "heddle:exec+plain / %s", "starttime": %s, "duration": %s, "stderr": "x\\ntimes:\\n%s %s\\n%s %s\\n"}\n' \
		"$1" "$2" "$3" 0m0.000000s 0m0.000000s "0m$4s" 1m0.500000s
}

{
	concerns tests/sched/test_ages.c sched-ages
	concerns src/sched/policy/ages.c layers sched-ages sched-hold
	concerns src/shim/order/cost.c cost shim-gate
	concerns bench/render/page.py layers figures stale-tables selftest
	concerns src/base/arena.c layers base shim-gate
	concerns tests/shim/lib.sh layers shim-gate
	concerns tests/shim/gate.sh shim-gate
	! grep -q shim-copies "$tmp/tests" || echo "tests/shim/gate.sh: concerns other tests"
	concerns src/sched/policy/ages.c layers
	grep -qx 'build tests/sched/test_ages' "$tmp/tests" || echo "src/sched/policy/ages.c: its test is not built"
	python3 tests/changed.py "$build" 0 src/sched/policy/ages.c 2>&1 | grep -q '^left out for time: ' ||
		echo "no limit of time"

	# Two tests end after 9 s in all. During 6 of these, the second runs alone.
	{ log one 100 3 1.250000 && log two 100 9 2.000000; } >"$tmp/log"
	[ "$(python3 tests/times.py slowest "$tmp/log" | head -n 1)" = "   9.0 s  two in ${tmp%%/*}" ] ||
		echo "the slowest test is not the first"
	printf 'tests\t9.0\t13.5\tlog\n' >"$tmp/steps"
	printf 'a\n<!-- times -->\nold\n<!-- times end -->\nb\n' >"$tmp/page"
	python3 tests/times.py page "$tmp/page" "$tmp/steps" "$tmp"
	for line in 'a' 'b' '| exec | 2 | 12.0 | 124.2 |' '| `two` | tests | 9.0 | 62.5 | 0.0 |'; do
		grep -qxF "$line" "$tmp/page" || echo "times.py: no line: $line"
	done
	grep -q '^| tests | 9.0 | 13.5 | .*% | 2 | 6.0 | 6.0 |$' "$tmp/page" || echo "times.py: $(grep '^| tests' "$tmp/page")"
	! grep -qx old "$tmp/page" || echo "times.py: the old tables are left"
	echo '{"three": 5, "one": 1}' >"$tmp/took"
	python3 tests/times.py keep "$tmp/log" "$tmp/took"
	[ "$(tr -d ' \n' <"$tmp/took")" = '{"three":5,"one":3.0,"two":9.0}' ] || echo "times.py keeps $(cat "$tmp/took")"
} | verdict
