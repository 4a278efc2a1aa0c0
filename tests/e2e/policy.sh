#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: policy.sh BUILD
#          halves|greedy|split_whole|split_mixed|moved|resized|guard|asks|restless|orphan|exact|dies|nowhere|
#          hangs
# Tests policies as shared objects, with programs on the virtual GPU. The programs' blocks record on
# which SM they ran.
#   halves       examples/policy/halves.c, built as its head says: of two programs side by side,
#                each has half of every SM
#   greedy       built in: each program has blocks by its share of the remaining work; the last one
#                that runs has all
#   split_whole  built in: the high-priority program has a quarter of the SMs, the other one the
#                rest
#   split_mixed  built in: the high-priority program has three quarters of the blocks on even SMs,
#                and a quarter on odd ones
#   moved        two programs swap halves of the SMs every 20 ms: each block runs once, and mostly
#                on an SM that its program has at the time
#   resized      SIGHUP changes the policy's options while a launch runs, so that the launch gets
#                more blocks per SM, then fewer, then more: the SMs hold that many
#   guard        a kernel in the guard form has 16, 4, 8, no and 16 blocks on each SM while it runs
#   asks         a kernel that reads the size of its shared memory has no blocks, or as many as fit
#   restless     a launch that is resized all the time ends nevertheless
#   orphan       a launch that is limited to 4 blocks per SM has all blocks once heddled is gone
#   exact        a launch that is resized all the time has exactly its quota of blocks on each SM,
#                once the blocks that ran before the change have ended
#   dies         programs are killed as they grow: the others continue, and heddled reports it
#   nowhere      programs do not fit on an SM together: heddled reports it, and each ends
#   hangs        heddled ends because its policy does not return; the programs continue as tenants
#                of the next heddled, which runs without the policy; every result is right
set -eu
build=$1
what=$2
heddle=$build/heddle heddled=$build/heddled examples=$build/examples bench=$build/bench device=cpu
here=$(dirname "$0")
source=$here/../..
for part in heddle heddled examples/mm bench/where tests/sched/policy_bad.so src/shim/libcuda.so.1 \
	src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
export HEDDLE_VGPU="policy-$$"
# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

# Runs the build command in the example's head comment.
build_example() {
	line=$(sed -n 's/^ \*\t\(cc .*\)/\1/p' "$source/examples/policy/halves.c")
	# shellcheck disable=SC2086
	set -- $line
	shift
	(cd "$source/examples/policy" && "${CC:-cc}" -I "$source/include" -Wall -Wextra -Werror \
		"$@" -o "$dir/halves.so") || fail "it does not build: $line"
	chmod 755 "$dir/halves.so"
}

halves() {
	command -v "${CC:-cc}" >/dev/null || {
		echo "skipped: no compiler"
		exit 77
	}
	source=$(cd "$source" && pwd)
	build_example
	two_programs "$dir/halves.so"
	are_halved
	are_split "$(quotas 8 8)" "$(quotas 8 8)" halves
}

# At first the policy has no measurements of the two programs, so each gets blocks in proportion to
# its remaining work: about half, until one ends. The first program runs while the second starts, so
# this computes its share from the progress in heddled's event.
greedy() {
	begin_two greedy
	await 60 grep -q '"event": "shrink"' "$dir/events" || fail "no launch was told to keep fewer blocks"
	grep -m 1 '"event": "shrink"' "$dir/events" |
		sed 's/.*"total": \([0-9]*\), "finished": \([0-9]*\), "sms": \([0-9]*\), "workers": \([0-9]*\),.*/\1 \2 \3 \4/' |
		awk -v sms="$sms" '{
			want = 16 * ($1 - $2) / (2 * $1 - $2)
			off = $4 / sms - want
			printf "%d of %d blocks finished: %g blocks on each SM, by its share %.1f\n", $2, $1, $4 / sms, want
			exit !($3 == sms && off >= -1 && off <= 1)
		}' || fail "the first one was not told to keep its share"
	: >"$dir/one.end"
	await 60 all_for_one || fail "the last one did not get all"
	end_two
}

all_for_one() {
	grep '"event": "grow"' "$dir/events" | grep -q "\"workers\": $((sms * 16)),"
}

are_halved() {
	grep '"event": "shrink"' "$dir/events" | grep -q "\"sms\": $sms, \"workers\": $((sms * 8))," ||
		fail "no launch was told to keep 8 blocks on each of $sms SMs"
}

