#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program that launches far ahead of the device, more than the page has slots: it waits for one, as
# it would for room in the driver's queue, and none of its launches goes past them unmanaged. Nor do
# such as are too short to be managed by themselves: a queue of them is not.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
for mode in watch storm; do
	managed "$mode" chain 400 24 200
	grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "$mode: launches went past the slots"
	grep -q '^seen 801 ' "$dir/daemon" || fail "$mode: not all were seen"
done
export FAKE_MIN_NS=1000000000
start watch
same chain 400 24 200
stop
cat "$dir/daemon"
opaque=$(sed -n 's/^native 0 opaque [0-9]* of \([0-9]*\)$/\1/p' "$dir/daemon" | tail -n 1)
[ "$opaque" -lt 200 ] || fail "$opaque of 801 launches in a queue went plain"
