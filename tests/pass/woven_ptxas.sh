#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: woven_ptxas.sh HEDDLE LIST [KERNEL...]
# Weaves every pair of some kernels of a list (kernels/list.txt of a build): ptxas (PTXAS, or the
# one on the PATH) must accept all of them. Prints the CPU seconds for weaving and for assembling,
# and the number of pairs that were fused vertically instead.
set -eu
heddle=$1
list=$2
shift 2
root=$(cd "$(dirname "$list")/.." && pwd)
ptxas=${PTXAS:-$(command -v ptxas || :)}
[ -n "$ptxas" ] || {
	echo "skipped: no ptxas"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tab=$(printf '\t')
[ $# -gt 0 ] || set -- va blackscholes transpose histogram msort_tile bitonic_tile md nn spmv pf mm cfd pl \
	warp_scan bar_reduce callee_barrier flow_table flow_nested

# words KERNEL: prints its specification.
words() {
	grep "$tab$1$tab" "$list" | grep -v 'sm_90\.ptx' | head -n 1 | while IFS=$tab read -r file kernel _ rest; do
		echo "$root/$file $kernel $rest"
	done
}

# took: appends the CPU seconds that this shell's child processes have taken so far to $work/took.
# Must not run in a subshell, which has other children.
took() {
	times >"$work/times"
	awk 'END { for (i = 1; i <= NF; i++) { split($i, t, "m"); s += t[1] * 60 + t[2] } printf "%s ", s }' \
		"$work/times" >>"$work/took"
}

bad=0 woven=0 fused=0
for first; do
	seen=
	for second; do
		[ "$first" != "$second" ] && [ -z "$seen" ] && continue
		seen=1
		a=$(words "$first") b=$(words "$second")
		if [ -z "$a" ] || [ -z "$b" ]; then continue; fi
		took
		set -f
		# shellcheck disable=SC2086
		"$heddle" ptx weave -- $a + $b >"$work/ptx" 2>"$work/err" || {
			echo "$first + $second: $(cat "$work/err")"
			bad=1
		}
		set +f
		took
		case $(sed -n 's|^// not woven.*|fused|p' "$work/ptx") in
		fused) fused=$((fused + 1)) ;;
		*) woven=$((woven + 1)) ;;
		esac
		"$ptxas" -arch=sm_90 -o "$work/cubin" "$work/ptx" 2>"$work/err" || {
			echo "$first + $second: ptxas: $(head -n 3 "$work/err")"
			bad=1
		}
		took
		echo >>"$work/took"
	done
done
echo "$woven woven, $fused fused; $(awk '{ m += $2 - $1; p += $3 - $2 }
	END { printf "%.2f s to make, %.2f s to assemble: %.1f %%", m, p, p ? 100 * m / p : 0 }' "$work/took")"
[ "$bad" = 0 ]