# quotas EVEN ODD: prints the quota of each SM in turn.
quotas() {
	awk -v n="$sms" -v even="$1" -v odd="$2" 'BEGIN { while (i < n) print (i++ % 2 ? odd : even) }' | tr '\n' ' '
}

# are_split QUOTAS QUOTAS WHAT: fails if a program had more blocks on an SM than its quota there.
are_split() {
	{
		awk '{ print $4, 1, $3, 1; print $5, 1, $3, -1 }' "$dir/one.where"
		awk '{ print $4, 2, $3, 1; print $5, 2, $3, -1 }' "$dir/two.where"
	} | sort -k1,1n -k4,4n >"$dir/moves"
	awk -v one="$1" -v two="$2" -f "$here/split.awk" "$dir/moves" "$dir/moves" || fail "$3: see above"
}

# The second launch arrives when blocks of the first one end, which takes long on a slow machine, so
# the grace period is long.
split_whole() {
	two_programs split high --set grace_us=10000000 --set policy_options=whole=25
	quarter=$((sms / 4))
	one=$(awk -v n="$sms" -v k=$quarter 'BEGIN { while (i < n) print (i++ < k ? 16 : 0) }' | tr '\n' ' ')
	two=$(awk -v n="$sms" -v k=$quarter 'BEGIN { while (i < n) print (i++ < k ? 0 : 16) }' | tr '\n' ' ')
	are_split "$one" "$two" whole=25
}

split_mixed() {
	two_programs split high --set grace_us=10000000 --set policy_options=mixed=75
	are_split "$(quotas 12 4)" "$(quotas 4 12)" mixed=75
}

