#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Runs pairs of kernels as one launch, merged and fused, and compares memory with each kernel
# alone, to the last bit.
#   merge.sh HEDDLE LIST DEVICE paper|forms|leaving|woven [sample]
# LIST: kernels/list.txt of a build.
# - paper: each pair of the merging paper's kernels in three shapes, each kernel alone, and up to
#   eight kernels together.
# - forms: every kernel of the list with another one. paper and forms run with each set of options
#   in $work/schedules (below); on the virtual GPU also in each of MODES (settings of HEDDLE_VGPU).
# - leaving: kernels that can be fused but not merged, since their threads exit early or leave
#   state behind; each runs as the first and as the second of a pair.
# - woven: every kernel of the list woven with others, as the first and as the second, by GoPTX's
#   rules and with whole basic blocks.
# - sample: only a part, in turn for each pair (paper: one shape of every other pair; forms: every
#   fifth kernel; leaving: one partner of each kernel; woven: every third kernel with one partner).
# LIMIT: timeout of a run in seconds (default: 60); JOBS: runs at a time (default: 2). Kernels that
# cannot be merged, or not in this order, must be refused; the script counts them.
set -eu
heddle=$1
list=$2
device=$3
what=$4
sample=${5-}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$list")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-merge-$$"-*' EXIT INT TERM
limit=${LIMIT:-60} exec=$here
# shellcheck source=tests/exec/corun.sh
. "$here/corun.sh"
# shellcheck source=tests/exec/form.sh
. "$here/form.sh"
jobs=${JOBS:-2}
modes=${MODES-"sms=8 serial converge=postdom"}
bound=
# Without this bound, a large GPU's workers would claim all blocks of such small grids at once.
[ "$device" = cpu ] || modes=- bound="--total-workers 4"
tab=$(printf '\t')

cat >"$work/schedules" <<'END'
--schedule steal
--schedule partition=1:1
--schedule partition=1:3
--schedule mixed
--schedule apart
--schedule steal --yield-every 3
--schedule partition=1:3 --yield-every 5 --help-others
--schedule mixed=2:1 --yield-every 4 --chunk 2
--schedule apart=3:1 --yield-every 2
--schedule steal --chunk 3 --total-workers 2
--schedule steal:shared
--schedule steal:shared --own 1 --yield-every 3
--schedule mixed --own 2
--schedule apart=1:2 --own 1 --yield-every 2
--schedule steal --own 2 --chunk 2
--how vertical
--how horizontal
--how weave
END
for mode in $modes; do
	sed -E "s/^/$mode /; s/(steal(:shared)?|partition=[0-9:]*)/& $bound/" "$work/schedules"
done >"$work/ways"
ways=$(wc -l <"$work/ways")

for toolchain in nvcc clang; do
	grep "^kernels/$toolchain/" "$list" | grep -v 'sm_90\.ptx' | grep -v "$tab-\$" >"$work/all" || continue
	break
done
[ -s "$work/all" ] || {
	echo "skipped: no kernels (no compiler here)"
	exit 77
}

# run NUMBER MODE OPTIONS WORDS: writes one line to $work/result.NUMBER.
run() {
	id=$1 mode=$2 words=$4
	seldom "$3" "$4"
	options=$form_options
	# Each job gets a virtual GPU of its own: with other jobs on its SMs, a launch could not
	# place the workers that its schedule counts on.
	export HEDDLE_VGPU="merge-$$-$((id % jobs)),$mode"
	case $words in
	*" + "*) ;;
	# --own gives a kernel a launch beside the merged one; a kernel alone needs none
	*) options=$(echo "$options" | sed 's/--own [0-9]*//') ;;
	esac
	corun "$work/$id" "$options" "$words"
	[ "$corun_verdict" != hang ] || corun_verdict=FAIL
	report "$work/$id.out"
	echo "$corun_verdict $mode $options ($launches launches) $words: $corun_said" >"$work/result.$id"
}

id=0 turn=0
# in_ways WORDS [EQUAL]: runs the kernels in each way that $work/ways lists (a mode of the virtual
# GPU and options of heddle corun). With sample, in one way, another one for each call. EQUAL: the
# kernels get equal shares.
in_ways() {
	if [ -n "$sample" ]; then
		sed -n "$((id * 7 % ways + 1))p" "$work/ways"
	else
		cat "$work/ways"
	fi >"$work/now"
	[ -z "${2-}" ] || sed -i -E 's/(partition|mixed|apart)=[0-9:]*/\1/' "$work/now"
	while read -r mode options <&3; do
		id=$((id + 1))
		run $id "$mode" "$options" "$1" &
		[ $((id % jobs)) -ne 0 ] || wait
	done 3<"$work/now"
}

# words FILE N: prints the specification in line N.
words() {
	sed -n "$2p" "$1" | while IFS=$tab read -r file kernel toolchain rest; do
		echo "$root/$file $kernel $rest"
	done
}

