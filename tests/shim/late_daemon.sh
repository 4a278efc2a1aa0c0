#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program that begins without a daemon is the tenant of the first one that comes, and its launches
# are managed: also if the context in which it began is gone by then. Its results are right. The same
# if something listens and does not answer: that costs the program about a second, once.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2317 # by await
begun() { # in its second context: what is a tenant in the first is not managed in another
	grep -q remade "$dir/out"
}
later() { # MODE: what is there when the program begins
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

# It does not wait for long, beside what the program takes without a daemon on the same machine, which may
# be busy with something else, but hardly five times in a row.
takes() { # ms in $took
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
