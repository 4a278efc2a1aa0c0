#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: scenarios.sh WHERE [SCENARIO...]
# The shim's scenarios (tests/shim/prog.c: streams, captures, module variables, addresses of code …)
# on this machine's GPU: natively, and under heddle at low priority beside a program of high priority;
# both must print the same. WHERE is a build folder or what ./run dist made; that has no tests, so
# PROG then names a build folder's tests/shim/shim_prog. DEVICE=cpu: on the virtual GPU. SIZE: rounds,
# blocks and loops of each, as words.
set -eu
where=$1
shift
[ $# -gt 0 ] || set -- chain events defaults many many-blocking capture locks ranks guard globals params \
	errors trap images held code own fork
heddle=$where/bin/heddle
examples=$where/lib/heddle/examples
prog=${PROG:-$where/tests/shim/shim_prog}
[ -x "$heddle" ] || {
	heddle=$where/heddle
	examples=$where/examples
}
heddled=$(dirname "$heddle")/heddled device=${DEVICE:-cuda}
if [ "$device" = cuda ] && [ ! -e /dev/nvidiactl ]; then
	echo "skipped: no NVIDIA GPU"
	exit 77
fi
if [ ! -x "$examples/va" ] || [ ! -x "$prog" ]; then
	echo "skipped: no compiler for kernels"
	exit 77
fi
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

# Natively; on the virtual GPU that is without a daemon.
plainly() {
	if [ "$device" = cuda ]; then
		timeout 60 "$prog" "$@"
	else
		HEDDLE_SOCKET=/nonexistent timeout 60 "$heddle" run --device cpu -- "$prog" "$@" 2>/dev/null
	fi
}

[ "$device" = cuda ] && size='20 4000 2000' || size='4 24 30'
read -r rounds blocks loops <<END
${SIZE:-$size}
END
start_daemon --set min_managed_us=1
run high disturber va --size small --repeat 1000000 --check none
pids=$started
bad=0
for scenario; do
	set -- "$scenario" "$rounds" "$blocks" "$loops"
	if ! plainly "$@" >"$dir/plain.out"; then
		echo "$scenario: fails natively: $(tail -n 1 "$dir/plain.out")"
		continue
	fi
	before=$(grep -c '"event": "preempt"' "$dir/events" || :)
	status=0
	timeout 60 "$heddle" run --device "$device" -p low -- "$prog" "$@" >"$dir/$scenario.out" \
		2>"$dir/$scenario.err" || status=$?
	after=$(grep -c '"event": "preempt"' "$dir/events" || :)
	verdict=same
	cmp -s "$dir/plain.out" "$dir/$scenario.out" || verdict=DIFFERS
	[ $status -ne 124 ] || verdict=HANGS
	[ $verdict = same ] || bad=$((bad + 1))
	echo "$scenario: $verdict (status $status, $((after - before)) preemptions)"
done
kill -0 "$pids" || fail "the disturbing program has ended"
[ $bad -eq 0 ] || fail "$bad scenarios"
echo passed
