# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# Functions for tests that run real programs under heddle run and heddled. Sourced with $heddle,
# $heddled, $examples (a folder) and $device (cpu or cuda) set; creates $dir for all output, with
# its own socket and cache. At exit, the processes in $daemon and $pids are killed. After a failure,
# the last lines of all outputs are shown, unless $told says that the script has reported the error
# itself. With KEEP=FOLDER in the environment, everything is kept there, including the event log.
# shellcheck disable=SC2154
: "$heddle" "$heddled" "$examples" "$device"
dir=$(mktemp -d)
daemon='' pids=''
# In sanitizer builds the virtual GPU is ten times as slow; there SCALE reduces the work.
# shellcheck disable=SC2034
large="--size large${SCALE:+ --scale $SCALE}"
export HEDDLE_SOCKET="$dir/sock" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state"
export HEDDLE_FORM_WAIT_MS=60000 # each test needs managed launches from the first launch on

# Asks heddled to end first (it may own an MPS daemon), and continues it if it was stopped.
end() {
	status=$?
	# shellcheck disable=SC2086
	kill -9 $pids ${low:-} ${high:-} 2>/dev/null || :
	# SIGCONT comes first. Later it would cancel the SIGSTOP with which a leak checker inspects
	# an ending process.
	[ -z "$daemon" ] || { kill -CONT "$daemon" && kill "$daemon" && wait "$daemon"; } 2>/dev/null || :
	[ "$status" = 0 ] || [ -n "${told:-}" ] ||
		tail -n 5 "$dir"/*.out "$dir"/*.err "$dir"/daemon.log || :
	[ "$status" = 0 ] || [ -z "${KEEP:-}" ] || {
		mkdir -p "$KEEP"
		cp "$dir"/*.out "$dir"/*.err "$dir"/*.log "$dir"/events "$dir"/*.where "$KEEP"
	} 2>/dev/null || :
	rm -rf "$dir"
}
trap end EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAILED: $*"
	exit 1
}

# await SECONDS COMMAND…: waits until the command succeeds.
await() {
	tries=$(($1 * 50))
	shift
	until "$@" 2>/dev/null; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.02
	done
}

start_daemon() { # OPTION...
	"$heddled" --config-root /nonexistent --socket "$HEDDLE_SOCKET" --events "$dir/events" \
		"$@" 2>"$dir/daemon.log" &
	daemon=$!
	await 60 "$heddle" status >"$dir/status" || fail "heddled does not come up"
}

# run PRIORITY NAME PROGRAM ARG…: starts the program in the background; its process id is in
# $started.
run() {
	priority=$1
	name=$2
	program=$3
	shift 3
	rm -f "$dir/$name.out" "$dir/$name.err" # left by an earlier run
	"$heddle" run --device "$device" -p "$priority" -- "$examples/$program" "$@" --json \
		>"$dir/$name.out" 2>"$dir/$name.err" &
	# shellcheck disable=SC2034
	started=$!
}

passed() {
	grep -q '"verdict":"pass"' "$dir/$1.out"
}

has_event() {
	grep -q "\"event\": \"$1\"" "$dir/events"
}

gone() {
	grep -q 'heddled is gone' "$dir/low.err"
}

# Counts words that revoke all or some SMs, for launches of all tenants except the first.
preemptions() {
	grep -E '"event": "(preempt|shrink)"' "$dir/events" | grep -vc '"tenant": 1,' || :
}

# often TIMES TICK LOW: TICK and LOW are programs with their arguments. TICK launches a short
# high-priority kernel periodically. LOW is a low-priority program, which is repeated until it has
# been preempted TIMES times. The host checks each of its results. Needs a running daemon.
# shellcheck disable=SC2086
often() {
	run high tick tick $2 --count 10000000
	pids=$started
	await 60 grep -q ready "$dir/tick.out" || fail "the disturber does not begin"
	programs=0
	while [ "$(preemptions)" -lt "$1" ]; do
		before=$(preemptions)
		run low low $3 --check each --reference "$dir"
		low=$started
		wait "$low" || fail "the low program, after $(preemptions) preemptions: $?"
		low=
		passed low || fail "wrong result after $(preemptions) preemptions"
		programs=$((programs + 1))
		await 10 test "$(preemptions)" -gt "$before" || fail "it is not preempted"
	done
	kill -0 "$pids" || fail "the disturber ended"
	echo "$(preemptions) preemptions of $programs programs, results correct"
}

# where_begins PRIORITY NAME ARG…: starts bench/where of the folder $bench; its process id in
# $started.
where_begins() {
	priority=$1
	name=$2
	shift 2
	rm -f "$dir/$name.out" "$dir/$name.err" # left by an earlier run
	# shellcheck disable=SC2154
	"$heddle" run --device "$device" -p "$priority" -- "$bench/where" --out "$dir/$name.where" \
		"$@" >"$dir/$name.out" 2>"$dir/$name.err" &
	started=$!
	await 60 grep -q ready "$dir/$name.out" || fail "$name does not begin"
}

# smids BLOCKS LOOPS HIGH_LOOPS NEED [NEED]: runs a low-priority program whose blocks take half an
# SM each, as does its relay, which never moves. With one NEED, a high-priority program that needs
# NEED SMs launches eight times beside it. With two, that program and a normal-priority one that
# needs the second NEED launch once each. The blocks' %smid shows which program had which SMs
# (where.awk). Needs a running daemon.
smids() {
	where_begins low low --threads 256 --shared 114688 --blocks "$1" --loops "$2" --until "$dir/low.end"
	low=$started
	sms=$(sed -n 's/ready, \([0-9]*\) SMs/\1/p' "$dir/low.out")
	loops=$3
	shift 3
	[ $# -gt 1 ] && count=1 || count=8
	# Four blocks of the high-priority program fit on an SM. Its relay takes the place of one
	# block, and the low-priority program's relay that of two. Two blocks of the normal-priority
	# program fit on an SM, and each of two relays takes the place of one. Its blocks do not fit
	# beside the other programs' blocks.
	where_begins high high --blocks $(($1 * 4 - 3)) --shared 49152 --loops "$loops" \
		--count "$count" --every-ms 30
	pids=$started
	files="$dir/low.where $dir/high.where"
	if [ $# -gt 1 ]; then
		where_begins normal normal --blocks $(($2 * 2 - 2)) --shared 98304 --loops $((loops / 2))
		pids="$pids $started"
		files="$files $dir/normal.where"
	fi
	for pid in $pids; do
		wait "$pid" || fail "a program that got SMs: $?"
	done
	pids=
	: >"$dir/low.end"
	wait "$low" || fail "the program that gave up SMs: $?"
	low=
	rm "$dir/low.end"
	# shellcheck disable=SC2086
	awk -v n="$sms" -v need="$1,${2-}" -v least=$((count > 1 ? 3 : 2)) -v own="${own_numbers:-0}" \
		-f "$here/where.awk" $files ||
		fail "SMs: see above"
}

# later_launches BLOCKS LOOPS HIGH_LOOPS NEED: runs twelve launches of a low-priority program beside
# a high-priority one that needs NEED SMs for a long time (later.awk). If the high-priority launch
# arrives exactly between two launches or when one ends, it can spread over more SMs. The test is
# then repeated. Needs a running daemon.
later_launches() {
	launched=0 status=3
	while [ "$status" = 3 ] && [ "$launched" -lt 12 ]; do
		launched=$((launched + 1)) status=0
		where_begins low low --threads 256 --shared 114688 --blocks "$1" --loops "$2" --count 12
		low=$started
		sms=$(sed -n 's/ready, \([0-9]*\) SMs/\1/p' "$dir/low.out")
		where_begins high high --blocks $(($4 * 4 - 3)) --shared 49152 --loops "$3"
		pids=$started
		wait "$pids" || fail "the program that got SMs: $?"
		pids=
		wait "$low" || fail "the program that gave up SMs: $?"
		low=
		awk -v n="$sms" -v need="$4" -f "$here/later.awk" "$dir/low.where" "$dir/high.where" ||
			status=$?
	done
	[ "$status" = 0 ] || fail "SMs: see above"
}

# Sets $value to a number below $1, from a sequence determined by $seed.
random() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	# shellcheck disable=SC2034
	value=$((seed / 65536 % $1))
}

# ends NAME ID [WHEN]: tells a program that runs until it is told to end (--until $dir/NAME.end) to
# do so, and checks that it succeeds.
ends() {
	: >"$dir/$1.end"
	wait "$2" || fail "the $1 program${3:+, $3}: $?"
	passed "$1" || fail "wrong result of the $1 program${3:+, $3}"
	rm "$dir/$1.end"
}

# daemon_dies LOW HIGH: programs with their arguments, which run until they are told to end. heddled
# is killed once the low-priority one is suspended. That one continues within a second (on a GPU;
# the virtual GPU's processors may be busy), and both succeed. Needs a running daemon.
# shellcheck disable=SC2086
daemon_dies() {
	run low low $1 --until "$dir/low.end"
	low=$started
	await 60 grep -q '"round":0' "$dir/low.out" || fail "the low program does not begin"
	run high high $2 --until "$dir/high.end"
	high=$started
	await 60 has_event drained || fail "nothing is suspended"
	kill -9 "$daemon"
	[ "$device" = cuda ] && limit=1 || limit=20
	await "$limit" gone || fail "the suspended tenant does not notice within $limit s"
	daemon=
	ends high "$high"
	ends low "$low"
	low='' high=''
}
