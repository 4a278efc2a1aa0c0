# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk -v one="QUOTA..." -v two="QUOTA..." -f split.awk MOVES MOVES
# MOVES has the times when blocks of two programs started and ended, sorted: time, program (1 or 2),
# SM, and 1 or -1 (at equal times, ends first). In the middle half of the time in which both ran,
# each had at most its quota of blocks on each SM, and at some time at least half of it (relays take
# places, too).
NR == FNR {
	if (!($2 in first)) first[$2] = $1
	last[$2] = $1
	next
}
FNR == 1 {
	both = first[1] > first[2] ? first[1] : first[2]
	until = last[1] < last[2] ? last[1] : last[2]
	from = both + (until - both) / 4
	to = until - (until - both) / 4
}
{
	where = $2 SUBSEP $3
	there[where] += $4
	if ($4 > 0 && $1 >= from && $1 <= to && there[where] > most[where])
		most[where] = there[where]
}
END {
	for (p = 1; p <= 2; p++) {
		text = ""
		n = split(p == 1 ? one : two, quota, " ")
		for (i = 0; i < n; i++) {
			text = text " " most[p, i] + 0
			bad += most[p, i] + 0 > quota[i + 1] + 0 || most[p, i] < quota[i + 1] / 2
		}
		print "program " p ", most blocks at once on each SM:" text
	}
	exit !(1 in first && 2 in first) || bad > 0
}
