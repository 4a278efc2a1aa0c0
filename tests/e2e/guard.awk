# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk '{ print $4, $3, 1; print $5, $3, -1 }' WHERE | sort -k1,1n -k3,3n >MOVES
#        awk -v sms=N -v sizes="N N ..." -v drains="NS NS ..." -v took="NS NS ..." -f guard.awk
#        MOVES
# MOVES says when blocks of a guard form started and ended on which SM. drains are the times at
# which all of them had left (one fewer than sizes); took is the duration of each drain since
# heddled's word.
# Grids of the form never overlap, so between two drains no SM may have more blocks than the size. A
# grid counts as full with 19 of 20 blocks, because relays take some places. From the time when it
# is first full until heddled's word to leave (for the last grid: until it is last full), it must
# have on average at least nine tenths of its blocks.
BEGIN {
	n = split(sizes, size, " ")
	m = split(drains, drain, " ")
	if (m != n - 1 || split(took, told, " ") != m) {
		printf "%d drains, and should be %d\n", m, n - 1
		bad = 1
		exit
	}
	for (i = 1; i <= m; i++)
		told[i] = drain[i] - told[i]
	k = 1
}
{
	while (k <= m && $1 > drain[k]) {
		close_stage()
		k++
	}
	from = last > full_at ? last : full_at
	to = k <= m && $1 > told[k] ? told[k] : $1
	if (full_at && to > from) {
		area += all * (to - from)
		span += to - from
	}
	if (full_at && (k <= m || is_full())) {
		full_area = area
		full_span = span
	}
	last = $1
	all += $3
	there[$2] += $3
	if (there[$2] > most)
		most = there[$2]
	if (!full_at && is_full())
		full_at = $1
}
function is_full() {
	return all >= sms * size[k] * 0.95
}
function close_stage(   mean) {
	mean = full_span ? full_area / full_span / sms : 0
	printf "%d blocks on each of %d SMs: at most %d, %.2f in the mean of %d ms\n", size[k], sms,
		most, mean, full_span / 1e6
	bad += most != size[k] || mean < size[k] * 0.9 || all != 0
	full_at = area = span = full_area = full_span = most = 0
}
END {
	if (m == n - 1)
		close_stage()
	exit bad > 0
}
