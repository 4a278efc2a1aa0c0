#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program loads code beside a launch that lasts longer than loading waits for it. The launch must
# be pinned, and not be preempted before loading stops waiting. (If it were preempted, loading would
# wait for the launch, and the shim's call that resumes the launch would wait for loading.)
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
# The launch has five times as many blocks as fit at once, so that it has blocks left if it is
# preempted.
blocks=640 us=500000
plain loads 1 "$blocks" 0 >"$dir/plain" # the output does not depend on the blocks' duration
loads() { # MODE US
	start "$1"
	shim loads 1 "$blocks" "$2" >"$dir/out" 2>"$dir/err" || fail "status $?"
	stop
	cat "$dir/daemon" "$dir/err"
	cmp -s "$dir/plain" "$dir/out" || fail "results differ"
}
loads watch 0 # puts the forms into the cache
# Loading waits 2 s for the launch, and 0.3 s for the daemon's answer to the pin. The daemon
# preempts a launch after 2.4 s unless it is pinned. On a busy machine the pin may come later than
# that.
pinned() {
	loads pin "$us"
	loaded=$(sed -n 's/^loads: \([0-9]*\) ms.*/\1/p' "$dir/err")
	[ "$loaded" -ge 2300 ] || return 1
	grep -q '^native 0 opaque [0-9]* of 0$' "$dir/daemon" || return 1
	grep -q ' preempted 0 ' "$dir/daemon" || return 1
	grep -q ' pins [1-9]' "$dir/daemon"
}
for _ in 1 2 3 4 5; do
	! pinned || exit 0
	[ "$loaded" -ge 2300 ] || us=$((us * 2)) # the launch ended too early
done
fail "it was not pinned, or was preempted all the same"
