#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# merged.sh HEDDLE GEN FIRST COUNT
# COUNT pairs of random programs as one launch, merged and fused, on the virtual GPU, compared with each
# of them alone; from seed FIRST on, those programs that can be workers. LIMIT: seconds that a run may
# take (60). What fails is named with its seeds; KEEP: a folder for its files.
set -eu
heddle=$1
gen=$2
seed=$3
count=$4
work=$(mktemp -d)
name=merged-$$
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-$name"' EXIT INT TERM
ok=0 bad=0 refused=0
refusals='cannot be merged|may wait for each other|would have no worker|no block of them fits'

# next: the next program that can be a worker goes to $work/SEED.ptx, its specification to $spec.
next() {
	while :; do
		file=$work/$seed.ptx
		"$gen" --print --first "$seed" --count 1 >"$file"
		of=$seed
		seed=$((seed + 1))
		"$heddle" ptx check "$file" | grep -q ': managed$' && break
		rm "$file"
	done
	spec=$(sed -n '1s|^// heddle exec ||p' "$file" | sed -E "s|--as preempt||; s|--pull-ahead||; s|'||g; s|FILE|$file|
		s/--(chunk|yield-every|workers) [0-9]+//g; s/>[a-z]+//g")
}

pairs=0
while [ "$pairs" -lt "$count" ]; do
	case $((pairs % 7)) in
	0) options="--schedule steal" ;;
	1) options="--schedule partition=1:3 --yield-every 2" ;;
	2) options="--schedule mixed --help-others" ;;
	3) options="--schedule apart --yield-every 3" ;;
	4) options="--schedule steal --workers 2 --yield-every 2 --chunk 2" ;;
	5) options="--how vertical" ;;
	6) options="--how horizontal" ;;
	esac
	case $((pairs % 4)) in
	0) mode=sms=4 ;;
	1) mode=serial ;;
	2) mode=converge=postdom ;;
	3) mode=turns=$pairs ;;
	esac
	pairs=$((pairs + 1))
	next
	first=$spec seeds=$of
	next
	status=0
	set -f
	# shellcheck disable=SC2086
	HEDDLE_VGPU=$name,$mode timeout -k 5 "${LIMIT:-60}" "$heddle" corun --json --device cpu --check \
		$options -- $first + $spec >"$work/out" 2>"$work/err" || status=$?
	set +f
	if [ $status = 0 ]; then
		ok=$((ok + 1))
	elif [ $status = 1 ] && grep -qE "$refusals" "$work/err" "$work/out"; then
		refused=$((refused + 1))
	else
		bad=$((bad + 1))
		said=$(cat "$work/err" "$work/out" | grep -E ' error: |"error": ' | head -n 2 | tr '\n' ' ') || :
		echo "FAIL seeds $seeds $of, HEDDLE_VGPU=$mode $options: $status $said"
		[ -z "${KEEP-}" ] || cp "$work/$seeds.ptx" "$work/$of.ptx" "$KEEP/"
	fi
	rm -f "$work"/*.ptx
done
echo "$ok pairs the same, $bad not, $refused refused"
[ $bad = 0 ] && [ $ok -gt $((count / 2)) ]