# begin_two POLICY [PRIORITY OPTION...]: starts two programs that run side by side until
# $dir/one.end and two.end exist; PRIORITY is the first one's.
begin_two() {
	policy=$1 first=${2:-normal}
	[ $# -lt 2 ] || shift
	shift
	start_daemon --policy "$policy" --set min_managed_us=1 "$@"
	# 128 threads per block: an SM of 2048 threads holds 16. Alone, the first program would run
	# for 3 s.
	where_begins "$first" one --threads 128 --blocks 20000 --loops 1 --us 20000 --until "$dir/one.end"
	pids=$started
	sms=$(sed -n 's/ready, \([0-9]*\) SMs/\1/p' "$dir/one.out")
	where_begins normal two --threads 128 --blocks 20000 --loops 1 --us 20000 --until "$dir/two.end"
	pids="$pids $started"
}

end_two() {
	: >"$dir/one.end"
	: >"$dir/two.end"
	for pid in $pids; do wait "$pid" || fail "a program: $?"; done
	pids=
	! grep -q warning "$dir/daemon.log" || fail "heddled found something wrong with it"
}

# two_programs POLICY [PRIORITY OPTION...]: calls begin_two, then waits until each program has
# finished 800 blocks beside the other.
two_programs() {
	begin_two "$@"
	await 60 have_ended 1 two || fail "the second one does not begin"
	for name in one two; do
		before=$(ended $name)
		await 60 have_ended $((${before:-0} + 800)) $name || fail "program $name does not go on"
	done
	end_two
}

# cells NAME: lists the SMs and 5 ms intervals in which blocks of the program started.
cells() {
	awk '{ print $3, int($4 / 5000000) }' "$dir/$1.where" | sort -u >"$dir/$1.cells"
}

moved() {
	cp "$build/tests/sched/policy_bad.so" "$dir/bad.so"
	chmod 755 "$dir/bad.so"
	start_daemon --policy "$dir/bad.so" --set policy_options=move --set min_managed_us=1
	for name in one two; do
		where_begins normal $name --threads 128 --blocks 20000 --loops 1 --us 5000 --until "$dir/moved.end"
		pids="$pids $started"
	done
	for name in one two; do
		before=$(ended $name)
		await 60 have_ended $((${before:-0} + 800)) $name || fail "program $name does not go on"
	done
	await 60 moves_are 20 || fail "too few moves"
	for pid in $pids; do kill -0 "$pid" || fail "they did not run at the same time"; done
	: >"$dir/moved.end"
	for pid in $pids; do wait "$pid" || fail "a program: $?"; done
	pids=
	cells one
	cells two
	one=$(wc -l <"$dir/one.cells")
	two=$(wc -l <"$dir/two.cells")
	both=$(comm -12 "$dir/one.cells" "$dir/two.cells" | wc -l)
	echo "$moves moves; blocks began in $one and $two cells, of both programs in $both"
	if [ $((both * 3)) -ge "$one" ] || [ $((both * 3)) -ge "$two" ]; then
		fail "they are not apart"
	fi
}

moves_are() {
	moves=$(grep -c '"event": "grow"' "$dir/events") && [ "$moves" -ge "$1" ]
}

# gives BLOCKS: from here on the policy gives each kernel this many blocks per SM.
gives() {
	printf '[heddled]\nmin_managed_us = 1\npolicy = %s\npolicy_options = %s\n' "$dir/bad.so" \
		"$1" >"$dir/etc/heddle/heddled.conf"
}

# ended NAME: prints how many blocks of this program have ended, by the program's own count, which
# does not need heddled.
ended() {
	sed -n 's/^\([0-9][0-9]*\) ended$/\1/p' "$dir/$1.out" | tail -n 1
}

have_ended() { # N NAME
	[ "$(ended "$2")" -ge "$1" ]
}

# await_blocks N: waits until program "one" has run four blocks for each of N places on every SM, in
# addition to up to 16 blocks per SM that have started already.
await_blocks() {
	before=$(ended one)
	await 60 have_ended $((${before:-0} + sms * (16 + 4 * $1))) one || fail "the program does not go on"
}

has_workers() {
	grep -q "\"event\": \"$1\", \"tenant\": $2.*\"workers\": $3," "$dir/events"
}

# An SM of 2048 threads holds 16 blocks of 128 threads.
resized() {
	cp "$build/tests/sched/policy_bad.so" "$dir/bad.so"
	chmod 755 "$dir/bad.so"
	mkdir -p "$dir/etc/heddle"
	gives 2
	start_daemon --config-root "$dir"
	# Tenants report their launches to heddled only if there are several tenants, so a second
	# program runs, too.
	where_begins normal beside --threads 32 --blocks 1 --loops 1000 --count 100000 --every-ms 200
	beside=$started
	pids=$beside
	where_begins normal one --threads 128 --blocks 20000 --loops 1 --us 5000 --until "$dir/one.end"
	pids="$pids $started"
	sms=$(sed -n 's/ready, \([0-9]*\) SMs/\1/p' "$dir/one.out")
	await_blocks 2
	for step in "12 grow" "3 shrink" "255 grow"; do
		blocks=${step% *}
		gives "$blocks"
		kill -HUP "$daemon"
		[ "$blocks" != 255 ] || blocks=16
		await 60 has_workers "${step#* }" 2 $((sms * blocks)) || fail "no ${step#* } to $blocks"
		await_blocks "$blocks"
	done
	: >"$dir/one.end"
	wait "$started" || fail "the program: $?"
	kill "$beside"
	pids=
	awk '{ print $4, 1; print $5, -1 }' "$dir/one.where" | sort -n |
		awk -v levels="$((sms * 2)) $((sms * 12)) $((sms * 3))" -f "$here/resized.awk" ||
		fail "sizes: see above"
}

# Prints how many workers found no room in the SM's quota and left at once, and how many ran a
# block. The numbers come from heddled's count of hardware blocks launched (one of which is the
# relay), and from the records of the blocks.
comings() {
	stayed=$(awk '{ print $3, $6, $7 }' "$dir/one.where" | sort -u | wc -l)
	launched=$(sed -n 's/.*"event": "finish", "tenant": 2,.*"hardware_blocks": \([0-9]*\),.*/\1/p' "$dir/events")
	[ -n "$launched" ] || fail "heddled does not say how many hardware blocks it launched"
	left=$((launched - 1 - stayed))
	echo "$stayed workers stayed, $left left at once"
	[ $((left * 2)) -le "$stayed" ] || fail "more than half as many left at once as stayed"
}

# guard_begins POLICY_OPTIONS ARG…: starts a program whose kernel has the guard form, beside a
# program that keeps one block running for the whole time. DEVICE=cuda: on a GPU that no other
# program uses.
guard_begins() {
	device=${DEVICE:-cpu}
	mps=off long="1 --us 4000000000" shape="--blocks 20000 --loops 1 --us 20000 --until $dir/one.end"
	[ "$device" = cpu ] || mps=on long=2000000000 shape='--blocks 500000 --loops 2000000'
	cp "$build/tests/sched/policy_bad.so" "$dir/bad.so"
	chmod 755 "$dir/bad.so"
	mkdir -p "$dir/etc/heddle"
	gives "$1"
	shift
	start_daemon --config-root "$dir" --mps $mps
	# The neighbour makes a single long launch. If it made several, the later ones would arrive
	# when the SMs are full, and would get an SM to themselves.
	# shellcheck disable=SC2086
	where_begins normal beside --threads 32 --blocks 1 --loops ${LONG:-$long}
	beside=$started
	pids=$beside
	# shellcheck disable=SC2086
	where_begins normal one --threads 128 "$@" ${SHAPE:-$shape}
	pids="$pids $started"
	sms=$(sed -n 's/ready, \([0-9]*\) SMs/\1/p' "$dir/one.out")
}

drains() {
	grep '"event": "drained", "tenant": 2,' "$dir/events" || :
}

has_left_again() {
	[ "$(drains | wc -l)" -gt "$left" ]
}

# stays BLOCKS: waits until that many blocks per SM have run for a while. On a GPU, where blocks are
# short, it waits as long as four drains, each of which takes as long as a block, but at least a
# second.
stays() {
	if [ "$device" = cpu ]; then
		[ "$1" = 0 ] || await_blocks "$1"
		return
	fi
	sleep "$(drains | awk '
		match($0, /"handover_ns": [0-9]+/) { ns = substr($0, RSTART + 15, RLENGTH - 15) }
		END { s = 4 * ns / 1e9; print (s > 1 ? s : 1) }')"
}

# guard_gets BLOCKS [EVENT]: makes the policy give the launch that many blocks per SM. heddled must
# log EVENT, and unless EVENT is a grant, the blocks of the launch must leave.
guard_gets() {
	left=$(drains | wc -l)
	gives "unranked=$1"
	kill -HUP "$daemon"
	[ $# = 1 ] || await 60 has_workers "$2" 2 $((sms * $1)) || fail "no $2 to $1"
	case ${2:-grant} in
	grant) ;;
	*) await 60 has_left_again || fail "it does not leave after $2 to $1" ;;
	esac
	stays "$1"
}

