#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: merged.sh HEDDLE GEN FIRST COUNT
# Runs COUNT pairs of random programs as one launch, merged, fused and woven, on DEVICE (default:
# cpu), and compares each with the program alone. The programs are those from seed FIRST on that
# can be managed. Each pair runs in one way and one mode of the virtual GPU; the pairs cycle
# through all ways and modes. EVERY=1: each pair runs in every way. The verifier checks each
# result, too (pass/verify/verify.h). PART=k/n: every n-th pair from the k-th on. LIMIT: timeout of
# a run in seconds (default: 60); JOBS: runs at a time (default: 2). The script names a failure's
# seeds; KEEP: folder for its files.
set -eu
heddle=$1
gen=$2
seed=$3
count=$4
jobs=${JOBS:-2} device=${DEVICE:-cpu} part=${PART:-1/1} limit=${LIMIT:-60}
exec=$(cd "$(dirname "$0")/../exec" && pwd)
# shellcheck source=tests/exec/corun.sh
. "$exec/corun.sh"
# Without this bound, a large GPU's workers would claim all blocks of such small grids at once.
bound=
[ "$device" = cpu ] || bound=' --total-workers 4'
work=$(mktemp -d)
name=merged-$$
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-$name"-*' EXIT INT TERM

# programs N: generates the next N programs, and writes those that can be managed to $work/workers,
# as "SEED SPECIFICATION".
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

# way N [WAY]: sets $options and $mode for the N-th pair.
ways=14
way() {
	case ${2:-$(($1 % ways))} in
	0) options="--schedule steal$bound" ;;
	1) options="--schedule partition=1:3$bound --yield-every 2" ;;
	2) options="--schedule mixed --help-others" ;;
	3) options="--schedule apart --yield-every 3" ;;
	4) options="--schedule steal --total-workers 2 --yield-every 2 --chunk 2" ;;
	5) options="--how vertical" ;;
	6) options="--how horizontal" ;;
	7) options="--schedule steal:shared$bound" ;;
	8) options="--schedule steal:shared --own 1 --yield-every 3 --total-workers 3" ;;
	9) options="--schedule apart --own 2 --yield-every 2" ;;
	10) options="--schedule mixed --own 1 --chunk 2" ;;
	11) options="--how weave" ;;
	12) options="--how weave --branches" ;;
	13) options="--how weave --unsliced" ;;
	esac
	case $((($1 / ways + ${2:-0}) % 4)) in
	0) mode=sms=4 ;;
	1) mode=serial ;;
	2) mode=converge=postdom ;;
	3) mode=turns=$1 ;;
	esac
}

# once N WAY SEED SPECIFICATION SEED SPECIFICATION: runs a pair once, and writes a line to
# $work/result.N.WAY.
once() {
	way "$1" "$2"
	export HEDDLE_VGPU="$name-$(($1 % jobs)),$mode"
	corun "$work/run.$1" "$options" "$4 + $6"
	verdict=$corun_verdict
	case $verdict in FAIL | hang)
		verdict="FAIL seeds $3 $5, HEDDLE_VGPU=$mode $options: $corun_said"
		[ -z "${KEEP-}" ] || { mkdir -p "$KEEP" && cp "$work/$3.ptx" "$work/$5.ptx" "$KEEP/"; }
		;;
	esac
	echo "$verdict" >"$work/result.$1.$2"
}

# run N SEED SPECIFICATION SEED SPECIFICATION: runs a pair in one way, or in every way.
run() {
	n=$1
	shift
	if [ -n "${EVERY-}" ]; then
		for i in $(seq 0 $((ways - 1))); do once "$n" "$i" "$@"; done
	else
		once "$n" "$((n % ways))" "$@"
	fi
	rm -f "$work/run.$n".* "$work/$1.ptx" "$work/$3.ptx"
}

pairs=0 taken=0
: >"$work/results"
while [ "$pairs" -lt "$count" ]; do
	: >"$work/workers"
	left=$((count - pairs))
	programs $((left < 40 ? left * 3 + 4 : 120))
	while [ "$pairs" -lt "$count" ] && read -r first spec && read -r second other; do
		[ $((pairs % ${part#*/} + 1)) = "${part%/*}" ] || {
			pairs=$((pairs + 1))
			continue
		}
		taken=$((taken + 1))
		run "$pairs" "$first" "$spec" "$second" "$other" </dev/null &
		pairs=$((pairs + 1))
		[ $((taken % jobs)) -ne 0 ] || wait
	done <"$work/workers"
	wait
	cat "$work"/result.* >>"$work/results" 2>/dev/null || :
	rm -f "$work"/result.* "$work"/*.ptx
done
grep '^FAIL' "$work/results" || :
ok=$(grep -c '^ok' "$work/results" || :)
bad=$(grep -c '^FAIL' "$work/results" || :)
echo "$ok ${EVERY:+runs of $taken }pairs the same, $bad not, $(grep -c '^refused' "$work/results" || :) refused"
[ "$bad" -eq 0 ] && [ "$ok" -gt $((taken / 2)) ]
