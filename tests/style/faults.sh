#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: faults.sh ROOT BUILD
# Each test that doc/status.facts names must exist in BUILD. Each test of tests/planted.txt must be
# in a suite other than `full`, and each file named there must exist. Each fault of tests/faults.txt
# must keep its tests: each of them is a test of BUILD, at least one per row is not in the suite
# `full`, and each case is a word in some file of tests/. Rows without a test that reliably finds
# the fault begin with "-" and are counted. A test with "?" may be missing.
build=$(cd "${2:?usage: faults.sh ROOT BUILD}" && pwd) || exit 1
. "$(dirname "$0")/lib.sh"
list=tests/faults.txt
intro=$build/meson-info/intro-tests.json
for file in "$list" "$intro"; do
	[ -f "$file" ] || { echo "$file:1: no such file"; exit 1; }
done
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
# Writes a line for each test: its name, and whether it is in the suite "full". In meson's file, a
# test's "suite" follows its "name".
awk '
{
	n = split($0, part, "\"name\": *\"")
	for (i = 2; i <= n; i++) {
		name = part[i]
		sub(/".*/, "", name)
		suites = match(part[i], /"suite": *\[[^]]*\]/) ? substr(part[i], RSTART, RLENGTH) : "none"
		print name, suites ~ /[":]full"/ ? "full" : suites == "none" ? "none" : "quick"
	}
}' "$intro" >"$tmp/tests"
# A build without cmocka lacks most of the tests.
grep -q '^base ' "$tmp/tests" || { echo "skipped: built without cmocka"; exit 77; }
find tests -type f ! -path "$list" -exec cat {} + | LC_ALL=C tr -cs 'A-Za-z0-9_-' '\n' | LC_ALL=C sort -u >"$tmp/words"
{
awk -F '\t' -v tests="$tmp/tests" -v words="$tmp/words" '
BEGIN {
	while ((getline line <tests) > 0) {
		split(line, field, " ")
		suite[field[1]] = suite[field[1]] " " field[2]
	}
	while ((getline line <words) > 0)
		word[line] = 1
}
function bad(what) { print FILENAME ":" FNR ": " what }
# Checks one test of a row. Returns 1 if ./run test runs it without --full, on some machine at
# least.
function look(test,   name, part, may_miss) {
	may_miss = sub(/\?$/, "", test)
	part = ""
	name = test
	if (index(test, ":")) {
		name = substr(test, 1, index(test, ":") - 1)
		part = substr(test, index(test, ":") + 1)
	}
	if (part != "" && !(part in word))
		bad("in no file of tests/: " part)
	if (name in suite && suite[name] ~ /none/)
		bad("meson names no suite of " name)
	if (!(name in suite) && !may_miss)
		bad("no such test: " name)
	return name in suite ? suite[name] ~ /quick/ : may_miss
}
/^#/ { next }
NF != 3 || $1 !~ /^[0-9a-f]+$/ || length($1) != 8 || $2 == "" || $3 == "" {
	bad("not a commit of 8 digits, tests and what was wrong, with tabs between")
	next
}
{
	n = split($2, test, ",")
	lacks = test[1] == "-"
	quick = 0
	for (i = lacks ? 2 : 1; i <= n; i++)
		quick += look(test[i])
	if (!lacks && !quick)
		bad("all its tests are in the suite full: " $2)
	rows++
	without += lacks
}
END {
	printf "%d faults, %d without a test that surely finds them\n", rows, without >"/dev/stderr"
	if (!rows)
		print FILENAME ":1: no row"
}' "$list"
awk -F '\t' 'NR == FNR { split($0, t, " "); quick[t[1]] = t[2] == "quick"; next }
	/^#/ { next }
	NF != 3 { print FILENAME ":" FNR ": not a test, a file and a fault, with tabs between" }
	{
		n = split($2, file, ", ")
		for (i = 1; i <= n; i++)
			if ((getline line <file[i]) < 0)
				print FILENAME ":" FNR ": no such file: " file[i]
			else
				close(file[i])
	}
	!sub(/\?$/, "", $1) && !quick[$1] { print FILENAME ":" FNR ": no test of the quick matrix: " $1 }' "$tmp/tests" tests/planted.txt
[ ! -f doc/status.facts ] || awk -F '\t' 'NR == FNR { split($0, t, " "); is_test[t[1]] = 1; next }
	/^#/ || $3 == "-" { next }
	{
		n = split($3, test, ",")
		for (i = 1; i <= n; i++) {
			sub(/:.*/, "", test[i])
			if (!(test[i] in is_test))
				print FILENAME ":" FNR ": no such test: " test[i]
		}
	}' "$tmp/tests" doc/status.facts
} | verdict
