#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# merged.sh HEDDLE GEN FIRST COUNT
# COUNT pairs of random programs as one launch, merged and fused, on the virtual GPU, compared with each
# of them alone; from seed FIRST on, those programs that can be workers. Each pair in one way and one mode
# of the virtual GPU, which go through all of both; what is made of it is verified, too (pass/verify.h).
# LIMIT: seconds that a run may take (60); JOBS: runs at a time (2). What fails is named with its seeds;
# KEEP: a folder for its files.
set -eu
heddle=$1
gen=$2
seed=$3
count=$4
jobs=${JOBS:-2}
work=$(mktemp -d)
name=merged-$$
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-$name"-*' EXIT INT TERM
refusals='cannot be merged|may wait for each other|would have no worker|no block of them fits'

# programs N: the next N; those that can be workers to $work/workers, "SEED SPECIFICATION".
programs() {
	files=
	for _ in $(seq "$1"); do
		"$gen" --print --first "$seed" --count 1 >"$work/$seed.ptx"
		files="$files $work/$seed.ptx"
		seed=$((seed + 1))
	done
	# shellcheck disable=SC2086
	"$heddle" ptx check $files 2>"$work/check.err" | sed -n 's|^\(.*\)/\([0-9]*\)\.ptx:.*: managed$|\2|p' |
		while read -r of; do
			sed -n '1s|^// heddle exec ||p' "$work/$of.ptx" | sed -E "s|--as preempt||; s|--pull-ahead||; s|'||g
				s|FILE|$work/$of.ptx|; s/--(chunk|yield-every|workers) [0-9]+//g; s/>[a-z]+//g; s|^|$of |"
		done >>"$work/workers"
}

# way N [WAY]: the N-th pair's $options and $mode.
ways=12
way() {
	case ${2:-$(($1 % ways))} in
	0) options="--schedule steal" ;;
	1) options="--schedule partition=1:3 --yield-every 2" ;;
	2) options="--schedule mixed --help-others" ;;
	3) options="--schedule apart --yield-every 3" ;;
	4) options="--schedule steal --workers 2 --yield-every 2 --chunk 2" ;;
	5) options="--how vertical" ;;
	6) options="--how horizontal" ;;
	7) options="--schedule steal:shared" ;;
	8) options="--schedule steal:shared --own 1 --yield-every 3 --workers 3" ;;
	9) options="--schedule apart --own 2 --yield-every 2" ;;
	10) options="--schedule mixed --own 1 --chunk 2" ;;
	11) options="--how weave" ;;
	esac
	case $((($1 / ways + ${2:-0}) % 4)) in
	0) mode=sms=4 ;;
	1) mode=serial ;;
	2) mode=converge=postdom ;;
	3) mode=turns=$1 ;;
	esac
}

# once N WAY SEED SPECIFICATION SEED SPECIFICATION: a line to $work/result.N.WAY.
once() {
	way "$1" "$2"
	status=0
	set -f
	# shellcheck disable=SC2086
	HEDDLE_VGPU=$name-$(($1 % jobs)),$mode timeout -k 5 "${LIMIT:-60}" "$heddle" corun --json --device cpu \
		--check $options -- $4 + $6 >"$work/$1.out" 2>"$work/$1.err" || status=$?
	set +f
	if [ $status = 0 ]; then
		verdict=ok
	elif [ $status = 1 ] && grep -qE "$refusals" "$work/$1.err" "$work/$1.out"; then
		verdict=refused
	else
		said=$(cat "$work/$1.err" "$work/$1.out" | grep -E ' error: |"error": ' | head -n 2 | tr '\n' ' ') || :
		verdict="FAIL seeds $3 $5, HEDDLE_VGPU=$mode $options: $status $said"
		[ -z "${KEEP-}" ] || cp "$work/$3.ptx" "$work/$5.ptx" "$KEEP/"
	fi
	echo "$verdict" >"$work/result.$1.$2"
}

# run N SEED SPECIFICATION SEED SPECIFICATION
run() {
	n=$1
	shift
	if [ -n "${EVERY-}" ]; then
		for i in $(seq 0 $((ways - 1))); do once "$n" "$i" "$@"; done
	else
		once "$n" "$((n % ways))" "$@"
	fi
	rm -f "$work/$n".* "$work/$1.ptx" "$work/$3.ptx"
}

pairs=0
: >"$work/results"
while [ "$pairs" -lt "$count" ]; do
	: >"$work/workers"
	left=$((count - pairs))
	programs $((left < 40 ? left * 3 + 4 : 120))
	while [ "$pairs" -lt "$count" ] && read -r first spec && read -r second other; do
		run "$pairs" "$first" "$spec" "$second" "$other" </dev/null &
		pairs=$((pairs + 1))
		[ $((pairs % jobs)) -ne 0 ] || wait
	done <"$work/workers"
	wait
	cat "$work"/result.* >>"$work/results"
	rm -f "$work"/result.* "$work"/*.ptx
done
grep '^FAIL' "$work/results" || :
ok=$(grep -c '^ok' "$work/results" || :)
bad=$(grep -c '^FAIL' "$work/results" || :)
echo "$ok ${EVERY:+runs of $pairs }pairs the same, $bad not, $(grep -c '^refused' "$work/results" || :) refused"
[ "$bad" -eq 0 ] && [ "$ok" -gt $((count / 2)) ]
