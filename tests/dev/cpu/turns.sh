#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: turns.sh HEDDLE PTX
# HEDDLE_VGPU=turns=SEED: the order in which warps run depends only on the seed. Without it, warps
# run one after the other.
set -eu
heddle=$1 ptx=$2

# order SEED: prints the warp that drew each number.
order() {
	HEDDLE_VGPU="turns=$1" "$heddle" exec --device cpu --grid 1 --block 128 "$ptx" order u32[1]:zero \
		"u32[64]:zero>-" | head -n 64 | tr '\n' ' '
}

in_order=$(awk 'BEGIN { for (i = 0; i < 64; i++) printf "%d ", i / 16 }')
[ "$(order 0)" = "$in_order" ] || { echo "FAILED: not one after the other: $(order 0)"; exit 1; }
for seed in 1 2 3; do
	one=$(order $seed)
	[ "$one" = "$(order $seed)" ] || { echo "FAILED: seed $seed differs from itself"; exit 1; }
	if [ "$one" = "$in_order" ] || [ "$one" = "$(order $((seed + 10)))" ]; then
		echo "FAILED: seed $seed changes nothing: $one"
		exit 1
	fi
done
echo passed
