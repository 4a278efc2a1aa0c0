#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program closes descriptors that are not its own and then has other files under their numbers.
# The shim must not read or write these; the program continues natively, and one line says so.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
natively() { # KINDS: which kinds of files get the closed numbers
	plain closes 40 8 "$1" >"$top/plain.$1" 2>"$dir/err" || fail "plain: status $?"
}
closed() { # MODE KINDS
	start "$1"
	shim closes 40 8 "$2" >"$dir/out" 2>"$dir/err" || fail "$1: status $?"
	stop
	cat "$dir/out" "$dir/err"
	grep -q '^0 changed$' "$dir/out" || fail "$1: what is the program's was used"
	[ "$(grep -c 'running natively$' "$dir/err")" = 1 ] || fail "$1: not one line of warning"
	grep -q 'closed its connection' "$dir/err" || fail "$1: another line"
}
for kinds in 9 10 11; do
	beside plain-$kinds natively $kinds
	for mode in storm watch; do
		beside $mode-$kinds closed $mode $kinds
	done
done
together
for kinds in 9 10 11; do
	for mode in storm watch; do
		cmp -s "$dir/plain.$kinds" "$dir/$mode-$kinds/out" || fail "$mode: results differ"
	done
done
