# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: awk -v n=SMS -v need=SMS[,SMS] [-v least=LAUNCHES] [-v own=1] -f where.awk LOW HIGH [HIGH]
# Reads the output of bench/where for a program that gave up SMs (LOW; two of its blocks fill one),
# and for one or two programs that got as many SMs as `need` says (HIGH). Checks each high launch
# that ran during a low one, from the time when it has blocks on all of its SMs until it ends. Of
# two high programs, checks their simultaneous launches together:
#   A high launch has as many SMs as it needs, and shares none.
#   No block of low starts on these SMs, except one that was claimed before heddled's word. (The
#   other worker of that SM has left; otherwise the high launch would have no room there.)
#   Blocks of low start on every other SM (if ten can start per SM in that time).
# own: the programs number SMs independently, as under MPS. Then only the number of each program's
# SMs is checked (none of their blocks fits beside another's), and an SM on which one block of low
# starts counts as given up.
# Prints what it saw; fails if there was too little to see.
BEGIN { least = least ? least : 3; split(need, needs, ","); files = 0 }
FNR == 1 { files++ }
files == 1 {
	low_sm[++lows] = $3; low_start[lows] = $4
	if (lows == 1 || $4 < low_first) low_first = $4
	if ($5 > low_last) low_last = $5
	next
}
{
	k = files SUBSEP $1
	if (!(k in first)) { keys[++launches] = k; need_of[k] = needs[files - 1]; first[k] = $4 }
	if ($4 < first[k]) first[k] = $4
	if ($5 > last[k]) last[k] = $5
	if (!((k, $3) in on)) { on[k, $3] = $4; count[k]++ }
	if ($4 < on[k, $3]) on[k, $3] = $4
	if (on[k, $3] > settled[k]) settled[k] = on[k, $3] # lines are in the order of block numbers
}
function bad(text) { print "FAIL " text; failed = 1 }
# Checks where low's blocks ran while k had its SMs, and at the same time other, unless that is "".
function judge(k, other,   j, sm, from, to, taken, during, keeps, began, given_up, relays) {
	from = settled[k] > settled[other] ? settled[k] : settled[other]
	to = other == "" || last[k] < last[other] ? last[k] : last[other]
	taken = need_of[k] + need_of[other]
	for (j = 1; j <= lows; j++)
		during += low_start[j] > from && low_start[j] < to
	# Too few blocks of low started in this time. On a busy machine the launch ends before all
	# its workers have arrived.
	if (during < 10 * n) { brief++; return }
	if (other == "") alone++; else together++
	# If two blocks fit on an SM, the second relay may have one of the SMs to itself.
	if (count[k] + count[other] > taken || count[k] + count[other] < taken - (other != ""))
		bad("on " count[k] + count[other] " SMs, and needs " taken)
	for (sm = 0; sm < n && !own; sm++)
		if ((k, sm) in on && (other, sm) in on) bad("SM " sm " is two programs'")
	for (j = 1; j <= lows; j++)
		if (low_start[j] > from && low_start[j] < to) began[low_sm[j]]++
	relays = taken - count[k] - count[other]
	for (sm in began) {
		given_up = own ? began[sm] == 1 : (k, sm) in on || (other, sm) in on
		# This may be the SM on which only a relay runs, which no line names. A block that
		# was claimed before the word may start there, too.
		if (!given_up && began[sm] == 1 && relays > 0) { relays--; given_up = 1 }
		if (given_up) late += began[sm]
		else keeps++
		if (given_up && began[sm] > 1)
			bad(began[sm] " blocks of low begin on SM " sm ", which it gave up")
	}
	if (keeps != n - taken) bad("low goes on on " keeps + 0 " of " n " SMs; others need " taken)
}
END {
	for (i = 1; i <= launches; i++) {
		k = keys[i]; other = ""
		if (low_first > first[k] || low_last < last[k]) { elsewhere++; continue }
		for (j = 1; j <= launches; j++)
			if (j != i && first[keys[j]] < last[k] && first[k] < last[keys[j]]) other = keys[j]
		judge(k, other)
	}
	printf "%d launches alone beside low, %d beside each other; %d too brief, %d without low; ", alone,
		together, brief, elsewhere
	printf "%d blocks claimed ahead\n", late
	if ((files > 2 ? together : alone) < least) bad("too few")
	exit failed
}
