#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A launch's slot had a launch of another form before, and nothing of that is left: not how many
# blocks are launched.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
start watch
same reused 1 8 1 # its forms are in the cache from here on
stop
managed watch reused 1 8 1
# One could not be launched in its form if it were launched as the one before was.
grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "launches went plain"
