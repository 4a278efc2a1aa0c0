# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk -v n=SMS -v need=SMS -f later.awk LOW HIGH
# Reads the output of bench/where for a program with several launches (LOW), and for one launch of
# another program that has `need` of the SMs (HIGH). Looks at LOW's launches that start and end
# while all blocks of HIGH run. Each of them must be on all other SMs; as the programs may number
# SMs differently, only the number of SMs is compared. Prints how many such launches there were;
# fails if there were fewer than two.
FNR == 1 { files++ }
files == 1 {
	if (!($1 in first)) { first[$1] = $4; launches++ }
	if ($4 < first[$1]) first[$1] = $4
	if ($5 > last[$1]) last[$1] = $5
	if (!(($1, $3) in on)) { on[$1, $3] = 1; count[$1]++ }
	next
}
{
	if (!($3 in has)) { has[$3] = 1; spread++ }
	if ($4 > from) from = $4
	if (to == "" || $5 < to) to = $5
}
END {
	if (spread > need) {
		print "the other is on " spread " SMs: it came between two launches"
		exit 3
	}
	for (k in first) {
		if (first[k] < from || last[k] > to) continue
		seen++
		if (count[k] != n - need) {
			print "FAIL launch " k " of low is on " count[k] " of " n " SMs; the other needs " need
			failed = 1
		}
	}
	print seen + 0 " of " launches " launches of low beside the other"
	exit failed || seen < 2
}
