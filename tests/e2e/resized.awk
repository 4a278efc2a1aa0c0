# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk '{ print $4, 1; print $5, -1 }' WHERE | sort -n | awk -v levels="N N N" -f resized.awk
# When a program's blocks began and ended: so many of them were on the device at once, for 100 ms each
# in all, in this order. A level counts from nine tenths of it on.
BEGIN { n = split(levels, level, " ") }
NR > 1 {
	for (i = 1; i <= n; i++) {
		if (now > level[i] || now < level[i] * 0.9)
			continue
		time[i] += $1 - last
		middle[i] += ($1 - last) * (last - begin)
	}
}
NR == 1 { begin = $1 }
{ now += $2; last = $1 }
END {
	for (i = 1; i <= n; i++) {
		at = time[i] ? middle[i] / time[i] : 0
		printf "%d blocks at once for %d ms, around %d ms\n", level[i], time[i] / 1e6, at / 1e6
		bad += time[i] < 1e8 || at < before
		before = at
	}
	exit !NR || bad > 0
}
