# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk '{ print $4, 1; print $5, -1 }' WHERE | sort -n | awk -v levels="N N N" -f resized.awk
# Reads when a program's blocks started and ended. Checks that the number of blocks on the device
# reached these levels, in this order. A level is reached at nine tenths of it, and counts once
# twice as many blocks as the level have started there.
BEGIN { n = split(levels, level, " ") }
NR == 1 { begin = last = $1 }
{
	for (i = 1; i <= n; i++) {
		if (now > level[i] || now < level[i] * 0.9)
			continue
		began[i] += $2 > 0
		time[i] += $1 - last
		middle[i] += ($1 - last) * (last - begin)
	}
	now += $2
	last = $1
}
END {
	for (i = 1; i <= n; i++) {
		at = time[i] ? middle[i] / time[i] : 0
		printf "%d blocks at once for %d ms, around %d ms; %d began\n", level[i], time[i] / 1e6, at / 1e6, began[i]
		bad += began[i] < 2 * level[i] || at < before
		before = at
	}
	exit !NR || bad > 0
}
