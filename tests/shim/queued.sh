#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program that launches far ahead of the device, more than the page has slots: it waits for one, as
# it would for room in the driver's queue, and none of its launches goes past them unmanaged.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
for mode in watch storm; do
	managed "$mode" chain 400 24 200
	grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "$mode: launches went past the slots"
	grep -q '^seen 801 ' "$dir/daemon" || fail "$mode: not all were seen"
done
