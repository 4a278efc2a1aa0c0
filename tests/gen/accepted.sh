#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Checks that NVIDIA's assembler accepts the generator's programs without a warning, and that they
# avoid code that is known to fail on hardware (text.c): the result of a reduction that lanes reach
# at two instructions, and a condition that tests for "== 1".
#   accepted.sh GEN COUNT [--form]
set -eu
gen=$1
count=$2
form=${3-}
command -v ptxas >/dev/null || {
	echo "skipped: no ptxas here"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
first=1
while [ "$first" -le "$count" ]; do
	# shellcheck disable=SC2086
	"$gen" --print $form --first "$first" --count 50 >"$work/m.ptx"
	if grep -E -n 'mov.u32 %[uv][0-9], %t5;|setp.(eq|ne).u32 %p[0-9]+, %t0, 1;' "$work/m.ptx" \
		>"$work/said"; then
		echo "programs $first and 49 more would not be right on hardware:"
		head -n 20 "$work/said"
		exit 1
	fi
	if ! ptxas -arch=sm_90 "$work/m.ptx" -o "$work/m.cubin" >"$work/said" 2>&1 ||
		[ -s "$work/said" ]; then
		echo "programs $first and 49 more:"
		head -n 20 "$work/said"
		exit 1
	fi
	first=$((first + 50))
done
echo "$count programs accepted"
