#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program that closes descriptors which are not its own, and has other files under their numbers from
# then on: none of these is read or written, and the program goes on natively, which one line says.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
for kinds in 9 10 11; do # which kind of file comes to lie where
	plain closes 40 8 $kinds >"$dir/plain" 2>"$dir/err" || fail "plain: status $?"
	for mode in storm watch; do
		start $mode
		shim closes 40 8 $kinds >"$dir/out" 2>"$dir/err" || fail "$mode: status $?"
		stop
		cmp -s "$dir/plain" "$dir/out" || fail "$mode: results differ"
		cat "$dir/out" "$dir/err"
		grep -q '^0 changed$' "$dir/out" || fail "$mode: what is the program's was used"
		[ "$(grep -c 'running natively$' "$dir/err")" = 1 ] || fail "$mode: not one line of warning"
		grep -q 'closed its connection' "$dir/err" || fail "$mode: another line"
	done
done
