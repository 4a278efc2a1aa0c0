#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: e2e.sh BUILD
#          pair|spatial|smid|smid-three|smid-later|streams|queue|faults|deaths|daemon-killed|interrupted
#        e2e.sh BUILD kills [N]
#        e2e.sh BUILD often [N [temporal|spatial [ROUNDS]]]
# Runs unmodified example programs under heddle run and heddled, on the virtual GPU:
#   pair           a high-priority program preempts a low-priority one; both results are correct
#   spatial        SMs that a small high-priority kernel cannot use stay with the low-priority one
#   smid           the blocks record their SMs: the high-priority program has exactly the SMs that
#                  it needs, and the low-priority one continues on all others
#   smid-three     as smid, with three programs side by side
#   smid-later     as smid, for low-priority launches that start while the high-priority program
#                  runs
#   streams        of a program's two streams, the one with higher priority goes first
#   queue          hundreds of launches are queued; heddled stores words only for the running one
#   faults         a bad pointer and a trap give the same errors as without heddle
#   deaths         a tenant is killed while it runs, waits or is suspended; the others continue
#   daemon-killed  heddled dies while a tenant is suspended: the tenant continues within a second
#   interrupted    an interrupted bench leaves no process and no file
#   often          a low-priority program of ROUNDS launches is repeated until it has been preempted
#                  N times, fully (temporal) or only on some SMs (spatial); every result is right
#   kills          N times, one of several programs is killed at a random point; the results of the
#                  others stay correct
# shellcheck disable=SC2086 # $large is several words
set -eu
build=$1
what=$2
heddle=$build/heddle
for part in heddled heddle examples/mm examples/va tests/shim/shim_prog \
	bench/where \
	src/shim/libcuda.so.1 src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
heddled=$build/heddled examples=$build/examples bench=$build/bench device=cpu
here=$(dirname "$0")
export HEDDLE_VGPU="e2e-$$"
# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

# run_plain PRIORITY NAME ARG…: runs the shim's test program, which prints digests of its results.
run_plain() {
	priority=$1
	name=$2
	shift 2
	LD_LIBRARY_PATH=$build/src/dev/cpu "$build/tests/shim/shim_prog" "$@" >"$dir/$name.want"
	rm -f "$dir/$name.out" "$dir/$name.err" # left by an earlier run
	"$heddle" run --device cpu -p "$priority" -- "$build/tests/shim/shim_prog" "$@" \
		>"$dir/$name.out" 2>"$dir/$name.err" &
	started=$!
}

pair() {
	start_daemon
	# Its blocks mostly sleep, so that after its second grant the program runs for over a
	# second. In this time the daemon stores no words.
	where_begins low low --threads 256 --blocks 300 --loops 1 --us 300000
	low=$started
	await 60 in_state "$low" running || fail "the low program does not begin"
	run high high va --size small --repeat 5
	high=$started
	wait "$high" || fail "the high program: $?"
	passed high || fail "wrong result of the preempting program"
	wait "$low" || fail "the low program, whose blocks run once each: $?"
	low='' high=''
	await 60 has_event preempt || fail "nothing was preempted"
	await 60 has_event drained || fail "nothing has drained"
	"$heddle" status
	! grep -q . "$dir/low.err" || fail "the low program warned"
}

# sms TENANT EVENT…: prints for each such event how many SMs it leaves to the tenant's launch.
sms() {
	tenant=$1
	shift
	for event; do
		sed -n "s/.*\"event\": \"$event\", \"tenant\": $tenant,.*\"sms\": \([0-9]*\),.*/\1/p" \
			"$dir/events"
	done
}

# The virtual GPU has 8 SMs of 2048 threads each, so 40 blocks of 128 threads need 3 of them.
spatial() {
	start_daemon
	run low low mm $large --until "$dir/low.end"
	low=$started
	await 60 grep -q '"round":0' "$dir/low.out" || fail "the low program does not begin"
	run_plain high high chain 8 40 400
	high=$started
	wait "$high" || fail "the high program: $?"
	cmp "$dir/high.want" "$dir/high.out" || fail "wrong result of the preempting program"
	ends low "$low"
	low='' high=''
	await 60 has_event finish
	sms 1 shrink grow preempt | sort | uniq -c >"$dir/sms"
	cat "$dir/sms"
	[ "$(awk '{ print $2 }' "$dir/sms" | sort -n | head -n 1)" = 5 ] ||
		fail "the low program was to keep 5 of 8 SMs"
}

