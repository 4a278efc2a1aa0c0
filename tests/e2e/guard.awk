# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk '{ print $4, $3, 1; print $5, $3, -1 }' WHERE | sort -k1,1n -k3,3n >MOVES
#        awk -v sizes="N N ..." -v drains="NS NS ..." -f guard.awk MOVES
# When blocks of a guard form began and ended on which SM, and when all of them had left: one time less
# than there are sizes. Grids of the form never overlap, so from one of these times to the next no SM
# ever has more blocks than that size, and in the mean they have nine tenths of it at least (the relay
# takes one place of all).
BEGIN {
	n = split(sizes, size, " ")
	m = split(drains, drain, " ")
	if (m != n - 1) {
		printf "%d drains, and should be %d\n", m, n - 1
		bad = 1
		exit
	}
	k = 1
}
{
	while (k <= m && $1 > drain[k]) {
		close_stage()
		k++
	}
	if (!first)
		first = $1
	if (!($2 in seen)) {
		seen[$2] = 1
		sms++
	}
	area += all * ($1 - last)
	last = $1
	all += $3
	there[$2] += $3
	if (there[$2] > most)
		most = there[$2]
}
function close_stage(   mean) {
	mean = sms && last > first ? area / (last - first) / sms : 0
	printf "%d blocks on each of %d SMs: at most %d, %.2f in the mean, for %d ms\n", size[k], sms,
		most, mean, (last - first) / 1e6
	bad += most != size[k] || mean < size[k] * 0.9 || all != 0
	first = area = most = 0
}
END {
	if (m == n - 1)
		close_stage()
	exit bad > 0
}
