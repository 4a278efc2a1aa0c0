#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A launch in another form reuses the slot of an earlier launch. Nothing of the earlier launch may
# be left in the slot, in particular not its number of hardware blocks.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
start watch
same reused 1 8 1 # puts the forms into the cache
stop
managed watch reused 1 8 1
# The last launch would fail if it had as many hardware blocks as the launch before.
grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "launches went plain"
