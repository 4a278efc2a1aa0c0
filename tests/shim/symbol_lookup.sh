#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Where a module variable is: the driver is asked once, and who asks again does not wait for launches
# that are under way; nor is anything remembered of a module that is gone.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
for mode in watch storm; do
	managed "$mode" symbols 20 64 600
	n=$(sed -n 's/^symbols: \([0-9]*\) of 20 .*/\1/p' "$dir/err")
	[ "$n" -gt 15 ] || fail "$mode: $n of 20 did not wait"
done
