#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: weak.sh HEDDLE PTX
# Tests HEDDLE_VGPU=weak=SEED with the virtual GPU's driver. Without fences, some messages between
# blocks arrive wrong; in serial mode the same seed always gives the same number of them. With
# fences, or without weak memory, no message arrives wrong.
set -eu
heddle=$1 ptx=$2

# wrong OPTIONS HOW: prints how many of forty messages were wrong.
wrong() {
	HEDDLE_VGPU="weak-$$,$1" "$heddle" exec --device cpu --grid 2 --block 32 "$ptx" message 'u32[64]:zero' 'u32[64]:zero' \
		'u32[64]:zero' 'u32[1]:zero>-' u32:40 "u32:$2" | head -n 1
}

fail() {
	echo "FAILED: $*"
	exit 1
}

found=0
for seed in 1 2 3 4 5 6 7 8; do
	for how in serial workers=2; do
		[ "$(wrong "$how,weak=$seed" 3)" = 0 ] || fail "wrong with fences, $how, seed $seed"
		[ "$(wrong "$how,weak=$seed" 48)" = 0 ] || fail "wrong with release and acquire, $how, seed $seed"
	done
	n=$(wrong "serial,weak=$seed" 0)
	[ "$n" = "$(wrong "serial,weak=$seed" 0)" ] || fail "seed $seed differs from itself"
	[ "$n" = 0 ] || found=$((found + 1))
done
[ $found -gt 0 ] || fail "right without fences, with every seed"
[ "$(wrong serial 0)" = 0 ] || fail "weak without being asked for"
echo "passed: $found of 8 seeds fail without fences"
