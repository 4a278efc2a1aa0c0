#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A launch whose form is still being compiled runs unchanged, and later launches use the form. The
# module may be unloaded before the form is ready. By default launches wait briefly: as long as it
# takes to load cached forms.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

plain_launches() {
	sed -n 's/^native [0-9]* opaque [0-9]* of \([0-9]*\)$/\1/p' "$dir/daemon"
}

export HEDDLE_FORM_WAIT_MS=0
# The program waits after each launch, because forms are loaded when none of its work runs on the
# device.
rounds=300
for _ in 1 2 3 4 5 6; do # tried again if the compiler got no CPU time
	rm -rf "$dir/cache"
	start watch
	same waits "$rounds" 24 30 # two launches per round
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

# A slow build loads fewer forms than the program needs within the default 20 ms.
start watch
same chain 4 24 30
stop
cold=$(plain_launches)
start watch
HEDDLE_FORM_WAIT_MS=60000
same chain 4 24 30 # makes the forms for the next start
stop
unset HEDDLE_FORM_WAIT_MS
managed watch chain 4 24 30
[ "$(plain_launches)" -lt "$cold" ] || fail "kept forms were not waited for"
