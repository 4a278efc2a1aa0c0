#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/beside.sh DIST DIR NAME...
# Runs third-party programs (DIR is laid out as for tests/hw/programs.sh) at low priority beside a
# 30 us kernel every 2 ms at high priority, without MPS. Each program runs natively, under heddle
# with its defaults, and under heddle with every kernel managed, however short, except those that
# suit a gate. Prints for each program its wall time in ms (RUNS times, default 3; under heddle
# after one run that fills the caches), the times that the program itself reports (lines with a
# number that match SAYS), and the median and 99th percentile of the high-priority kernel's latency
# over those runs, in us.
set -eu
dist=$(cd "$1" && pwd)
programs=$(cd "$2" && pwd)
shift 2
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"

# once OUT NAME RUNS-UNDER...: runs a program one time and prints its duration in ms.
once() {
	to=$1 name=$2
	shift 2
	from=$(date +%s%N)
	# shellcheck disable=SC2046
	(cd "$programs/$name" && exec timeout 60 "$@" "./$name" $(cat args 2>/dev/null || :)) >"$to" 2>&1 ||
		echo "exit status $?" >>"$to"
	echo $((($(date +%s%N) - from) / 1000000))
}

figures() { # prints the high-priority program's latencies since the previous call
	kill -USR1 "$high"
	sleep 0.2
	tail -n 1 "$dir/high" | sed 's/.*"p50_us":\([0-9.]*\),"p99_us":\([0-9.]*\).*/p50 \1, p99 \2/'
}

# beside LABEL RUNS-UNDER...: runs and measures all programs.
beside() {
	label=$1
	shift
	for name in $names; do
		[ "$label" = natively ] || once "$dir/out" "$name" "$@" >/dev/null
		figures >/dev/null
		times=
		for run in $(seq "${RUNS:-3}"); do
			times="$times $(once "$dir/out.$run" "$name" "$@")"
		done
		echo "$name, $label:$times ms; high $(figures) us"
		grep -hE "${SAYS:-[0-9].*(time|us|ms)|(time|us|ms|FOM).*[0-9]|exit status}" "$dir"/out.[0-9]* |
			sed 's/^/    /' || :
	done
}

start_high() {
	"$@" "$examples/tick" --kernel-us 30 --every-us 2000 --count 0 --check 1 --json >"$dir/high" 2>&1 &
	high=$!
	await "$dir/high" ready
}

stop_high() {
	kill "$high"
	wait "$high" || { echo "the high program: exit status $?"; exit 1; }
	high=
}

under() { # LABEL OPTION...
	label=$1
	shift
	serve "$dir/log" "$@"
	start_high "$heddle" run -p high --
	beside "$label" "$heddle" run -p low --
	stop_high
	served
}

names=$*
start_high env
beside natively env
stop_high
under defaults
under managed --set min_managed_us=1
