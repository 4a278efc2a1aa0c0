#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Code is loaded beside a launch that lasts longer than loading waits for it: the launch is pinned,
# and is not preempted before that is over. (If it were, loading would wait for it, and what resumes
# it for loading.)
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
start watch
same loads 1 24 30 # its forms are in the cache from here on
stop
loops=400000
# Loading waits for 2 s, and for the daemon's answer, which takes 0.3 s more.
beside() {
	managed pin loads 1 24 "$loops" && grep -q 'pins [1-9]' "$dir/daemon" || return 1
	sed -n 's/^loads: \([0-9]*\) ms.*/\1/p' "$dir/err" >"$dir/loaded"
	[ "$(cat "$dir/loaded")" -ge 2300 ]
}
until beside; do
	! grep -q ' of [0-9]\{5,\} ms' "$dir/err" || fail "nothing was pinned in all that time"
	loops=$((loops * 2)) # it was over before loading went on
done
