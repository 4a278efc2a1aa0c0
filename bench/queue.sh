#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/queue.sh DIST [OUT]
# 20,000 short launches (10 to 200 us, blocks of at most 20 us) queued on one stream beside a 30 us
# kernel every 2 ms at high priority: without heddle, and under it with its defaults and with every
# kernel managed. No MPS. DIST: what ./run dist made, or a build folder; events stay in OUT. Under a
# minute. LAUNCHES, DEVICE (cpu: with other figures, to try the script).
set -eu
dist=$1
out=${2:-$(mktemp -d)}
device=${DEVICE:-cuda}
launches=${LAUNCHES:-20000}
heddle=$dist/bin/heddle heddled=$dist/bin/heddled queue=$dist/lib/heddle/bench/queue
[ -x "$heddle" ] || {
	heddle=$dist/heddle heddled=$dist/heddled queue=$dist/bench/queue
}
[ "$device" = cuda ] || export LD_LIBRARY_PATH="$dist/src/dev/cpu"
mkdir -p "$out"
dir=$(mktemp -d)
export HEDDLE_SOCKET="$dir/sock" XDG_CACHE_HOME="$dir/cache" HEDDLE_FORM_WAIT_MS=60000
high='' daemon=''
ends() {
	exec 9>&-
	# shellcheck disable=SC2086
	kill $high $daemon 2>/dev/null || :
	wait
	rm -rf "$dir"
}
trap ends EXIT
trap 'exit 1' INT TERM
mkfifo "$dir/end"
exec 9<>"$dir/end"

await() { # FILE TEXT
	tries=0
	until grep -q "$2" "$1" 2>/dev/null; do
		tries=$((tries + 1))
		[ "$tries" -lt 1500 ] || { echo "no $2 in $1"; exit 1; }
		sleep 0.02
	done
}

# beside NAME RUN_HIGH RUN_LOW: prints both programs' lines.
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

# served NAME OPTION...: beside, under a daemon of its own.
served() {
	served=$1
	shift
	env -u LD_LIBRARY_PATH "$heddled" --config-root /nonexistent --socket "$HEDDLE_SOCKET" \
		"$@" 2>"$out/$served.log" 9>&- &
	daemon=$!
	tries=0
	until "$heddle" status >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 500 ] || { echo "no heddled"; exit 1; }
		sleep 0.02
	done
	beside "$served" "$heddle run --device $device -p high --" "$heddle run --device $device -p low --"
	kill "$daemon"
	wait "$daemon" || :
	daemon=''
}

# under NAME OPTION...: the same under heddle; and a quarter of it once more with an event log, which
# takes time itself, for the words.
under() {
	served "$@"
	echo
	which=$1
	shift
	all=$launches
	launches=$((launches / 4))
	served "$which-log" --events "$out/$which.events" "$@"
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
