#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Launches that find their form in the making run as they are, and later ones in it; a module may go
# meanwhile. By default they wait a little: as long as it takes to load forms that were kept.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

plain_launches() {
	sed -n 's/^native [0-9]* opaque [0-9]* of \([0-9]*\)$/\1/p' "$dir/daemon"
}

export HEDDLE_FORM_WAIT_MS=0
# A program that waits between launches: forms come to the device when nothing of it runs.
rounds=300
for _ in 1 2 3 4 5 6; do # the machine may have had no processor for it
	rm -rf "$dir/cache"
	start watch
	same waits "$rounds" 24 30 # two launches a round
	stop
	plain=$(plain_launches)
	[ "$plain" = 0 ] || [ "$plain" -ge $((rounds * 2)) ] || break
	rounds=$((rounds * 2))
done
[ "$plain" -gt 0 ] || fail "the first launch waited"
[ "$plain" -lt $((rounds * 2)) ] || fail "$plain launches of $rounds rounds went plain: no form was used"

for scenario in images reused globals code symbols; do
	rm -rf "$dir/cache"
	start watch
	same "$scenario" 4 24 30
	stop
done

# A slow build does not have all of them within 20 ms.
start watch
same chain 4 24 30
stop
cold=$(plain_launches)
start watch
HEDDLE_FORM_WAIT_MS=60000
same chain 4 24 30 # has forms made, for the next start
stop
unset HEDDLE_FORM_WAIT_MS
managed watch chain 4 24 30
[ "$(plain_launches)" -lt "$cold" ] || fail "kept forms were not waited for"