# guard_ends SIZES: ends the program. Between its drains, its launch must have had these numbers of
# blocks on each SM.
guard_ends() {
	: >"$dir/one.end"
	wait "$started" || fail "the program: $?"
	[ "$device" != cpu ] || kill "$beside"
	wait "$beside" 2>/dev/null || [ "$device" = cpu ] || fail "the program beside it: $?"
	pids=
	# The drains' times by the device's clock, which the blocks record, too (CLOCK_WRAP in
	# bench/where.c).
	drains=$(drains | sed -n 's/.*"device_drained_ns": [0-9]*\([0-9]\{15\}\),.*/\1/p' | tr '\n' ' ')
	[ -n "$1" ] || return 0
	took=$(drains | sed -n 's/.*"handover_ns": \([0-9]*\),.*/\1/p' | tr '\n' ' ')
	awk '{ print $4, $3, 1; print $5, $3, -1 }' "$dir/one.where" | sort -k1,1n -k3,3n >"$dir/one.moves"
	awk -v sms="$sms" -v sizes="$1" -v drains="$drains" -v took="$took" -f "$here/guard.awk" "$dir/one.moves" ||
		fail "sizes: see above"
}

# An SM of 2048 threads holds 16 blocks of 128 threads.
guard() {
	guard_begins unranked=16 --guard 1
	stays 16
	guard_gets 4 shrink
	guard_gets 8 grow
	guard_gets 0 preempt
	guard_gets 16 grant
	guard_ends "16 4 8 16"
}

# heddled dies while it limits the launch to 4 blocks per SM. The launch must then get all blocks
# that fit.
orphan() {
	guard_begins unranked=16 --guard 1
	stays 16
	guard_gets 4 shrink
	kill -9 "$daemon"
	wait "$daemon" 2>/dev/null || :
	daemon=
	stays 16
	guard_ends ""
	awk '{ print $4, $3, 1; print $5, $3, -1 }' "$dir/one.where" | sort -k1,1n -k3,3n |
		awk '{ there[$2] += $3 } there[$2] == 16 { last = NR } END { exit last < NR * 0.9 }' ||
		fail "it did not get all"
}

