#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: fault_lines.sh
# A fault in a preemptible form is reported with the line of the program's own PTX, whether the form
# is new or was cached by an earlier start.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

line_of() { # STDERR
	sed -n 's/^virtual GPU: .* PTX \(line [^:]*\): .*/\1/p' "$1"
}

plain trap >"$dir/plain" 2>"$dir/err" || fail "plain trap: status $?"
want=$(line_of "$dir/err")
[ -n "$want" ] || fail "a trap is not reported"
kept=0
for start in first second; do
	start grant
	shim trap >"$dir/out" 2>"$dir/err" || fail "shim trap: status $?"
	stop
	cmp "$dir/plain" "$dir/out" || fail "results differ"
	got=$(line_of "$dir/err")
	[ "$got" = "$want" ] || fail "$start start: the trap is in $want, it is reported in $got"
	[ $start = first ] || [ "$kept" -gt 0 ] || fail "no form was kept"
	kept=$(grep -rL hdtaught "$dir/cache/heddle" | wc -l)
done
echo "both times: $want; $kept forms kept"
