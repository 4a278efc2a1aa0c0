# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A page (README.md, doc/status.md) with the figures that its marks name: 1.23<!--TABLE:NAME--> becomes the figure NAME of TABLE (of
# bench/results_figures.awk), with as many decimals as stand there; TABLE:NAME*100: times 100. Before the mark
# there is † if TABLE is not measured, so that the figure was typed in by hand, and ‡ if it was measured with
# other forms. -v known: a file of TABLE:NAME and figure, with a tab between; -v tables: all tables; kept and
# stale: those that are measured, and those of other forms; -v faults: a file for what is wrong.
BEGIN {
	FS = "\t"
	while ((getline line <known) > 0) {
		split(line, part, "\t")
		value[part[1]] = part[2]
	}
	split_to(tables, is_table)
	split_to(kept, is_kept)
	split_to(stale, is_stale)
}

function split_to(list, set,   i, n, a) {
	n = split(list, a, " ")
	for (i = 1; i <= n; i++)
		set[a[i]] = 1
}

function fault(what) { print FILENAME ":" FNR ": " what >faults }

function with_commas(n,   sign, rest) {
	sign = n ~ /^[-+]/ ? substr(n, 1, 1) : ""
	rest = n ~ /\./ ? substr(n, index(n, ".")) : ""
	n = substr(n, length(sign) + 1, length(n) - length(sign) - length(rest))
	for (; length(n) > 3; n = substr(n, 1, length(n) - 3))
		rest = "," substr(n, length(n) - 2) rest
	return sign n rest
}

# The figure with the form that OLD has.
function shown(figure, old,   decimals, text) {
	decimals = index(old, ".") ? length(old) - index(old, ".") : 0
	text = sprintf("%" (old ~ /^\+/ ? "+" : "") "." decimals "f", figure)
	if (text + 0 == 0)
		sub(/^-/, "", text)
	return (text + 0 >= 1000 || text + 0 <= -1000) ? with_commas(text) : text
}

# marked NAME OLD: what stands before the mark.
function marked(name, old,   table, factor, path) {
	table = substr(name, 1, index(name, ":") - 1)
	factor = 1
	path = name
	if (match(name, /\*[0-9]+$/)) {
		path = substr(name, 1, RSTART - 1)
		factor = substr(name, RSTART + 1)
	}
	if (!(table in is_table)) {
		fault(name ": " table " is not in bench/results.tables")
		return old "†"
	}
	if (!(table in is_kept))
		return old "†"
	if (!(path in value) || value[path] !~ /^-?[0-9]/) {
		fault(name ": " table " has no such figure: bench/results.sh figures " table " lists them; without the mark it is one that was typed in")
		return old "†"
	}
	return shown(value[path] * factor, old) (table in is_stale ? "‡" : "")
}

{
	rest = $0
	out = ""
	while (match(rest, /<!--[a-z-]+:[^ >]*-->/)) {
		name = substr(rest, RSTART + 4, RLENGTH - 7)
		before = substr(rest, 1, RSTART - 1)
		after = substr(rest, RSTART + RLENGTH)
		sub(/(†|‡)$/, "", before)
		if (match(before, /[0-9][0-9,]*(\.[0-9]+)?$/)) {
			at = RSTART
			if (at > 1 && substr(before, at - 1, 1) ~ /[-+]/ && (at == 2 || substr(before, at - 2, 1) !~ /[0-9A-Za-z]/))
				at--
			old = substr(before, at)
			out = out substr(before, 1, at - 1) marked(name, old) "<!--" name "-->"
		} else {
			fault(name ": no figure before this mark")
			out = out before "<!--" name "-->"
		}
		rest = after
	}
	print out rest
}