# Launches 1 and 2 are on the low-priority stream; the next 8 must not wait for the end of launch 1.
streams() {
	start_daemon --temporal
	run_plain normal ranks ranks 1 800 2000
	low=$started
	wait "$low" || fail "the program: $?"
	low=
	cmp "$dir/ranks.want" "$dir/ranks.out" || fail "wrong result"
	await 60 has_event leave
	sms 1 preempt | grep -qx 0 || fail "the lower stream was not preempted"
	grep '"event": "finish"' "$dir/events" | grep -o '"launch": [0-9]*' >"$dir/order"
	[ "$(head -n 1 "$dir/order")" = '"launch": 3' ] || fail "the lower stream went first"
}

# words EVENT…: prints how many such events there were.
words() {
	grep -cE "\"event\": \"($(echo "$@" | tr ' ' '|'))\"" "$dir/events" || :
}

# Whatever the machine's load, a high-priority launch takes the device from at most two launches of
# the low-priority program, and each gets it back: the one that runs, and one that may have arrived
# when the first ended.
queue() {
	start_daemon --temporal --set min_managed_us=1
	mkfifo "$dir/end"
	exec 9<>"$dir/end"
	"$heddle" run --device cpu -p high -- "$build/bench/queue" high --rounds 100 \
		--every-us 30000 <"$dir/end" >"$dir/high.out" 2>"$dir/high.err" &
	high=$!
	await 60 grep -q ready "$dir/high.out" || fail "the high program does not begin"
	"$heddle" run --device cpu -p low -- "$build/bench/queue" low --rounds 150 --launches 240 \
		--waves 3 >"$dir/low.out" 2>"$dir/low.err" &
	low=$!
	wait "$low" || fail "the low program: $?"
	echo >&9
	wait "$high" || fail "the high program: $?"
	low='' high=''
	await 60 test "$(words leave)" = 2
	cat "$dir/low.out" "$dir/high.out"
	n=$(sed -n 's/^high \([0-9]*\) .*/\1/p' "$dir/high.out")
	told=$(words wait preempt shrink grant grow)
	echo "$n launches of the high program, $told words, $(words begin) to tenants"
	grep -q right "$dir/low.out" || fail "wrong result under preemption"
	! grep -q . "$dir/low.err" || fail "the low program warned"
	[ "$(words preempt)" -ge 10 ] || fail "too few were preempted"
	[ "$told" -le $((4 * n)) ] || fail "more than four words a launch"
	[ "$(words begin)" -le $((2 * n + 4)) ] || fail "more than two words to tenants a launch"
}

# Runs each program beside a high-priority one and compares its results with those without heddle.
faults() {
	start_daemon
	run high high tick --every-us 10000 --rounds 10 --check 1 --count 10000000
	high=$started
	await 60 grep -q ready "$dir/high.out" || fail "the program beside them does not begin"
	run_plain low errors errors
	wait "$started" || fail "a program with a fault: $?"
	cmp "$dir/errors.want" "$dir/errors.out" || fail "a bad pointer: another error"
	run_plain low trap trap
	wait "$started" || fail "a program with a fault: $?"
	cmp "$dir/trap.want" "$dir/trap.out" || fail "a trap: another error"
	grep -q '"event": "finish", "tenant": [^1]' "$dir/events" || fail "nothing was managed"
	kill "$high"
	wait "$high" || fail "the program beside them: $?"
	high=
}

in_state() { # PID STATE...
	pid=$1
	shift
	state=$("$heddle" ps | awk -v pid="$pid" '$2 == pid { print $6 }')
	for wanted; do
		[ "$state" != "$wanted" ] || return 0
	done
	return 1
}

kill_one() { # PID
	kill -9 "$1"
	wait "$1" 2>/dev/null || :
}

# A tenant is killed while it is in each of the states. The other tenant's results must stay right,
# and it must end normally.
deaths() {
	start_daemon --temporal
	run low low mm $large --until "$dir/low.end"
	low=$started
	await 60 grep -q '"round":0' "$dir/low.out" || fail "the low program does not begin"
	run high high mm $large --until "$dir/high.end"
	high=$started
	await 60 in_state "$low" preempted || fail "nothing is suspended"
	kill_one "$low"
	ends high "$high" "beside one killed while suspended"

	run high high mm $large --until "$dir/high.end"
	high=$started
	await 60 in_state "$high" running || fail "the high program does not begin"
	run low low mm $large --until "$dir/low.end"
	low=$started
	await 60 in_state "$low" held queued preempted || fail "nobody waits"
	kill_one "$low"
	ends high "$high" "beside one killed while waiting"

	run low low mm $large --until "$dir/low.end"
	low=$started
	await 60 grep -q '"round":0' "$dir/low.out" || fail "the low program does not begin"
	run high high mm $large --until "$dir/high.end"
	high=$started
	await 60 in_state "$low" preempted || fail "nothing is suspended"
	await 60 in_state "$high" running || fail "the high program does not run"
	kill_one "$high"
	ends low "$low" "preempted by one killed while running"
	low='' high=''
	await 60 no_tenants || fail "a dead tenant is left"
	kill -0 "$daemon" || fail "heddled died"
}

