#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program makes more launches that the device has not run yet than the page has slots. It must
# wait for a slot, as it would for room in the driver's queue, and none of its launches may bypass
# the queue unmanaged. The same holds for launches that are too short to be managed one by one,
# because many of them in a queue last long.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
# On a machine that stalls for a while, a few launches may be unmanaged.
few() { # MODE
	cat "$dir/daemon"
	opaque=$(sed -n 's/^native [0-9]* opaque [0-9]* of \([0-9]*\)$/\1/p' "$dir/daemon" | tail -n 1)
	[ "$opaque" -lt 100 ] || fail "$1: $opaque of 401 launches went plain"
}
for mode in watch storm; do
	start "$mode"
	same chain 200 24 200
	stop
	few "$mode"
done
export FAKE_MIN_NS=1000000000
start watch
same chain 200 24 200
stop
few short
