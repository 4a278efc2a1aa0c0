#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: ops-selftest.sh BUILD
# Tests hw.sh ops with the virtual GPU on both sides: nothing differs, and planted differences are
# found.
set -eu
export HEDDLE_VGPU="ops-$$" # a separate virtual GPU
build=$1
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
DEVICE=cpu JOBS=2 TSV=$dir/same.tsv sh "$here/hw.sh" "$build" ops >"$dir/same" || {
	cat "$dir/same"
	exit 1
}
grep -q ' 0 DIFFER; 0 fail, 0 refused, .* 0 not run;' "$dir/same"
if grep 'DIFFERS\|FAILS\|lost' "$dir/same.tsv"; then
	exit 1
fi
compared=$(sed -n 's/.* forms, \([0-9]*\) compared .*/\1/p' "$dir/same")
[ "$compared" -gt 2000 ] || {
	echo "only $compared forms were compared"
	exit 1
}
grep -q ' 65 compared: 65 within the bound, 0 BEYOND; 0 fail, 0 refused, .* 0 not run' "$dir/same"
[ "$(awk -F '\t' 'NR > 1 && $3 > 2000 && $3 == $6' "$dir/same-sums.tsv" | wc -l)" = 65 ] || {
	echo "the virtual GPU has not the bits of the virtual GPU"
	cat "$dir/same-sums.tsv"
	exit 1
}

! "$build/tests/dev/cpu/exact/ops" --device cpu --match .f64 --plant fma.rz.f64 --tsv "$dir/planted.tsv" \
	>"$dir/planted" || {
	echo "a planted difference was not seen"
	exit 1
}
grep -q '^fma.rz.f64: DIFFERS, 1 of 6400 values' "$dir/planted"
grep -q ' 1 DIFFER;' "$dir/planted"
[ "$(grep -c DIFFERS "$dir/planted.tsv")" = 1 ]
grep -q "^fma.rz.f64$(printf '\t')DIFFERS$(printf '\t')6400$(printf '\t')1$(printf '\t')0" "$dir/planted.tsv"
for form in mma.m16n8k8.f32.f16.f16.f32 wmma.m8n8k4.f64.f64.f64.f64 mma.m16n8k16.s32.s8.u8.s32; do
	! "$build/tests/dev/cpu/exact/sums" --device cpu --match "$form" --plant "$form" >"$dir/planted" || {
		echo "$form: a planted difference was not seen"
		exit 1
	}
	grep -q "^$form: BEYOND, 1 of " "$dir/planted"
done

# Processes run out of device memory here. Their forms must be reported as not run, and the whole
# test must fail.
! HEDDLE_VGPU="small-$$,memory=2M" "$build/tests/dev/cpu/exact/ops" --device cpu --match .pred >"$dir/lost" 2>&1 || {
	echo "without memory all is said to be well"
	exit 1
}
grep -q ' [1-9][0-9]* not run;' "$dir/lost"
echo passed
