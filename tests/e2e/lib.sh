# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# For the tests that run real programs under heddle run and heddled. Sourced with $heddle, $heddled,
# $examples (a folder) and $device (cpu or cuda) set; makes $dir, with all output, and a socket and
# cache of its own. What is in $daemon and $pids is killed at the end, and after a failure the last
# lines of what all wrote are shown, unless $told says that the script has told what was wrong; with
# KEEP=FOLDER in the environment all of it stays there, and the event log.
# shellcheck disable=SC2154
: "$heddle" "$heddled" "$examples" "$device"
dir=$(mktemp -d)
daemon='' pids=''
# Where the virtual GPU is ten times as slow, in sanitizer builds, SCALE says how much of the work there is.
# shellcheck disable=SC2034
large="--size large${SCALE:+ --scale $SCALE}"
export HEDDLE_SOCKET="$dir/sock" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state"
export HEDDLE_FORM_WAIT_MS=60000 # what is to be seen are managed launches, from the first on

# heddled is first asked to end (it may own an MPS daemon), and goes on if it was stopped.
end() {
	status=$?
	# shellcheck disable=SC2086
	kill -9 $pids ${low:-} ${high:-} 2>/dev/null || :
	# In this order: SIGCONT takes away a SIGSTOP by which a leak checker looks at a process that ends.
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

# await SECONDS COMMAND…: until the command succeeds.
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

# run PRIORITY NAME PROGRAM ARG…: in the background; its id in $started.
run() {
	priority=$1
	name=$2
	program=$3
	shift 3
	rm -f "$dir/$name.out" "$dir/$name.err" # an earlier one's
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

# Words to the launches of all tenants but the first: to leave all SMs, or some.
preemptions() {
	grep -E '"event": "(preempt|shrink)"' "$dir/events" | grep -vc '"tenant": 1,' || :
}

# often TIMES TICK LOW: programs with their arguments. A short kernel of high priority every so often,
# beside a program of low priority, again until that was preempted so many times: each result of it
# is compared with the host's. The daemon is started before.
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

# where_begins PRIORITY NAME ARG…: bench/where of the folder $bench; its id in $started.
where_begins() {
	priority=$1
	name=$2
	shift 2
	rm -f "$dir/$name.out" "$dir/$name.err" # an earlier one's
	# shellcheck disable=SC2154
	"$heddle" run --device "$device" -p "$priority" -- "$bench/where" --out "$dir/$name.where" \
		"$@" >"$dir/$name.out" 2>"$dir/$name.err" &
	started=$!
	await 60 grep -q ready "$dir/$name.out" || fail "$name does not begin"
}

# smids BLOCKS LOOPS HIGH_LOOPS NEED [NEED]: a program of low priority whose blocks take half an SM
# each (and so does its relay, which stays where it is), beside one of high priority that needs so
# many SMs, eight times, or beside that one and one of normal priority, each once. By %smid of all of
# them: who had which SMs (where.awk). The daemon is started before.
smids() {
	where_begins low low --threads 256 --shared 114688 --blocks "$1" --loops "$2" --until "$dir/low.end"
	low=$started
	sms=$(sed -n 's/ready, \([0-9]*\) SMs/\1/p' "$dir/low.out")
	loops=$3
	shift 3
	[ $# -gt 1 ] && count=1 || count=8
	# Four blocks an SM, of which its own relay takes one place and the low one's two; two blocks an
	# SM, of which the relays take one place each, and which find no room where the others are.
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

# later_launches BLOCKS LOOPS HIGH_LOOPS NEED: twelve launches of a program of low priority, beside one
# of high priority that needs so many SMs for long (later.awk). The daemon is started before. If the
# high one comes just between two launches, or at the end of one, it has more SMs to spread over: then
# once more.
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

# A number below $1, from a sequence that $seed decides, in $value.
random() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	# shellcheck disable=SC2034
	value=$((seed / 65536 % $1))
}

# ends NAME ID [WHEN]: a program that goes on until it is told to end (--until $dir/NAME.end) is, and
# ends well.
ends() {
	: >"$dir/$1.end"
	wait "$2" || fail "the $1 program${3:+, $3}: $?"
	passed "$1" || fail "wrong result of the $1 program${3:+, $3}"
	rm "$dir/$1.end"
}

# daemon_dies LOW HIGH: programs with their arguments, which go on until they are told to end. heddled
# is killed once the low one is suspended; that goes on within a second (of a GPU; where the processors
# are the device, they may be busy), and both end well. The daemon is started before.
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