daemon_killed() {
	start_daemon
	daemon_dies "mm $large" "mm $large"
}

# processes PATH: prints the processes with this path in their command lines, except grep itself.
processes() {
	grep -sla -- "[/]${1#/}" /proc/[0-9]*/cmdline
}

interrupted() {
	mkdir "$dir/tmp"
	TMPDIR=$dir/tmp "$heddle" bench preempt --device cpu --part overhead >"$dir/low.out" 2>&1 &
	low=$!
	await 20 processes "$dir/tmp/heddle-stage-.*/heddled.sock" >"$dir/found" || fail "no heddled"
	await 20 processes "$examples/cfd" >"$dir/found" || fail "no program"
	kill "$low"
	status=0
	wait "$low" || status=$?
	low=
	[ "$status" = 143 ] || fail "status $status"
	[ -z "$(ls -A "$dir/tmp")" ] || fail "files are left"
	! processes "$dir/tmp" || fail "heddled is left"
	! processes "$examples/cfd" || fail "a program is left"
}

# A temporal preemption revokes all 8 SMs, a spatial one only some of them.
often_preempted() { # TIMES temporal|spatial ROUNDS
	start_daemon --set preempt="$2" --set min_managed_us=1 --set linger_max_us=1
	tick="--every-us 3000 --rounds 10"
	[ "$2" = temporal ] || tick="$tick --blocks 16 --threads 256"
	often "$1" "$tick" "nn $large --repeat $3"
	[ "$2" = temporal ] || has_event shrink || fail "nothing but whole preemptions"
}

# The grace period is long, so that no tenant counts as late on a slow machine. Otherwise SMs would
# change owners once more than expected.
smid_begins() {
	start_daemon --set min_managed_us=1 --set grace_us=10000000
}

smid() {
	smid_begins
	smids 15000 400 60000 3
}

smid_three() {
	smid_begins
	smids 20000 400 600000 2 3
}

smid_later() {
	smid_begins
	later_launches 1000 160 600000 3
}

no_tenants() {
	[ "$("$heddle" ps)" = "no tenants" ]
}

kills() {
	start_daemon
	seed=${SEED:-$$}
	echo "seed $seed"
	n=0
	while [ "$n" -lt "$1" ]; do
		n=$((n + 1))
		pids=
		for name in a b c; do
			random 3
			case $value in 0) p=low ;; 1) p=normal ;; *) p=high ;; esac
			random 2
			[ "$value" = 0 ] && program=va || program=mm
			run "$p" "$name" "$program" --size small --repeat 3
			pids="$pids $started"
		done
		random 30
		sleep "0.$((10 + value))"
		random 3
		i=0
		for pid in $pids; do
			[ "$i" = "$value" ] && { kill -9 "$pid" 2>/dev/null || :; }
			i=$((i + 1))
		done
		i=0
		for pid in $pids; do
			name=$(echo abc | cut -c$((i + 1)))
			if ! wait "$pid" 2>/dev/null && [ "$i" != "$value" ]; then
				fail "round $n: the surviving program $name"
			fi
			[ "$i" = "$value" ] || passed "$name" || fail "round $n: $name is wrong"
			i=$((i + 1))
		done
		await 60 no_tenants || fail "round $n: a dead tenant is left"
	done
	kill -0 "$daemon" || fail "heddled died"
	"$heddle" status
}

case $what in
pair) pair ;;
spatial) spatial ;;
streams) streams ;;
queue) queue ;;
faults) faults ;;
deaths) deaths ;;
daemon-killed) daemon_killed ;;
interrupted) interrupted ;;
kills) kills "${3:-20}" ;;
smid) smid ;;
smid-three) smid_three ;;
smid-later) smid_later ;;
often) often_preempted "${3:-200}" "${4:-temporal}" "${5:-1}" ;;
*) exit 2 ;;
esac
echo passed
