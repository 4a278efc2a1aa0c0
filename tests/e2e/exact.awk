# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk '{ print $4, $3, 1; print $5, $3, -1 }' WHERE | sort -k1,1n -k3,3n >MOVES
#        awk -v sizes="N N ..." -v step=NS -f exact.awk MOVES MOVES
# The input says when a program's blocks started and ended on which SM. In this time each SM was to
# have sizes[k] blocks for `step` ns, one size after the other, in a cycle. The first pass finds
# when the sizes changed: the offset of the cycle that fits the numbers of blocks best. The second
# pass checks each step from its middle to nine tenths of it: no SM ever has more blocks than the
# size, and on average it has at least nine tenths as many (between two blocks, a worker claims the
# next). The first and last steps do not count.
BEGIN {
	n = split(sizes, size, " ")
	fine = 40 # number of offsets in a step that are tried as its start
}
FNR == 1 && NR > 1 { fit(); second = 1; first = 0 }
!first { first = $1 }
!second {
	now += $3
	place = int(($1 - first) / step * fine)
	for (; at < place; at++)
		all[at] = last
	last = now
	if (!($2 in seen)) {
		seen[$2] = 1
		sms++
	}
	next
}
{
	account($2, $1 - first)
	there[$2] += $3
}
function fit(   phase, k, sum, best, d) {
	end = at
	best = -1
	for (phase = 0; phase < n * fine; phase++) {
		sum = 0
		for (k = 0; k < end; k++) {
			d = all[k] - sms * size[int((k + phase) / fine) % n + 1]
			sum += d < 0 ? -d : d
		}
		if (best < 0 || sum < best) {
			best = sum
			shift = phase
		}
	}
}
# account SM TIME: from then[SM] to TIME, the SM had there[SM] blocks.
function account(sm, time,   from, k, begin, stop, want) {
	from = then[sm]
	then[sm] = time
	for (k = int(from / step + shift / fine); ; k++) {
		begin = (k + 0.5 - shift / fine) * step
		stop = (k + 0.9 - shift / fine) * step
		if (begin >= time)
			break
		if (begin < 2 * step || stop > (end / fine - 1) * step)
			continue
		want = size[k % n + 1]
		begin = begin > from ? begin : from
		stop = stop < time ? stop : time
		if (stop <= begin)
			continue
		total[want] += stop - begin
		mean[want] += (stop - begin) * there[sm]
		if (there[sm] > want && !(sm in over)) {
			over[sm] = 1
			printf "SM %d has %d blocks, and should have %d, at %d us\n", sm, there[sm], want,
				time / 1000
			bad = 1
		}
	}
}
END {
	for (k = 1; k <= n; k++) {
		part = total[size[k]] ? mean[size[k]] / total[size[k]] : 0
		printf "%d blocks on each of %d SMs: %.2f in %d ms an SM\n", size[k], sms, part,
			total[size[k]] / sms / 1e6
		bad += part < 0.9 * size[k]
	}
	exit bad > 0
}
