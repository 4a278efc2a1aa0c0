#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program that starts without a daemon must become a tenant of the first daemon that starts later,
# and its launches must be managed, even if its first context has ended by then. Its results must be
# right. If a process listens on the socket but does not answer, the program must lose about a
# second, only once, and otherwise do the same.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2317 # by await
# true once the program runs in its second context: a tenant in the first context need not be one in
# the second
begun() {
	grep -q remade "$dir/out"
}
later() { # MODE: the daemon that runs when the program starts
	rm -f "$dir/out"
	[ "$1" = none ] || start "$1"
	PROG_MANAGED=1 shim remade 4 64 2000 >"$dir/out" 2>"$dir/err" &
	prog=$!
	await "the program does not begin" begun
	stop
	start watch
	wait $prog || fail "$1: status $?"
	stop
	cat "$dir/daemon"
	cmp "$top/remade" "$dir/out" || fail "$1: results differ"
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$1: not one line of warning"
	[ "$(sed -n 's/^seen \([0-9]*\) .*/\1/p' "$dir/daemon")" -ge 3 ] || fail "$1: its launches are not managed"
}
later_than_mute() {
	later mute
	grep -q 'does not answer' "$dir/err" || fail "it does not say why"
}

# The delay must be short: the program's time without a daemon is measured, too. A busy machine may
# exceed the limit, but hardly five times in a row.
takes() { # sets $took to the time in ms
	began=$(date +%s%N)
	same chain
	took=$((($(date +%s%N) - began) / 1000000))
}
costs() {
	for _ in 1 2 3 4 5; do
		takes
		without=$took
		start mute
		takes
		stop
		echo "with a mute daemon: $took ms, without: $without ms"
		[ $((took - without)) -ge 3000 ] || return 0
	done
	fail "a daemon that does not answer costs $((took - without)) ms"
}
plain remade 4 64 2000 >"$dir/remade"
beside none later none
beside mute later_than_mute
beside costs costs
together
