#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: hw.sh WHERE
#          forms|merged|virtual|woven|tasks|generated|random|ops|programs|pair|daemon-killed|kills
#          [N] [on|off]
# Runs the tests of e2e.sh and tests/exec on this machine's GPU. WHERE is a build folder or the
# output of ./run dist. Skipped without a GPU. DEVICE=cpu: on the virtual GPU, to try this script.
# on|off: with or without MPS.
#   forms          every kernel of kernels/list.txt (or those that FILTER matches), plain and in its
#                  preemptible form, on the same data: JOBS (8) at a time, LIMIT (30) seconds each.
#                  ORDER (row, column, hilbert): the order in which the form takes blocks
#   merged         pairs of these kernels as one launch, compared with each alone; same settings
#                  except FILTER
#   virtual        each kernel with its body in another kernel, a field at a time; same settings
#   woven          PAIRS (60) random pairs of these kernels from SEED (1), each merged, fused
#                  vertically and horizontally, woven, woven with --branches and with --unsliced
#                  (WAYS: a pattern that selects some of these); same settings
#   tasks          each kernel as tasks of a pool: JOBS (4) processes at a time, LIMIT (120) seconds
#                  each
#   generated      N (40) pairs of random programs from SEED (1), merged, fused and woven, every
#                  pair in every way: JOBS (8) at a time, LIMIT (30) seconds each
#   random         N (10000) random programs from SEED (1), plain and in their preemptible form, 30
#                  per module, JOBS (14) processes at a time. A program that stalls for LIMIT (30)
#                  seconds is reported and ended, and the test continues with the next
#   ops            every form of every exact instruction against the virtual GPU: JOBS (8)
#                  processes, all of them within LIMIT (120) seconds. Differences go to the file TSV
#                  (ops.tsv). Then every matrix product against exact sums and a bound; ops-sums.tsv
#                  gets, for each product, how close it came and how many results have the virtual
#                  GPU's bits. With DEVICE=cpu, ops needs no GPU and compares the virtual GPU with
#                  itself
#   programs       all example programs on both APIs, natively and under heddle, results checked
#   pair           a running program is preempted by another; both results are correct
#   daemon-killed  heddled dies while a tenant is suspended: the tenant continues within a second
#   kills          N times, one of six running programs is killed at a random point; the results of
#                  the others stay correct
# PART=k/n: the k-th of n parts of forms, virtual, woven, tasks or generated.
set -eu
where=$1
what=$2
count=${3:-20}
mps=${4:-off}
heddle=$where/bin/heddle
examples=$where/lib/heddle/examples list=$where/lib/heddle/kernels/list.txt
gen=$where/lib/heddle/tests/gen same=$where/lib/heddle/tests/tasks_same
[ -x "$heddle" ] || {
	heddle=$where/heddle
	examples=$where/examples list=$where/kernels/list.txt
	gen=$where/tests/gen/gen same=$where/tests/rt/tasks_same
}
device=${DEVICE:-cuda}
if [ "$device" = cuda ] && { [ ! -e /dev/nvidiactl ] || [ ! -x "$examples/va" ]; }; then
	echo "skipped: no NVIDIA GPU, or no compiler for kernels"
	exit 77
fi
heddled=$(dirname "$heddle")/heddled here=$(dirname "$0")
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

# kernels SCRIPT ARG...: runs a script over the list of kernels, with its limits. Each process uses
# one hardware channel, because half of the time to create a context goes into its channels.
kernels() {
	script=$1 told=1
	shift
	CUDA_DEVICE_MAX_CONNECTIONS=1 JOBS=${JOBS:-8} LIMIT=${LIMIT:-30} \
		sh "$here/../exec/$script.sh" "$heddle" "$list" "$device" "$@"
}

