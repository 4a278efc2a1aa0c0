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
for scenario in chain defaults guard events many copies own threads capture params errors; do
	start gate
	same "$scenario" 20 8 600
	stop
	sed -n "s/^held/$scenario: held/p" "$dir/daemon"
done
start gate
same waits 100 8 1500
stop
cat "$dir/daemon"
grep -q '^seen 0 ' "$dir/daemon" || fail "some were managed"
held=$(sed -n 's/^held \([0-9]*\) past 0$/\1/p' "$dir/daemon")
[ "${held:-0}" -gt 3 ] || fail "the gate was to hold them"
# More blocks than fit at once: managed as ever. So is a queue.
for scenario in "waits 6 600 100" "chain 20 8 600"; do
	for _ in 1 2 3 4 5; do # a daemon without a processor sees none of them
		start gate
		# shellcheck disable=SC2086
		same $scenario
		stop
		! grep -q '^seen 0 ' "$dir/daemon" || continue
		break
	done
	! grep -q '^seen 0 ' "$dir/daemon" || fail "$scenario: none was managed"
done
start shut-gate
same waits 100 8 3000
stop
