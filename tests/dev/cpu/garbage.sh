#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: garbage.sh HEDDLE PTX
# HEDDLE_VGPU=garbage=SEED: memory and registers that were never written hold different values in
# each block, the same ones for the same seed. Without it, a program's first blocks find zeros.
set -eu
heddle=$1 ptx=$2
blocks=6
words=$((blocks * 32 * 8))

# found SEED: prints eight words for each thread.
found() {
	HEDDLE_VGPU="garbage-$$,garbage=$1,sms=1,workers=1" "$heddle" exec --device cpu --grid $blocks --block 32 "$ptx" \
		garbage "u32[$words]:zero>-" | head -n $words
}

fail() {
	echo "FAILED: $*"
	exit 1
}

# The kernel never stores the second of each eight words. The eighth is 1 or 2: a predicate's value.
[ "$(found 0 | awk 'NR % 8 { print }' | sort -u)" = 0 ] || fail "no zeros without it"
[ "$(found 0 | awk 'NR % 8 == 0 { print }' | sort -u)" = 2 ] || fail "predicates are set without it"
for seed in 1 77; do
	one=$(found $seed)
	[ "$one" = "$(found $seed)" ] || fail "seed $seed differs from itself"
	[ "$one" != "$(found $((seed + 1)))" ] || fail "seed $seed changes nothing"
	echo "$one" | awk -v per=$((32 * 8)) '
	{ at = (NR - 1) % 8; block = int((NR - 1) / per) }
	at != 1 && at != 7 && $1 == 0 { zeros++ }
	at == 7 { seen[$1]++ }
	at == 0 && NR % per == 1 { first[$1] = 1 }
	END {
		n = 0
		for (v in first)
			n++
		if (zeros > 2 || n < 6 || !seen[1] || !seen[2]) {
			print "FAILED: " zeros + 0 " zeros, " n " blocks differ, predicates " seen[1] " " seen[2]
			exit 1
		}
	}' || exit 1
done
echo passed