paper() {
	some=
	for kernel in va bitonic_tile bitonic_step msort_tile msort_pass kmeans transpose blackscholes histogram; do
		grep "$tab$kernel$tab" "$work/all" | head -n 3 >"$work/of.$kernel"
		for other in "$work"/of.*; do
			shapes="1 2 3" turn=$((turn + 1))
			[ -z "$sample" ] || shapes=$((turn / 2 % 3 + 1))
			[ -z "$sample" ] || [ $((turn % 2)) -eq 0 ] || continue
			for shape in $shapes; do
				in_ways "$(words "$work/of.$kernel" "$shape") + $(words "$other" "$shape")"
			done
		done
		in_ways "$(words "$work/of.$kernel" 1)" equal
		some="${some:+$some + }$(words "$work/of.$kernel" 2)"
		case $kernel in msort* | trans* | blacks*) in_ways "$some" equal ;; esac
	done
}

forms() {
	n=$(wc -l <"$work/all")
	# Pairs each kernel (with sample: every fifth one) with the kernel 11 lines below it.
	for line in $(seq 1 $((${#sample} ? 5 : 1)) "$n"); do
		in_ways "$(words "$work/all" "$line") + $(words "$work/all" $(((line + 10) % n + 1)))"
	done
}

# fused HOW KERNEL...: fuses each kernel with each of three partners, in both orders.
fused() {
	# shellcheck disable=SC2086
	printf '%s\n' $modes | sed "s/\$/ --how $1/" >"$work/ways"
	ways=$(wc -l <"$work/ways")
	shift
	for kernel; do
		line=$(grep -n "$tab$kernel$tab" "$work/all" | head -n 1 | cut -d: -f1)
		for other in va er_barrier bar_reduce; do
			turn=$((turn + 1)) # with sample: one partner for each kernel, in turn
			[ -z "$sample" ] || [ $((turn % 3)) -eq $((turn / 3 % 3)) ] || continue
			with=$(grep -n "$tab$other$tab" "$work/all" | head -n 1 | cut -d: -f1)
			if [ -z "$line" ] || [ -z "$with" ]; then continue; fi
			in_ways "$(words "$work/all" "$line") + $(words "$work/all" "$with")"
			in_ways "$(words "$work/all" "$with") + $(words "$work/all" "$line")"
		done
	done
}

leaving() {
	all='alike_layer alike_stayers_go alike_stayers_uneven bar_producer callee_spin_vote warp_partial'
	# shellcheck disable=SC2086
	{
		fused vertical $all bar_register er_exit_callee pt_callee
		fused horizontal $all
	}
}

# Weaves each kernel with partners that have guards, barriers, both, warp operations, and loops.
woven() {
	# shellcheck disable=SC2086
	printf '%s --how weave\n' $modes >"$work/ways"
	# shellcheck disable=SC2086
	[ -n "$sample" ] || printf '%s --how weave --unsliced\n' $modes >>"$work/ways"
	ways=$(wc -l <"$work/ways")
	awk -F"$tab" '!seen[$2]++' "$work/all" | tee "$work/first" >"$work/list"
	line=0
	while IFS=$tab read -r _ kernel _ <&4; do
		line=$((line + 1))
		partner=0
		for other in va bitonic_tile er_barrier warp_shuffles spmv; do
			partner=$((partner + 1))
			[ -z "$sample" ] || [ $((line % 15)) -eq $((partner * 3)) ] || continue
			with=$(grep -n "$tab$other$tab" "$work/list" | cut -d: -f1)
			in_ways "$(words "$work/list" "$line") + $(words "$work/list" "$with")"
			[ "$kernel" = "$other" ] || [ -n "$sample" ] ||
				in_ways "$(words "$work/list" "$with") + $(words "$work/list" "$line")"
		done
	done 4<"$work/first"
}

"$what"
wait
cat "$work"/result.* >"$work/results"
[ -z "${VERBOSE-}" ] || cat "$work/results"
grep '^FAIL' "$work/results" || :
ok=$(grep -c '^ok' "$work/results" || :)
bad=$(grep -c '^FAIL' "$work/results" || :)
again=$(grep -cE '^ok.*\(([2-9]|[0-9]{2,}) launches\)' "$work/results" || :)
echo "$ok runs the same, $bad not, $(grep -c '^refused' "$work/results" || :) refused; $again resumed"
case $what in
leaving) [ "$bad" -eq 0 ] && [ "$ok" -eq "$id" ] ;;
woven) [ "$bad" -eq 0 ] && [ "$ok" -gt $((id * 3 / 4)) ] ;;
# A GPU finishes most of these small grids before the host's preempting word arrives, so there it
# is enough if some were resumed.
*) [ "$bad" -eq 0 ] && [ "$ok" -gt $((id * 3 / 4)) ] && [ "$again" -gt "$([ "$device" = cpu ] && echo $((ok / 8)) || echo 0)" ] ;;
esac
