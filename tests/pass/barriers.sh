#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: barriers.sh HEDDLE LIST GEN papers|few|seeded
# An SM of Hopper has 64 hardware barriers for all its blocks, and a block occupies as many as its
# highest barrier number plus one. In a form of two kernels, the highest number may therefore be at
# most two above the larger of the kernels' numbers. Kernels: the pairs of KernelMerge (seven
# kernels, also each with itself) and of GoPTX (eight kernels), from a list (kernels/list.txt of a
# build), and pairs of random programs, 100 or a few; merged and fused vertically. With ptxas
# (PTXAS, or the one on the PATH) and papers or seeded, the same holds for ptxas's report "used N
# barriers".
set -eu
heddle=$1
list=$2
gen=$3
mode=$4
root=$(cd "$(dirname "$list")/.." && pwd)
ptxas=${PTXAS:-$(command -v ptxas || :)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tab=$(printf '\t')
bad=0 n=0 asked=0

# highest FILE [KERNEL]: prints the highest barrier number in it; a number in a register counts as
# 15.
highest() {
	awk -v kernel="${2:-}" '
		kernel != "" && /\.entry/ { on = $0 ~ (" " kernel "[ (]*$") || $0 ~ (" " kernel "\\(") }
		kernel != "" && !on { next }
		{ gsub(/;/, "") }
		/(^|[ \t])(bar|barrier)(\.cta)?\.(sync|arrive|red)/ {
			for (i = 1; i <= NF; i++)
				if ($i ~ /^(bar|barrier)\./) {
					at = i + 1
					if ($i ~ /\.red/) at = i + 2
					v = $at
					sub(/,.*/, "", v)
					if (v ~ /^[0-9]+$/) { if (v + 0 > most) most = v + 0 } else if (v ~ /^%/) most = 15
				}
		}
		END { print most + 0 }' "$1"
}

# used FILE: prints the most barriers of any entry, as ptxas reports.
used() {
	"$ptxas" -v -arch=sm_90 -o /dev/null "$1" 2>&1 | sed -n 's/.* used \([0-9]*\) barriers.*/\1/p' | sort -n | tail -n 1
}

most() {
	if [ "$1" -gt "$2" ]; then echo "$1"; else echo "$2"; fi
}

# pair NAME FILE_A KERNEL_A "WORDS_A" FILE_B KERNEL_B "WORDS_B": checks both forms of one pair.
pair() {
	name=$1 a=$2 ka=$3 wa=$4 b=$5 kb=$6 wb=$7
	of=$(most "$(highest "$a" "$ka")" "$(highest "$b" "$kb")")
	for verb in merge fuse-vertical; do
		set -f
		# shellcheck disable=SC2086
		"$heddle" ptx $verb -- "$a" "$ka" $wa + "$b" "$kb" $wb >"$work/form" 2>"$work/err" || {
			set +f
			continue # merge_classify.sh tests which kernels cannot be merged
		}
		set +f
		n=$((n + 1))
		is=$(highest "$work/form")
		[ "$is" -le $((of + 2)) ] || {
			echo "$name, $verb: barrier $is, and the kernels have $of"
			bad=1
		}
		if [ -z "$ptxas" ] || [ "$mode" = few ]; then continue; fi
		is=$(used "$work/form")
		asked=$((asked + 1))
		[ "${is:-0}" -le $((of + 3)) ] || {
			echo "$name, $verb: ptxas takes $is barriers, and the kernels have $of as the highest"
			bad=1
		}
	done
}

# Finds a kernel in the list, and sets $file and $words.
find_kernel() {
	line=$(grep "$tab$1$tab" "$list" | grep -v 'sm_90\.ptx' | head -n 1)
	[ -n "$line" ] || return 1
	file=$root/${line%%"$tab"*}
	words=$(printf '%s\n' "$line" | cut -f 4)
}

# pairs_of KERNEL...: checks every pair, and each kernel with itself.
pairs_of() {
	for first; do
		seen=
		for second; do
			[ "$first" = "$second" ] && seen=1
			if [ -z "$seen" ] || ! find_kernel "$first"; then continue; fi
			fa=$file wa=$words
			find_kernel "$second" || continue
			pair "$first + $second" "$fa" "$first" "$wa" "$file" "$second" "$words"
		done
	done
}

case $mode in
papers | few)
	find_kernel va || {
		echo "no compiler for kernels: skipped"
		exit 77
	}
	if [ "$mode" = few ]; then
		pairs_of va transpose histogram msort_tile
	else
		pairs_of bitonic_tile msort_tile kmeans va transpose blackscholes histogram
		pairs_of gelu harris lud micnd mm sort stms wmma
	fi
	;;
esac
case $mode in
few) count=5 ;;
seeded) count=100 ;;
*) count=0 ;;
esac
for seed in $(seq 1 "$count"); do
	"$gen" --print --first "$seed" --count 1 >"$work/a.ptx"
	"$gen" --print --first $((seed + 1000)) --count 1 >"$work/b.ptx"
	for f in a b; do
		sed -n 's/.*--block \([0-9,]*\).*/--block \1/p' "$work/$f.ptx" | head -n 1 >"$work/$f.words"
		sed -n 's/^.*\.entry \([A-Za-z0-9_$]*\).*/\1/p' "$work/$f.ptx" | head -n 1 >"$work/$f.name"
	done
	pair "seeds $seed + $((seed + 1000))" "$work/a.ptx" "$(cat "$work/a.name")" "$(cat "$work/a.words")" \
		"$work/b.ptx" "$(cat "$work/b.name")" "$(cat "$work/b.words")"
done
echo "$n forms, $asked of them by ptxas"
[ "$n" -gt 0 ] && [ "$bad" = 0 ]
