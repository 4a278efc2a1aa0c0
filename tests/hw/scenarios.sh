#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: scenarios.sh WHERE [SCENARIO...]
# Runs the shim's scenarios (tests/shim/prog.c: streams, captures, module variables, addresses of
# code …) on this machine's GPU: natively, and under heddle at low priority beside a high-priority
# program that launches a short kernel repeatedly, with random pauses of up to PAUSE_US. Both runs
# must print the same. WHERE is a build folder or the output of ./run dist. The latter has no tests,
# so PROG must then name a build folder's tests/shim/shim_prog. DEVICE=cpu: on the virtual GPU.
# SIZE: rounds, blocks and loops of each scenario, separated by spaces.
set -eu
where=$1
shift
[ $# -gt 0 ] || set -- chain events defaults many many-blocking brief threads capture locks ranks guard meet globals \
	params errors trap images held code own fork bulky copies symbols waits twice
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
if [ ! -x "$examples/tick" ] || [ ! -x "$prog" ]; then
	echo "skipped: no compiler for kernels"
	exit 77
fi
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

# Runs a scenario natively. On the virtual GPU this means without a daemon.
plainly() {
	if [ "$device" = cuda ]; then
		timeout 60 "$prog" "$@"
	else
		HEDDLE_SOCKET=/nonexistent timeout 60 "$heddle" run --device cpu -- "$prog" "$@" 2>/dev/null
	fi
}

# On the virtual GPU, the disturber and the scenario share the processors, so both are smaller.
if [ "$device" = cuda ]; then
	size='20 4000 2000' pause_us=4000 kernel='--kernel-us 30'
else
	size='8 48 200' pause_us=5000 kernel='--rounds 100'
fi
read -r rounds blocks loops <<END
${SIZE:-$size}
END
start_daemon --set min_managed_us=1
# shellcheck disable=SC2086
run high disturber tick $kernel --every-us 100 --pause-us "${PAUSE_US:-$pause_us}" --count 0 --check 1
pids=$started
await 60 grep -q '"ready"' "$dir/disturber.out" || fail "the disturber does not begin"
bad=0 all=0
for scenario; do
	set -- "$scenario" "$rounds" "$blocks" "$loops"
	if ! plainly "$@" >"$dir/plain.out"; then
		echo "$scenario: fails natively: $(tail -n 1 "$dir/plain.out")"
		continue
	fi
	before=$(preemptions)
	status=0
	# With many streams, many launches must be managed at once.
	more=
	[ "${scenario#many}" = "$scenario" ] || more=CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-32}
	# shellcheck disable=SC2086
	env $more timeout 60 "$heddle" run --device "$device" -p low -- "$prog" "$@" >"$dir/$scenario.out" \
		2>"$dir/$scenario.err" || status=$?
	after=$(preemptions)
	all=$((all + after - before))
	verdict=same
	cmp -s "$dir/plain.out" "$dir/$scenario.out" || verdict=DIFFERS
	[ $status -ne 124 ] || verdict=HANGS
	[ $verdict = same ] || bad=$((bad + 1))
	echo "$scenario: $verdict (status $status, $((after - before)) preemptions)"
done
kill "$pids" || fail "the disturbing program has ended"
wait "$pids" || fail "the disturbing program: $?"
pids=
[ $all -gt 0 ] || fail "nothing was preempted"
[ $bad -eq 0 ] || fail "$bad scenarios"
echo passed
