#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# The daemon limits the time of a program's unmanaged work in flight. The queue must stay short, on
# all kinds of streams. A launch that waits for a later launch of its own thread must still make
# progress. Without a limit, the length of the queue is the program's choice.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

deepest() { # MODE SCENARIO...
	mode=$1
	shift
	start "$mode"
	same "$@"
	stop
	cat "$dir/daemon"
	grep -q '^seen 0 ' "$dir/daemon" || fail "$mode: some were managed"
	sed -nE 's/^native 0 opaque ([0-9]+) of ([0-9]+)$/\1 \2/p' "$dir/daemon" | while read -r ended of; do
		[ "$ended" = "$of" ] || fail "$mode: $ended of $of launches are known to be over"
	done
	deep=$(sed -n 's/^deep //p' "$dir/daemon")
}
deepest watch flood 70 8 400
[ "$deep" -gt 60 ] || fail "the queue was to be long: $deep"
deepest bound flood 70 8 400
[ "$deep" -lt 40 ] || fail "$deep launches were in flight"
deepest watch contexts 20 8 400
deepest bound contexts 20 8 400
deepest bound blocked 30 8 100
# Not all 30, because the daemon only samples the depth.
[ "$deep" -ge 15 ] || fail "all were to be launched behind what blocks them: $deep"
# A kernel waits for the program. The program's next launch must not wait for that kernel, even if
# the tenant is also held every few ms.
start hold-bound
same twice 3 24 30
stop
