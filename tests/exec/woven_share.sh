#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: woven_share.sh HEDDLE LIST AT-LEAST KERNEL...
# Weaves each pair of these kernels of a list (kernels/list.txt of a build) and runs it on the
# virtual GPU. Memory must be the same as after each kernel alone. Computes the woven share: the
# part of both kernels' executed instructions that are close to instructions of the other kernel.
# Fails if fewer than AT-LEAST pairs have a share of at least half. Kernels run with the options and
# arguments in goptx.txt (full blocks, and the same number of blocks for each kernel, as in GoPTX,
# section IV-B) or, with SHAPES=list, with those in the list. WEAVE: options for heddle corun and
# heddle ptx weave.
set -eu
heddle=$1
list=$2
least=$3
shift 3
root=$(cd "$(dirname "$list")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-woven-$$"' EXIT INT TERM
tab=$(printf '\t')

# words KERNEL: prints its specification.
words() {
	while IFS=$tab read -r _ kernel rest; do
		file=$(grep "^kernels/[a-z]*/[a-z]*\.ptx$tab$1$tab" "$list" | head -n 1 | cut -f1)
		[ "$kernel" != "$1" ] || [ -z "$file" ] || [ "${SHAPES-}" = list ] || echo "$root/$file $kernel $rest"
	done <"$(dirname "$0")/goptx.txt"
	[ "${SHAPES-}" = list ] || return 0
	grep "^kernels/[a-z]*/[a-z]*\.ptx$tab$1$tab" "$list" | head -n 1 |
		while IFS=$tab read -r file kernel _ rest; do
			echo "$root/$file $kernel $rest"
		done
}

# share COUNTS PTX: prints the percentage of woven instructions, weighted by execution counts. Only
# instructions that name a register of a kernel count. One is woven if the other kernel has an
# instruction among the eight before or the eight after it in its basic block. Labels and branches
# end a block. Registers of kernel N are named %hd_N_...; those that the pass adds, %hd_N_hd_...,
# belong to no kernel.
share() {
	awk 'NR == FNR { if ($1 == "hd_merged") times[$2] += $3; next }
	function flush(i, j, near) {
		for (i = 1; i <= n; i++) {
			near = 0
			for (j = i - 8; j <= i + 8 && !near; j++)
				near = j >= 1 && j <= n && who[j] != who[i]
			all += ran[i]
			if (near) woven += ran[i]
		}
		n = 0
	}
	/^[$A-Za-z_0-9]+:/ { flush() }
	/^\t[^.{}]/ {
		line = $0; k = ""
		while (match(line, /%hd_[0-9]+_[a-z]+/)) {
			split(substr(line, RSTART, RLENGTH), part, "_")
			if (part[3] != "hd" || line ~ /_hd_pg/) k = part[2]
			line = substr(line, RSTART + RLENGTH)
		}
		if (k != "") { who[++n] = k; ran[n] = times[FNR] }
		if ($0 ~ /bra|brx|exit|ret;/) flush()
	}
	END { flush(); printf "%.1f\n", all ? 100 * woven / all : 0 }' "$1" "$2"
}

if [ -z "$(words "$1")" ]; then
	echo "skipped: no kernels (no compiler here)"
	exit 77
fi
bad=0 half=0 pairs=0
for first; do
	seen=
	for second; do
		[ "$first" != "$second" ] && [ -z "$seen" ] && continue
		seen=1
		pairs=$((pairs + 1))
		a=$(words "$first") b=$(words "$second")
		rm -f "$work"/*
		: >"$work/counts"
		status=0
		set -f
		# shellcheck disable=SC2086
		HEDDLE_VGPU="woven-$$,${MODE:-sms=8},count=$work/counts" "$heddle" corun ${WEAVE-} --how weave \
			--device cpu --check -- $a + $b >"$work/out" 2>&1 || status=$?
		# shellcheck disable=SC2086
		"$heddle" ptx weave -- $a + $b 2>"$work/err" | sed '/^\/\/ /d' >"$work/ptx"
		set +f
		if [ $status -ne 0 ]; then
			echo "FAIL $first + $second: $(tail -n 2 "$work/out" | tr '\n' ' ')"
			bad=$((bad + 1))
			continue
		fi
		part=$(share "$work/counts" "$work/ptx")
		half=$((half + $(echo "$part" | awk '{ print ($1 >= 50) }')))
		echo "$first + $second: $part % woven$(sed -n 's/^not woven.*: /; not woven: /p' "$work/out" | head -n 1)"
	done
done
echo "$pairs pairs, $bad wrong; at least half woven in $half"
[ $bad -eq 0 ] && [ $half -ge "$least" ]
