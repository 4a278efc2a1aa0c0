#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Every function that changes the engine's state is recorded: a function of sched.h with a non-const
# pointer to an engine, tenant or launch must have a row in events.def, and so must sched_create.
. "$(dirname "$0")/lib.sh"
header=src/sched/engine/sched.h rows=src/sched/engine/events.def
[ -e "$header" ] || exit 0

awk '
FNR == NR {
	if (match($0, /^INPUT\([a-z_]+/))
		row[substr($0, RSTART + 6, RLENGTH - 6)] = 1
	else if (match($0, /^EVENT_[0-2]\([a-z]+, [a-z_]+/))
		row[substr($0, RSTART + 8, RLENGTH - 8)] = 1
	next
}
FNR == 1 {
	for (r in row) {
		name = r
		sub(/^[a-z]+, /, "", name)
		known[name] = 1
	}
}
/^[a-z].*sched_[a-z_]+\($/ || /^[a-z].*sched_[a-z_]+\(.*[^;]$/ || /^[a-z].*sched_[a-z_]+\(.*;$/ {
	line = FNR
	text = ""
}
line {
	text = text " " $0
}
line && /;$/ {
	name = text
	sub(/\(.*/, "", name)
	sub(/.*sched_/, "", name)
	sub(/^[^(]*\(/, "", text)
	changes = name == "create"
	n = split(text, parameter, ",")
	for (i = 1; i <= n; i++)
		changes = changes || parameter[i] ~ /struct sched(_tenant|_launch)? \*[a-z]/ && parameter[i] !~ /const/
	if (changes && !(name in known))
		print FILENAME ":" line ": sched_" name " changes the engine and has no row in events.def"
	line = 0
}' "$rows" "$header" | verdict
