#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: lanes.sh HEDDLE [DEVICE] [FILE.ptx…]
# Tests whether the lanes of a warp wait for each other on DEVICE (cuda) as in the virtual GPU's
# converge= modes. Runs every "// run:" line of the files (converge, answer and diverge.ptx of
# tests/dev/cpu/cases) with a timeout of LIMIT seconds, and compares its buffers with those of the
# virtual GPU without these modes. A run without "fault WAY:" or "endless WAY:" lines must end with
# the same buffers; otherwise the modes or the virtual GPU are wrong. For a run with such lines,
# prints what it does: if WAY is postdom, a hang is expected; if it is hardware, a hang is likely.
set -eu
heddle=$1
shift
device=${1:-cuda}
[ $# -eq 0 ] || shift
cases=$(cd "$(dirname "$0")/../dev/cpu/cases" && pwd)
[ $# -gt 0 ] || set -- "$cases/converge.ptx" "$cases/answer.ptx" "$cases/diverge.ptx"
if [ "$device" = cuda ] && [ ! -e /dev/nvidiactl ]; then
	echo "skipped: no NVIDIA GPU"
	exit 77
fi
limit=${LIMIT:-10}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM

# shellcheck source=tests/exec/form.sh
. "$(dirname "$0")/../exec/form.sh"

# expected FILE: prints "ARGUMENTS<tab>WAYS" for each line "// run:" of the file. WAYS are the rules
# of convergence under which the run faults or does not end.
expected() {
	awk '/^\/\/ run: / {
		if (words)
			print words "\t" ways
		words = substr($0, 9)
		ways = ""
	}
	/^\/\/ (fault|endless) (postdom|hardware):/ {
		sub(":", "", $3)
		ways = ways " " $3
	}
	/^\/\/ fault: / { words = "" }
	END {
		if (words)
			print words "\t" ways
	}' "$1"
}

tab=$(printf '\t')
bad=0
for file; do
	expected "$file" >"$dir/list"
	while IFS=$tab read -r words ways; do
		rm -f "$dir"/want.* "$dir"/got.*
		HEDDLE_VGPU=converge=none run_form "$dir/want" cpu "$file" "$words" </dev/null || {
			echo "FAIL ${words%% *}: not even on the virtual GPU"
			bad=$((bad + 1))
			continue
		}
		status=0
		run_form "$dir/got" "$device" "$file" "$words" </dev/null || status=$?
		verdict=right
		if [ "$status" -eq 124 ]; then
			verdict=hangs
		elif [ "$status" -ne 0 ]; then
			verdict="fails ($(tail -n 1 "$dir/got.err"))"
		else
			for f in "$dir"/want.[0-9]*; do
				cmp -s "$f" "$dir/got.${f##*.}" || verdict=differs
			done
		fi
		echo "${ways:+[no end in$ways] }$words: $verdict"
		if [ -z "$ways" ] && [ "$verdict" != right ]; then
			bad=$((bad + 1))
		fi
	done <"$dir/list"
done
echo "$bad runs that must end do not, or not rightly"
[ "$bad" -eq 0 ]
