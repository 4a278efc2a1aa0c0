#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: pairs.sh HEDDLE LIST DEVICE [FILTER]
# Runs random pairs of a list's kernels (kernels/list.txt of a build), each pair in every way of
# running two kernels as one: merged in one of the orders; fused vertically and horizontally; woven
# by default, with --branches, and with --unsliced. Compares memory with that of each kernel alone.
# PAIRS pairs (default: 20) from SEED (default: 1); PART=k/n: the k-th of n parts of these pairs.
# FILTER: extended regular expression of list lines to use. WAYS: the same for names of ways. JOBS:
# runs at a time (default: 2). LIMIT: timeout of a run in seconds (default: 60), after which it
# counts as a hang. A refusal is not a failure, but the script counts the reasons. The last lines
# are a table: "WAY ok N wrong N hang N refused N", and a sum.
set -eu
heddle=$1
list=$2
device=$3
filter=${4:-.}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$list")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-pairs-$$"-*' EXIT
trap 'exit 1' INT TERM
tab=$(printf '\t')
jobs=${JOBS:-2} part=${PART:-1/1} limit=${LIMIT:-60} exec=$here
# shellcheck source=tests/exec/corun.sh
. "$here/corun.sh"
# Without this bound, a large GPU's workers would claim all blocks of such small grids at once.
bound=
[ "$device" = cpu ] || bound=' --total-workers 4'

# Writes specifications for heddle corun, with the kernel's name first.
grep -E "$filter" "$list" | awk -F "$tab" -v root="$root" '$4 != "" && $4 != "-" {
	print $2 "\t" root "/" $1 " " $2 " " $4 }' >"$work/specs"
[ -s "$work/specs" ] || {
	echo "skipped: no kernel matches $filter (no such compiler here)"
	exit 77
}

# choose: prints PAIRS lines "NUMBER<tab>NAMES<tab>SPECIFICATIONS", chosen by the MINSTD random
# number generator.
choose() {
	awk -F "$tab" -v seed="${SEED:-1}" -v pairs="${PAIRS:-20}" -v k="${part%/*}" -v n="${part#*/}" '
		function any(of) { state = state * 16807 % 2147483647; return 1 + state % of }
		{ name[NR] = $1; spec[NR] = $2 }
		END {
			state = (seed * 7919 + 12345) % 2147483646 + 1
			for (i = 0; i < pairs; i++) {
				any(NR)
				a = any(NR)
				b = any(NR)
				if (i % n == k - 1)
					print i "\t" name[a] " + " name[b] "\t" spec[a] " + " spec[b]
			}
		}' "$work/specs"
}

# ways N: prints "NAME<tab>OPTIONS" for each way of pair N.
ways() {
	case $(($1 % 5)) in
	0) schedule="steal$bound" ;;
	1) schedule="partition=1:3$bound --yield-every 2" ;;
	2) schedule="mixed --help-others" ;;
	3) schedule="apart --yield-every 3" ;;
	4) schedule="steal:shared$bound --chunk 2 --yield-every 2" ;;
	esac
	cat <<-END
		merge$tab--schedule $schedule
		vertical$tab--how vertical
		horizontal$tab--how horizontal
		weave$tab--how weave
		weave --branches$tab--how weave --branches
		weave --unsliced$tab--how weave --unsliced
	END
}

# run ID WAY OPTIONS NAMES WORDS: writes one line to $work/result.ID.
run() {
	export HEDDLE_VGPU="pairs-$$-$(($1 % jobs)),${MODE:-sms=8}"
	corun "$work/$1" "$3" "$5"
	printf '%s\t%s\t%s\t%s\n' "$2" "$corun_verdict" "$4" "$(echo "$corun_said" | tr '\t' ' ')" >"$work/result.$1"
	rm -f "$work/$1".*
}

id=0
choose >"$work/pairs"
while IFS=$tab read -r number names words <&3; do
	ways "$number" | grep -E "^[^$tab]*(${WAYS:-.})" >"$work/ways"
	while IFS=$tab read -r way options <&4; do
		id=$((id + 1))
		run "$id" "$way" "$options" "$names" "$words" &
		[ $((id % jobs)) -ne 0 ] || wait
	done 4<"$work/ways"
done 3<"$work/pairs"
wait
[ "$id" -gt 0 ] || {
	echo "skipped: part $part of ${PAIRS:-20} pairs has none"
	exit 77
}
cat "$work"/result.* >"$work/results"
awk -F "$tab" '
	$2 == "FAIL" || $2 == "hang" { print $2 " " $3 ", " $1 ": " $4; bad++ }
	{ n[$1, $2]++; all[$2]++; if (!($1 in seen)) { seen[$1] = 1; order[++m] = $1 } }
	$2 == "refused" { # removes the names of kernels from the reason
		why = $4
		gsub(/[^ ]*: kernel [^:]* cannot be merged: |^.*error"?: |",?$/, "", why)
		sub(/^kernel [^:]* cannot be merged: /, "", why)
		gsub(/[0-9][0-9,]*/, "N", why)
		gsub(/\047[^\047]*\047/, "NAME", why)
		reasons[why]++
	}
	END {
		for (why in reasons)
			print "refused " reasons[why] ": " why | "sort -k2,2nr"
		close("sort -k2,2nr")
		for (i = 1; i <= m; i++)
			printf "%s: ok %d wrong %d hang %d refused %d\n", order[i], n[order[i], "ok"],
				n[order[i], "FAIL"], n[order[i], "hang"], n[order[i], "refused"]
		printf "%d runs the same, %d wrong, %d hang, %d refused\n", all["ok"], all["FAIL"],
			all["hang"], all["refused"]
		exit bad > 0 || !all["ok"]
	}' "$work/results"
