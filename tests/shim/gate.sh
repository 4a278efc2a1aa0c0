#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program waits after each launch, and all blocks of a launch fit on the device at once. Where
# tenants take turns, its launches run unchanged behind a gate that the daemon opens and closes.
# While the gate is closed, no launch may start. If the daemon exits and leaves it closed, the
# program must continue.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
gated() { # SCENARIO ROUNDS
	start gate
	same "$1" "$2" 8 600
	stop
	sed -n "s/^held/$1: held/p" "$dir/daemon"
}
waiting() {
	start gate
	same waits 100 8 1500
	stop
	cat "$dir/daemon"
	grep -q '^seen 0 ' "$dir/daemon" || fail "some were managed"
	held=$(sed -n 's/^held \([0-9]*\) past 0$/\1/p' "$dir/daemon")
	[ "${held:-0}" -gt 3 ] || fail "the gate was to hold them"
}
managed_still() { # SCENARIO...
	for _ in 1 2 3 4 5; do # tried again if the daemon got no CPU time and saw no launches
		start gate
		same "$@"
		stop
		! grep -q '^seen 0 ' "$dir/daemon" || continue
		break
	done
	! grep -q '^seen 0 ' "$dir/daemon" || fail "$1: none was managed"
}
left_shut() {
	for _ in 1 2 3 4 5; do # tried again if the program ended too early
		start shut-gate
		same waits 30 8 3000
		# the daemon closes the gate and exits
		! awaited 2 grep -q '^seen' "$dir/daemon" || break
		stop
	done
	grep -q '^seen' "$dir/daemon" || fail "the gate was not shut"
	stop
}
# These programs' launches wait at closed gates most of the time.
for scenario in chain defaults guard events copies own threads capture params errors; do
	beside $scenario gated $scenario 20
done
beside many gated many 4 # uses forty streams
beside waits waiting
beside shut left_shut
# Launches with more blocks than fit at once are managed as usual, and so are launches that queue
# up.
beside large managed_still waits 6 600 100
beside queue managed_still chain 20 8 600
together
