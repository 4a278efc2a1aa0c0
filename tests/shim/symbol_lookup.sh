#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Looking up a module variable asks the driver only once: repeated lookups do not wait for launches
# in flight, and nothing is remembered of an unloaded module.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
for mode in watch storm; do
	managed "$mode" symbols 20 64 600
	n=$(sed -n 's/^symbols: \([0-9]*\) of 20 .*/\1/p' "$dir/err")
	[ "$n" -gt 15 ] || fail "$mode: $n of 20 did not wait"
done
