#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: tasks.sh TOOL LIST DEVICE [FILTER]
# Runs every kernel of a list (kernels/list.txt of a build) as tasks of a pool with TOOL
# (tasks_same), a few kernels per process, so that a hang or a fault affects only these. FILTER: an
# extended regular expression that selects lines. PART=k/n: the k-th of n parts of them. JOBS:
# number of parallel processes (2). LIMIT: seconds before a process is ended and its kernels are
# reported (120). refused.txt beside this script lists the kernels that no pool accepts, with
# reasons.
set -eu
tool=$1
list=$2
device=$3
filter=${4:-.}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$list")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-tasks-$$"-*' EXIT
trap 'exit 1' INT TERM
tab=$(printf '\t')
jobs=${JOBS:-2} part=${PART:-1/1} limit=${LIMIT:-120} each=${EACH:-8}

# Splits the list of kernels into files TOOLCHAIN.NUMBER, each with up to `each` kernels of one
# compiler.
grep -E "$filter" "$list" | awk -F "$tab" -v k="${part%/*}" -v n="${part#*/}" -v each="$each" -v dir="$work" '
	$4 == "" || $4 == "-" { next }
	{ number = int((count[$3]++) / each); name = $3 "." number }
	!(name in at) { at[name] = files++ }
	at[name] % n == k - 1 { print >(dir "/list." name) }'

# run FILE: writes the verdict and the tool's output to FILE.result.
run() {
	toolchain=${1#"$work/list."}
	status=0
	DEVICE=$device HEDDLE_VGPU="tasks-$$-$(basename "$1")" timeout -k 5 "$limit" "$tool" "$1" "$root" \
		"${toolchain%.*}" "$here/refused.txt" >"$1.out" 2>&1 || status=$?
	names=$(cut -f 2 "$1" | sort -u | tr '\n' ' ')
	case $status in
	0) ;;
	124 | 137) echo "FAIL hangs ($limit s), one of: $names" ;;
	*)
		grep -v 'kernels the same as tasks' "$1.out" | sed 's/^/FAIL /'
		grep -q 'kernels the same as tasks' "$1.out" || echo "FAIL exit status $status, one of: $names"
		;;
	esac >"$1.result"
	grep 'kernels the same as tasks' "$1.out" >>"$1.result" || :
}

n=0
for file in "$work"/list.*; do
	[ -f "$file" ] || break
	n=$((n + 1))
	run "$file" &
	[ $((n % jobs)) -ne 0 ] || wait
done
wait
[ "$n" -gt 0 ] || {
	echo "skipped: no kernel matches $filter (no such compiler here)"
	exit 77
}
cat "$work"/list.*.result | awk '
	/^FAIL / { print; bad++ }
	/kernels the same as tasks/ { same += $1; refused += $7 }
	END {
		printf "%d kernels the same as tasks, %d refused, %d failures\n", same, refused, bad
		exit bad > 0 || !same
	}'
