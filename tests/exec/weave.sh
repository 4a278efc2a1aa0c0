#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Pairs of kernels that once failed on a GPU when woven: checks whether each is woven or fused
# vertically, for which reason, and that memory equals that of each kernel alone.
#   weave.sh HEDDLE KERNELS DEVICE PAIRS
# KERNELS: the folder kernels/ of a build; PAIRS: weave.txt, which describes its lines. Without
# nvcc, the script uses clang's builds of kernels that PAIRS names as nvcc's.
set -eu
heddle=$1
kernels=$2
device=$3
pairs=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-weave-$$"*' EXIT INT TERM
bad=0 runs=0 missing=0

fail() {
	echo "$*"
	bad=$((bad + 1))
}

# whole SPEC: prints the specification with its file's full path.
whole() {
	case $1 in
	HERE/*) echo "$here/${1#HERE/}" ;;
	nvcc/*)
		of=${1%% *}
		[ -e "$kernels/$of" ] || of=clang/${of#nvcc/}
		echo "$kernels/$of ${1#* }"
		;;
	*) echo "$kernels/$1" ;;
	esac
}

# check HOW MODES FIRST SECOND: checks one pair.
check() {
	options='' reason=$1
	case $1 in woven*) options=${1#woven} reason= ;; esac
	set -f
	# shellcheck disable=SC2086
	"$heddle" ptx weave -- $3 + $4 >"$work/form" 2>"$work/err" || fail "$3 + $4: $(cat "$work/err")"
	set +f
	said=$(sed -n "s|^// not woven but fused vertically: kernel '[^']*'\\(, line [0-9]*\\)*: ||p" "$work/form")
	case $said in
	"$reason"*) [ "$reason" ] || [ -z "$said" ] || fail "$3 + $4: is not woven: $said" ;;
	*) fail "$3 + $4: '$reason' is expected, not '$said'" ;;
	esac
	for mode in $2; do
		runs=$((runs + 1))
		set -f
		# shellcheck disable=SC2086
		HEDDLE_VGPU="weave-$$,$mode" timeout -k 5 "${LIMIT:-60}" "$heddle" corun --device "$device" \
			--how weave $options --check -- $3 + $4 >"$work/out" 2>&1 ||
			fail "$mode: $3 + $4: $(tail -n 1 "$work/out")"
		set +f
	done
}

while IFS='|' read -r how modes first second <&3; do
	case $how in '#'* | '') continue ;; esac
	first=$(whole "$first") second=$(whole "$second")
	if [ ! -e "${first%% *}" ] || [ ! -e "${second%% *}" ]; then
		missing=$((missing + 1))
		continue
	fi
	[ "$device" = cpu ] || modes=-
	check "$how" "$modes" "$first" "$second"
done 3<"$pairs"
echo "$runs runs, $bad wrong; $missing pairs without their kernels"
[ "$bad" -eq 0 ] || exit 1
[ "$runs" -gt 0 ] || {
	echo "skipped: no kernels (no compiler here)"
	exit 77
}