forms() {
	# The number of workers is small. Otherwise a large GPU would claim all blocks of such small
	# grids at once, and none would be left when it is preempted.
	export VARIANTS="${VARIANTS:---yield-every 1 --total-workers 2
--yield-every 5 --total-workers 3 --chunk 2
--yield-every 7 --chunk 2 --pull-ahead --total-workers 1
--chunk 2}"
	[ -z "${ORDER:-}" ] || VARIANTS=$(echo "$VARIANTS" | sed "s/^/--order $ORDER /")
	kernels preempted "${FILTER:-.}"
}

merged() {
	for which in paper forms; do
		kernels merge $which sample
	done
}

tasks() {
	[ -x "$same" ] || fail "no $same"
	told=1
	JOBS=${JOBS:-4} LIMIT=${LIMIT:-120} sh "$here/../rt/tasks.sh" "$same" "$list" "$device" "${FILTER:-.}"
}

generated() {
	told=1
	CUDA_DEVICE_MAX_CONNECTIONS=1 EVERY=1 DEVICE=$device JOBS=${JOBS:-8} LIMIT=${LIMIT:-30} \
		sh "$here/../gen/merged.sh" "$heddle" "$gen" "${SEED:-1}" "$1"
}

random_programs() {
	"$gen" --device "$device" --first "${SEED:-1}" --count "$1" --jobs "${JOBS:-14}" --batch 30 --range 600 \
		--scale 16 --limit "${LIMIT:-30}" --enough 40 --shrink 0
}

ops() {
	tests=$where/lib/heddle/tests
	[ -x "$tests/ops" ] || tests=$where/tests/dev/cpu/exact
	tsv=${TSV:-ops.tsv} status=0
	"$tests/ops" --device "$device" --jobs "${JOBS:-8}" --limit "${LIMIT:-120}" --tsv "$tsv" || status=1
	timeout "${LIMIT:-120}" "$tests/sums" --device "$device" --tsv "${tsv%.tsv}-sums.tsv" || status=1
	told=1
	[ "$status" = 0 ] || fail "see above, $tsv and ${tsv%.tsv}-sums.tsv"
}

programs() {
	start_daemon --mps "$mps"
	for api in . rt; do
		for program in va nn pf pl md spmv mm cfd nb bo mh tp fd lm px; do
			[ -x "$examples/$api/$program" ] || continue
			"$examples/$api/$program" --size small --repeat 3 --check last --json \
				>"$dir/plain.out" 2>&1 || fail "$api/$program as it is"
			run high heddle "$api/$program" --size small --repeat 3 --check last
			wait "$started" || fail "$api/$program under heddle: $?"
			passed plain || fail "$api/$program as it is: wrong"
			passed heddle || fail "$api/$program under heddle: wrong"
			! grep -q . "$dir/heddle.err" || fail "$api/$program warned"
			echo "$api/$program: correct"
		done
	done
}

pair() {
	start_daemon --mps "$mps"
	[ -x "$examples/rt/nn" ] && [ "$device" = cuda ] && api=rt || api=.
	run low low "$api/nn" --size large --repeat 200 --check last
	pids=$started
	await 60 grep -q '"round":0' "$dir/low.out" || fail "the low program does not begin"
	run high high "$api/va" --size small --repeat 20 --check last
	wait "$started" || fail "the high program: $?"
	wait "$pids" || fail "the low program: $?"
	pids=
	passed low || fail "wrong result under preemption"
	passed high || fail "wrong result of the preempting program"
	await 5 has_event preempt || fail "nothing was preempted"
	"$heddle" status
}

# The high-priority grid is long enough that heddled dies while the low-priority program is
# suspended.
daemon_killed() {
	start_daemon --mps "$mps"
	daemon_dies "nn --size large --check last" \
		"nn --size large --scale 3 --check last"
}

# True if the process has not ended: it exists and is not a zombie.
runs() {
	[ -r "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat"
}

# begin SLOT: starts a random program at a random priority.
begin() {
	random 3
	case $value in 0) p=low ;; 1) p=normal ;; *) p=high ;; esac
	random 4
	case $value in 0) program=va ;; 1) program=mm ;; 2) program=spmv ;; *) program=cfd ;; esac
	random 100
	run "$p" "slot$1" "$program" --size small --repeat $((20 + value * 3)) --check last
	eval "pid$1=$started"
}

