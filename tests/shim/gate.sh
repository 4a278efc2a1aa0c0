#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Launches of a program that waits between them, of which all blocks are there at once, where tenants
# take turns: as they are, behind a gate that the daemon opens and closes. While it is closed none
# begins; and when the daemon goes and leaves it closed, the program goes on.
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
	for _ in 1 2 3 4 5; do # a daemon without a processor sees none of them
		start gate
		same "$@"
		stop
		! grep -q '^seen 0 ' "$dir/daemon" || continue
		break
	done
	! grep -q '^seen 0 ' "$dir/daemon" || fail "$1: none was managed"
}
left_shut() {
	for _ in 1 2 3 4 5; do # again, if the program was done before
		start shut-gate
		same waits 30 8 3000
		! awaited 2 grep -q '^seen' "$dir/daemon" || break # it shuts the gate and ends
		stop
	done
	grep -q '^seen' "$dir/daemon" || fail "the gate was not shut"
	stop
}
# They wait at gates most of the time.
for scenario in chain defaults guard events copies own threads capture params errors; do
	beside $scenario gated $scenario 20
done
beside many gated many 4 # on forty streams
beside waits waiting
beside shut left_shut
# More blocks than fit at once: managed as ever. So is a queue.
beside large managed_still waits 6 600 100
beside queue managed_still chain 20 8 600
together
