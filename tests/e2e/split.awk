# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk -v one="QUOTA..." -v two="QUOTA..." -f split.awk ONE TWO
# What bench/where wrote of two programs that ran side by side. In the middle half of the time in which both ran,
# each had at most so many blocks at once on each SM as the lists say, and at some time half as many at least.
FNR == 1 { program++ }
{
	i = ++blocks[program]
	sm[program, i] = $3; start[program, i] = $4; end[program, i] = $5
	block[program, $3, ++on[program, $3]] = i
	if (i == 1 || $4 < first[program]) first[program] = $4
	if ($5 > last[program]) last[program] = $5
}
END {
	both = first[1] > first[2] ? first[1] : first[2]
	until = last[1] < last[2] ? last[1] : last[2]
	from = both + (until - both) / 4
	to = until - (until - both) / 4
	for (p = 1; p <= 2; p++) {
		text = ""
		n = split(p == 1 ? one : two, quota, " ")
		for (i = 1; i <= blocks[p]; i++) {
			if (start[p, i] < from || start[p, i] > to)
				continue
			at_once = 0
			where = p SUBSEP sm[p, i]
			for (k = 1; k <= on[where]; k++) {
				j = block[where, k]
				at_once += start[p, j] <= start[p, i] && end[p, j] > start[p, i]
			}
			if (at_once > most[where]) most[where] = at_once
		}
		for (i = 0; i < n; i++) {
			text = text " " most[p, i] + 0
			bad += most[p, i] + 0 > quota[i + 1] + 0 || most[p, i] < quota[i + 1] / 2
		}
		print "program " p ", most blocks at once on each SM:" text
	}
	exit program != 2 || bad > 0
}