# judge SLOT: checks a program that has ended and was not killed. Under MPS, it may fail because
# another client of its server was killed, but a wrong result is always an error.
judge() {
	pid=
	eval "pid=\$pid$1"
	status=0
	wait "$pid" || status=$?
	if [ "$status" = 0 ] && passed "slot$1"; then
		survivors=$((survivors + 1))
		return
	elif grep -q '"result":"WRONG"' "$dir/slot$1.out"; then
		wrong=$((wrong + 1))
	else
		failed=$((failed + 1))
	fi
	echo "round $n: a survivor, exit status $status: $(tail -q -n 1 "$dir/slot$1.err" "$dir/slot$1.out" | tr '\n' ' ')"
}

has_ended() {
	! runs "$1"
}

# hangs SLOT WHEN: reports a program that does not end: the state of its threads, its last output,
# and heddled's view of it.
hangs() {
	hung=$((hung + 1))
	echo "round $n: program $pid of slot $1 $2"
	for thread in "/proc/$pid/task"/*; do
		echo "  $(cat "$thread/comm"), $(cut -d' ' -f3 "$thread/stat"), in $(cat "$thread/wchan"), system call $(cat "$thread/syscall")"
	done 2>/dev/null
	tail -q -n 2 "$dir/slot$1.err" "$dir/slot$1.out" || :
	timeout 5 "$heddle" ps || :
	tail -n 5 "$dir/events" "$dir/daemon.log" || :
	kill -9 "$pid" 2>/dev/null || :
}

kills() {
	start_daemon --mps "$mps"
	seed=${SEED:-$$}
	echo "seed $seed, MPS $mps"
	n=0 survivors=0 wrong=0 failed=0 hung=0 slots='1 2 3 4 5 6'
	for slot in $slots; do begin "$slot"; done
	while [ "$n" -lt "$count" ]; do
		random 60
		sleep "0.$((30 + value))"
		for slot in $slots; do
			eval "pid=\$pid$slot"
			runs "$pid" && continue
			judge "$slot"
			begin "$slot"
		done
		random 6
		slot=$((value + 1))
		eval "pid=\$pid$slot"
		runs "$pid" || continue
		kill -9 "$pid" 2>/dev/null || continue
		if await 30 has_ended "$pid"; then
			wait "$pid" 2>/dev/null || :
		else
			hangs "$slot" "was killed, and has not ended in 30 s"
		fi
		n=$((n + 1))
		begin "$slot"
	done
	for slot in $slots; do
		eval "pid=\$pid$slot"
		if await 60 has_ended "$pid"; then
			judge "$slot"
		else
			hangs "$slot" "has not ended in 60 s"
		fi
	done
	echo "$n kills, MPS $mps: $survivors survivors correct, $wrong wrong, $failed failed, $hung hung"
	kill -0 "$daemon" || fail "heddled died"
	[ "$hung" = 0 ] || fail "programs hang"
	await 5 "$heddle" ps >"$dir/ps"
	[ "$(cat "$dir/ps")" = "no tenants" ] || fail "a dead tenant is left"
	[ "$wrong" = 0 ] || fail "survivors had wrong results"
	[ "$survivors" -gt 0 ] || fail "no survivor ended well"
	[ "$failed" = 0 ] || [ "$mps" = on ] || fail "survivors were disturbed"
}

case $what in
forms) forms ;;
merged) merged ;;
virtual) kernels virtual "${FILTER:-.}" ;;
woven) PAIRS=${PAIRS:-60} kernels pairs "${FILTER:-.}" ;;
tasks) tasks ;;
generated) generated "${3:-40}" ;;
random) random_programs "${3:-10000}" ;;
ops) ops ;;
programs) programs ;;
pair) pair ;;
daemon-killed) daemon_killed ;;
kills) kills ;;
*) exit 2 ;;
esac
echo passed
