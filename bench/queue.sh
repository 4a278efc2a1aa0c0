#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/queue.sh DIST [OUT]
# Queues 20,000 short launches (10 to 200 us, blocks of at most 20 us) on one stream, beside a 30 us
# high-priority kernel every 2 ms: without heddle, under heddle with its defaults, and under heddle
# with every kernel managed. Does not use MPS and takes under a minute. DIST: the output of ./run
# dist, or a build folder. Event logs stay in OUT. LAUNCHES sets the number of launches. DEVICE=cpu
# uses smaller numbers and is only for trying the script.
set -eu
dist=$1
out=${2:-$(mktemp -d)}
device=${DEVICE:-cuda}
launches=${LAUNCHES:-20000}
[ "$device" = cuda ] || export LD_LIBRARY_PATH="$dist/lib/heddle/cpu:$dist/src/dev/cpu"
mkdir -p "$out"
# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
queue=$benches/queue
export HEDDLE_FORM_WAIT_MS=60000
mkfifo "$dir/end"
exec 9<>"$dir/end"

# beside NAME RUN_HIGH RUN_LOW: runs both programs and prints their results.
beside() {
	name=$1
	# shellcheck disable=SC2086
	$2 "$queue" high --rounds "$high_rounds" <"$dir/end" >"$out/$name.high" 9>&- &
	high=$!
	await "$out/$name.high" ready
	# shellcheck disable=SC2086
	$3 "$queue" low --launches "$launches" --rounds "$rounds" >"$out/$name.low" 9>&-
	echo >&9
	wait "$high"
	high=''
	printf '%-12s %s; %s' "$name" "$(tail -n 1 "$out/$name.low")" "$(tail -n 1 "$out/$name.high")"
}

# with_daemon NAME OPTION...: runs `beside` under a new daemon.
with_daemon() {
	served=$1
	shift
	serve "$out/$served.log" "$@"
	beside "$served" "$heddle run --device $device -p high --" "$heddle run --device $device -p low --"
	served
}

# under NAME OPTION...: runs `beside` under heddle. Then runs a quarter of the launches with an
# event log, which itself takes time, to count the words stored.
under() {
	with_daemon "$@"
	echo
	which=$1
	shift
	all=$launches
	launches=$((launches / 4))
	with_daemon "$which-log" --events "$out/$which.events" "$@"
	launches=$all
	n=$(tail -n 1 "$out/$which-log.high" | cut -d' ' -f2)
	for events in 'wait|preempt|shrink|grant|grow' begin; do
		words=$(grep -cE "\"event\": \"($events)\"" "$out/$which.events" || :)
		printf '; %s words' "$(awk "BEGIN { printf \"%.2f\", $words / $n }")"
	done
	echo " to launches, to tenants, for each launch of the high program"
}

"$queue" low --launches 1 >"$out/fit"
rounds=$(sed -n 's/^ready //p' "$out/fit")
"$queue" high </dev/null >"$out/fit"
high_rounds=$(sed -n 's/^ready //p' "$out/fit")
if [ "$device" = cpu ]; then
	rounds=100 high_rounds=100
fi
echo "rounds: low $rounds, high $high_rounds"
"$queue" low --launches "$launches" --rounds "$rounds" >"$out/alone"
printf '%-12s %s\n' alone "$(tail -n 1 "$out/alone")"
beside native env env
echo
under heddle
under managed --set min_managed_us=1