# The kernel reads the size of its shared memory, so heddle cannot add shared memory to limit the
# blocks on an SM. The launch gets no blocks or as many as fit. (On an H100 four fit: the barrier's
# number is in a register, so each block takes all 16 barriers.)
asks() {
	[ "${DEVICE:-cpu}" = cpu ] || : "${SHAPE:=--blocks 125000 --loops 2000000}"
	guard_begins unranked=16 --asks 1
	await 60 grep -q '"event": "submit", "tenant": 2,' "$dir/events" || fail "heddled saw no launch"
	most=$(sed -n 's/.*"event": "submit", "tenant": 2,.*"blocks_per_sm": \([0-9]*\),.*/\1/p' "$dir/events")
	stays "$most"
	guard_gets $((most / 4))
	guard_gets 0 preempt
	guard_gets "$most" grant
	guard_ends "$most $most"
	grep '"event": "submit", "tenant": 2,' "$dir/events" | grep -q '"guard": true, "counts": \[\]' ||
		fail "heddled does not know that it has no other count"
	! grep -qE '"event": "(shrink|grow)", "tenant": 2,' "$dir/events" || fail "it was told a count"
}

# The number of blocks per SM changes every few ms, so the launch leaves again and again but must
# make progress. It must leave at least LEAVES times. If heddled waited for a launch that has
# already left, it would leave only a few times.
restless() {
	leaves=${LEAVES:-15}
	[ "${DEVICE:-cpu}" = cpu ] || leaves=${LEAVES:-5}
	[ "${DEVICE:-cpu}" != cpu ] || SHAPE="--blocks 7000 --loops 1 --us 2000 --until $dir/one.end"
	guard_begins "sizes=${STEP:-5}" --guard 1
	[ "$device" != cpu ] || await 30 has_left_times "$leaves" || fail "it left $(drains | wc -l) times, and no more"
	guard_ends ""
	# shellcheck disable=SC2086
	set -- $drains
	echo "left $# times"
	[ $# -ge "$leaves" ] || fail "too few times"
}

has_left_times() {
	[ "$(drains | wc -l)" -ge "$1" ]
}

# Runs on a GPU that no other program uses if DEVICE=cuda. STEP: ms between changes of the size.
exact() {
	device=${DEVICE:-cpu}
	step=500 mps=off shape='--blocks 90000 --loops 3000'
	[ "$device" = cpu ] || step=100 mps=on shape='--blocks 1000000 --loops 1000000'
	step=${STEP:-$step}
	cp "$build/tests/sched/policy_bad.so" "$dir/bad.so"
	chmod 755 "$dir/bad.so"
	# Each growth of the launch needs a stream of its own, and so a hardware channel, until the
	# workers launched for it have left.
	export CUDA_DEVICE_MAX_CONNECTIONS=32
	start_daemon --policy "$dir/bad.so" --set "policy_options=sizes=$step" --set min_managed_us=1 --mps $mps
	# Tenants report their launches to heddled only if there are several tenants, so a second
	# program runs, too.
	where_begins normal beside --threads 32 --blocks 1 --loops 1000 --count 100000 --every-ms 2000
	beside=$started
	pids=$beside
	# shellcheck disable=SC2086
	where_begins normal one --threads 128 ${SHAPE:-$shape}
	pids="$pids $started"
	wait "$started" || fail "the program: $?"
	kill "$beside"
	pids=
	resizes=$(grep -cE '"event": "(grow|shrink)", "tenant": 2,' "$dir/events" || :)
	echo "$resizes resizes"
	comings
	unnoticed=$(awk -F '[ ,]+' -f "$here/unnoticed.awk" "$dir/events")
	echo "$unnoticed times it grew before a shrink was noticed"
	# A GPU's blocks are so short that most shrinks are noticed at once.
	[ "$unnoticed" -ge 10 ] || [ "$device" != cpu ] || fail "it seldom grew before a shrink was noticed"
	[ "$resizes" -ge "${RESIZES:-100}" ] || fail "too few resizes"
	awk '{ print $4, $3, 1; print $5, $3, -1 }' "$dir/one.where" | sort -k1,1n -k3,3n >"$dir/one.moves"
	awk -v sizes="2 12 3 16 1 8" -v step="$((step * 1000000))" -f "$here/exact.awk" "$dir/one.moves" \
		"$dir/one.moves" || fail "sizes: see above"
}

# A program is killed right after it got more blocks on each SM, with and without taking them from
# the other program, which must continue.
dies() {
	cp "$build/tests/sched/policy_bad.so" "$dir/bad.so"
	chmod 755 "$dir/bad.so"
	start_daemon --policy "$dir/bad.so" --set policy_options=sizes=300 --set min_managed_us=1
	where_begins normal beside --threads 128 --blocks 100 --loops 3000 --count 100000
	beside=$started
	pids=$beside
	for tenant in 2 3 4 5; do
		where_begins normal one --threads 128 --blocks 60000 --loops 3000
		pids="$beside $started"
		await 60 has_grown "$tenant" || fail "tenant $tenant does not grow"
		kill -9 "$started"
		wait "$started" 2>/dev/null || :
		await 60 grep -q "tenant $tenant leaves: where.*; it ended with launches unfinished" "$dir/daemon.log" ||
			fail "heddled does not say that tenant $tenant died"
		finished=$(finishes)
		await 60 goes_on || fail "the other program stands still after tenant $tenant died"
	done
	kill "$beside"
	wait "$beside" 2>/dev/null || :
	pids=
	await 60 no_tenants || fail "a tenant is left"
	! grep -q 'illegal transition' "$dir/daemon.log" || fail "heddled found something wrong"
}

has_grown() {
	grep -q "\"event\": \"grow\", \"tenant\": $1," "$dir/events"
}

no_tenants() {
	[ "$("$heddle" ps)" = "no tenants" ]
}

finishes() {
	grep -c '"event": "finish", "tenant": 1,' "$dir/events" || :
}

goes_on() {
	[ "$(finishes)" -gt $((finished + 2)) ]
}

# Of three programs, only two fit on an SM together. heddled reports this, and the third program
# waits.
nowhere() {
	start_daemon --policy greedy --set min_managed_us=1
	for name in one two three; do
		where_begins normal $name --threads 128 --shared 100000 --blocks 20000 --loops 1 --us 5000 --until "$dir/end"
		pids="$pids $started"
	done
	await 60 grep -q 'policy greedy: a block of 128 threads.* does not fit on an SM beside one block of each other launch' \
		"$dir/daemon.log" || fail "heddled does not say that they do not fit: $(cat "$dir/daemon.log")"
	sms=$(sed -n 's/ready, \([0-9]*\) SMs/\1/p' "$dir/one.out")
	await_blocks 1
	: >"$dir/end"
	for pid in $pids; do wait "$pid" || fail "a program: $?"; done
	pids=
	cat "$dir/daemon.log"
	[ "$(grep -c warning "$dir/daemon.log")" = 1 ] || fail "it says more than that, or again"
}

hangs() {
	cp "$build/tests/sched/policy_bad.so" "$dir/bad.so"
	chmod 755 "$dir/bad.so"
	start_daemon --policy none
	for name in one two; do
		# shellcheck disable=SC2086
		run normal $name mm $large --check each --until "$dir/end"
		pids="$pids $started"
		await 60 grep -q '"round":0' "$dir/$name.out" || fail "$name does not begin"
	done
	kill "$daemon"
	wait "$daemon" || fail "heddled: $?"
	"$heddled" --config-root /nonexistent --socket "$HEDDLE_SOCKET" --policy "$dir/bad.so" \
		--set policy_options=hang 2>"$dir/daemon.log" &
	daemon=$!
	status=0
	wait "$daemon" || status=$?
	daemon=
	[ "$status" = 1 ] || fail "heddled ended with $status"
	grep -q 'policy bad: decide has not returned' "$dir/daemon.log" || fail "it does not say why"
	# No launch waits any more.
	for name in one two; do
		rounds=$(wc -l <"$dir/$name.out")
		await 60 awk -v n="$rounds" 'END { exit NR <= n }' "$dir/$name.out" ||
			fail "$name stands still"
	done
	start_daemon --policy "$dir/bad.so"
	grep -q 'an earlier heddled ended in its decide while this policy was loaded' "$dir/daemon.log" ||
		fail "the next heddled does not say that it does without the policy"
	await 60 two_tenants || fail "the programs do not come back"
	: >"$dir/end"
	for pid in $pids; do wait "$pid" || fail "a program: $?"; done
	pids=
	for name in one two; do passed "$name" || fail "$name: wrong result"; done
}

two_tenants() {
	"$heddle" status --json | grep -q '"tenants": 2'
}

"$what"
echo passed
