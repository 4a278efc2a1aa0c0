#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: tenants.sh WHERE [TIMES]
# Under heddled --policy greedy, 2 to 16 programs start at random times, and some are killed at
# random times. The others must end with right results. heddled must keep running, and have no
# tenant and no launch in the end. Repeats this TIMES times (1). WHERE is a build folder or the
# output of ./run dist. In the environment:
#   DEVICE  cpu (default): the virtual GPU; cuda: this machine's GPU, where MPS says whether heddled
#           runs MPS (off). By CUDA's rules, a killed MPS client may end others with it. These may
#           fail with an error, but never with a wrong result
#   SEED    of all random choices; it is printed
#   N       number of programs (2 to 16, random)
#   SIZE    of their inputs (small)
#   REPEAT  maximum number of launches of each program (4)
#   SPREAD  ms in which they start (2000)
set -eu
where=$1
times=${2:-1}
heddle=$where/bin/heddle examples=$where/lib/heddle/examples
[ -x "$heddle" ] || heddle=$where/heddle examples=$where/examples
heddled=$(dirname "$heddle")/heddled device=${DEVICE:-cpu} mps=off
programs='bo fd lm mh nb px tp va mm md spmv'
for part in "$heddled" "$heddle" "$examples/bo" "$examples/tp"; do
	[ -x "$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
if [ "$device" = cuda ]; then
	mps=${MPS:-off}
	[ -e /dev/nvidiactl ] || {
		echo "skipped: no NVIDIA GPU"
		exit 77
	}
	[ "$mps" = off ] || command -v nvidia-cuda-mps-control >/dev/null || {
		echo "skipped: no nvidia-cuda-mps-control"
		exit 77
	}
fi
export HEDDLE_VGPU="tenants-$$"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
spread=${SPREAD:-2000} repeat=${REPEAT:-4}

# plan COUNT: prints the events in order of time, one per line: ms, begin or kill, program. One
# program in three is killed, and at least one survives.
plan() {
	i=0
	while [ "$i" -lt "$1" ]; do
		random "$spread"
		at=$value
		echo "$at begin $i"
		random 3
		if [ "$value" = 0 ] && [ "$i" -gt 0 ]; then
			random "$spread"
			echo "$((at + value)) kill $i"
		fi
		i=$((i + 1))
	done >"$dir/unsorted"
	sort -n "$dir/unsorted" >"$dir/plan"
}

# begins WHICH: starts a random program with a random amount of work; its process id in pid_WHICH.
begins() {
	# shellcheck disable=SC2086
	set -- "$1" $programs
	which=$1
	shift
	random $#
	shift "$value"
	random "$repeat"
	run normal "t$which" "$1" --size "${SIZE:-small}" --scale "${SCALE:-1}" --repeat $((value + 1))
	eval "pid_$which=$started"
	pids="$pids $started"
	echo "$1 $((value + 1))" >"$dir/t$which.what"
}

now_ms() {
	read -r up _ </proc/uptime
	echo "$((${up%.*} * 1000 + 1${up#*.}0 - 1000))"
}

# Replays the plan.
happens() {
	began=$(now_ms)
	while read -r at what which; do
		late=$(($(now_ms) - began))
		[ "$late" -ge "$at" ] || sleep "$(awk -v ms=$((at - late)) 'BEGIN { print ms / 1000 }')"
		if [ "$what" = begin ]; then
			begins "$which"
			continue
		fi
		eval "pid=\$pid_$which"
		# The program may already have ended.
		if runs "$pid"; then
			kill -9 "$pid" && : >"$dir/t$which.killed"
			killed_pids="$killed_pids$pid "
		fi
	done <"$dir/plan"
}

runs() {
	[ -r "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat"
}

has_ended() {
	! runs "$1"
}

# judges WHICH: checks a program that was started.
judges() {
	which=$1
	eval "pid=\$pid_$which"
	what="program $which ($(cat "$dir/t$which.what"))"
	if ! await "${LIMIT:-120}" has_ended "$pid"; then
		"$heddle" ps || :
		fail "$what hangs"
	fi
	status=0
	wait "$pid" 2>/dev/null || status=$?
	if [ -e "$dir/t$which.killed" ]; then
		killed=$((killed + 1))
	elif [ "$status" = 0 ] && passed "t$which"; then
		right=$((right + 1))
	elif grep -q '"result":"WRONG"' "$dir/t$which.out"; then
		fail "$what: wrong result"
	elif [ "$mps" = on ] && [ "$killed_any" = 1 ]; then
		disturbed=$((disturbed + 1))
	else
		tail -n 3 "$dir/t$which.err"
		fail "$what: exit status $status"
	fi
}

no_tenants() {
	[ "$("$heddle" ps)" = "no tenants" ]
}

# Prints how many launches of programs that were not killed heddled saw neither finish nor be
# dropped.
launches_left() {
	awk -F '[ ,]+' -v killed=" $killed_pids" 'function value(key,   i) {
			for (i = 1; i < NF; i++) if ($i == "\"" key "\":") return $(i + 1)
		}
		/"event": "submit"/ { n[value("tenant")]++ }
		/"event": "(finish|drop)"/ { n[value("tenant")]-- }
		/"event": "leave"/ && index(killed, " " value("pid") " ") { n[value("tenant")] = 0 }
		END { for (i in n) sum += n[i]; print sum + 0 }' "$dir/events"
}

no_launches() {
	[ "$(launches_left)" = 0 ]
}

one_time() {
	random 15
	n=${N:-$((2 + value))}
	all=$((all + n)) right=0 killed=0 disturbed=0 pids=''
	rm -f "$dir"/t*
	plan "$n"
	happens
	killed_any=0
	for mark in "$dir"/t*.killed; do [ ! -e "$mark" ] || killed_any=1; done
	which=0
	while [ "$which" -lt "$n" ]; do
		judges "$which"
		which=$((which + 1))
	done
	pids=
	kill -0 "$daemon" || fail "heddled died"
	await 60 no_tenants || fail "a tenant is left: $("$heddle" ps)"
	await 60 no_launches || fail "$(launches_left) launches are left"
	# Two kinds of lines are not errors: that many kernels do not fit on an SM together, and
	# that a program was killed while it connected.
	! grep -v -e 'does not fit on an SM' -e 'refused pid .* No such process' "$dir/daemon.log" | grep -E 'illegal transition|warning' ||
		fail "heddled found something wrong"
	echo "$n programs: $right ended with right results, $killed killed${MPS:+, $disturbed disturbed under MPS}"
	[ "$right" -gt 0 ] || fail "no program ended well"
}

killed_pids='' all=0
seed=${SEED:-$$}
echo "seed $seed"
start_daemon --policy greedy --mps "$mps" --set min_managed_us=1
time=0
while [ "$time" -lt "$times" ]; do
	one_time
	time=$((time + 1))
done
# The event log must show that the engine took blocks away and gave others.
for word in 'shrink|preempt' 'grow|grant'; do
	count=$(grep -cE "\"event\": \"($word)\"" "$dir/events" || :)
	echo "$count times $word"
	[ "$all" -lt 8 ] || [ "$count" -gt 0 ] || fail "no launch had another's blocks"
done
echo passed
