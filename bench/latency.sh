#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/latency.sh DIST
# Measures what the latency target (latency_us) costs and how well it is kept. Grids whose blocks
# last as long as BLOCKS says first run alone, natively and under heddle (from their second start
# on). Then they run beside a 20 us high-priority kernel every millisecond, which shows how long
# they take to leave the SMs. Does not use MPS and takes 90 s. BLOCKS and TARGETS are in us. DIST:
# the output of ./run dist, or a build folder. WAVE: number of blocks that fit on the device at
# once. DEVICE=cpu is only for trying the script.
set -eu
dist=$1
device=${DEVICE:-cuda}
count=${COUNT:-1000}
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
export HEDDLE_FORM_WAIT_MS=60000
native=
[ "$device" = cuda ] || native="env LD_LIBRARY_PATH=$dist/lib/heddle/cpu:$dist/src/dev/cpu"

field() { # NAME FILE: prints the value from the last line that has the field
	sed -nE "s/.*\"$1\": ?([0-9.]+).*/\\1/p" "$2" | tail -n 1
}

# alone FOR-MS RUN-UNDER...: prints the median duration of its launches, in us
alone() {
	ms=$1
	shift
	"$@" "$examples/longgrid" --rounds "$rounds" --blocks "$blocks" --for-ms "$ms" --json >"$dir/out"
	field p50_us "$dir/out"
}

echo "block us, target us: launch ms natively, under heddle (ratio); preempted, us to leave p50, p99"
# shellcheck disable=SC2086
$native "$examples/tick" --kernel-us 20 --count 1 --json >"$dir/tick"
tick_rounds=$(field rounds "$dir/tick")
for block in ${BLOCKS:-1 4 12 36}; do
	# shellcheck disable=SC2086
	$native "$examples/longgrid" --block-us "$block" --for-ms 1 --json >"$dir/out"
	rounds=$(field rounds "$dir/out")
	blocks=$((20000 * ${WAVE:-1056} / block))
	# shellcheck disable=SC2086
	plain=$(alone 1000 $native)
	for target in ${TARGETS:-20 50 100 200}; do
		rm -rf "$dir/cache"
		serve "$dir/heddled" --mps off --set "latency_us=$target"
		alone 300 "$heddle" run --device "$device" -p low -- >"$dir/first"
		managed=$(alone 1000 "$heddle" run --device "$device" -p low --)
		"$heddle" run --device "$device" -p low -- "$examples/longgrid" --rounds "$rounds" \
			--blocks "$blocks" --for-ms 60000 >"$dir/low" 2>&1 &
		low=$!
		await "$dir/low" ready
		"$heddle" run --device "$device" -p high -- "$examples/tick" --rounds "$tick_rounds" \
			--count "$count" --wait-ms 100 >"$dir/high" 2>&1
		"$heddle" status --json >"$dir/status"
		kill "$low"
		wait "$low" 2>/dev/null || :
		low=''
		served
		echo "$block $target $plain $managed $(field preemptions "$dir/status") \
$(field handover_p50_ns "$dir/status") $(field handover_p99_ns "$dir/status")" |
			awk '{ printf "%3d %4d: %7.2f %7.2f (%.3f); %5d %6.1f %6.1f\n",
				$1, $2, $3 / 1000, $4 / 1000, $4 / $3, $5, $6 / 1000, $7 / 1000 }'
	done
done
