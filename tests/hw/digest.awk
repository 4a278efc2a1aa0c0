# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Reduces a program's output to one row, so that it can be stored and compared. programs.sh uses it.
# digest: removes numbers with a fraction or an exponent from the text and writes the rest to the
# file `shape`. Divides these numbers into at most 16 consecutive parts. Prints how many numbers
# there were and, for each part, the sum and the sum of magnitudes: "3 1.5/1.5 -2/2 …".
# compare: -v other=LINE, a line that digest printed; the input is another such line. Prints "close"
# if the parts' sums differ by at most 1e-4 of the magnitudes, or by 1e-6 per number (which allows
# for errors and remainders that should be 0); otherwise "differs".

function abs(x) { return x < 0 ? -x : x }

function near(a, b, n,   x, y, scale) {
	split(a, x, "/")
	split(b, y, "/")
	scale = x[2] > y[2] ? x[2] : y[2]
	scale = 1e-4 * scale > 1e-6 * n ? 1e-4 * scale : 1e-6 * n
	return abs(x[1] - y[1]) <= scale && abs(x[2] - y[2]) <= scale
}

other != "" {
	k = split($0, mine, " ")
	same = split(other, its, " ") == k && its[1] == mine[1]
	for (i = 2; i <= k && same; i++)
		same = near(mine[i], its[i], mine[1] / (k - 1))
	print same ? "close" : "differs"
	next
}

{
	line = ""
	while (match($0, /[-+]?[0-9]+(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)/)) {
		v[n++] = substr($0, RSTART, RLENGTH)
		line = line substr($0, 1, RSTART - 1) "#"
		$0 = substr($0, RSTART + RLENGTH)
	}
	print line $0 > shape
}

END {
	if (other != "")
		exit
	parts = n < 16 ? n : 16
	line = n + 0
	for (p = 0; p < parts; p++) {
		sum = size = 0
		for (i = int(p * n / parts); i < int((p + 1) * n / parts); i++) {
			sum += v[i]
			size += abs(v[i])
		}
		line = line sprintf(" %.7g/%.7g", sum, size)
	}
	print line
}
