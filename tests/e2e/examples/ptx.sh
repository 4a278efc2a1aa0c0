#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: ptx.sh LIST
# The PTX has every kernel that it should have and no unresolved calls except those that the driver
# resolves, and ptxas (if installed) accepts it. ONE_IN=N: ptxas checks only every N-th file
# (default: 1).
set -u
list=$1
build=$(dirname "$list")/..
grep -qv "	ptx	" "$list" || {
	echo "skipped: no compiler for kernels"
	exit 77
}
bad=0
complain() {
	echo "$*"
	bad=1
}
cut -f 1,3 "$list" | sort -u | {
	n=0
	while read -r file toolchain; do
		n=$((n + 1))
		ptx=$build/$file
		open=$(grep -A1 '^[.]extern [.]func' "$ptx" | grep -o '\b[a-z_A-Z0-9]*$' |
			grep -vE '^(vprintf|__assertfail|malloc|free|)$')
		[ -z "$open" ] || complain "$file: unresolved: $open"
		arch=$(sed -n 's/^[.]target \(sm_[0-9]*a*\).*/\1/p' "$ptx")
		[ "$arch" = sm_70 ] && arch=sm_75 # the oldest that ptxas 13 supports
		if [ $((n % ${ONE_IN:-1})) = 0 ] && command -v ptxas >/dev/null; then
			ptxas -arch="$arch" "$ptx" -o /dev/null || complain "$file: not assembled"
		fi
	done
	exit $bad
} || bad=1
for kernel in va nn pf pl md spmv mm cfd nb bo mh tp fd lm px burn bitonic_tile bitonic_step msort_tile msort_pass \
	kmeans transpose blackscholes histogram er_shuffle lookback bar_producer async_copy; do
	lacking=$(cut -f 3 "$list" | sort -u | grep -vx ptx | while read -r toolchain; do
		cut -f 2,3 "$list" | grep -qx "$kernel	$toolchain" || echo "$toolchain"
	done)
	[ -z "$lacking" ] || complain "no kernel $kernel from $lacking"
done
command -v ptxas >/dev/null || echo "(not assembled: no ptxas)"
exit $bad
