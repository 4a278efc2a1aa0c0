#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Work that is not managed is counted as over before the call that waits for it returns, whichever that
# is: others may wait for it.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
start watch
same told 200 8 5
stop
cat "$dir/daemon"
grep -q '^native 0 opaque 800 of 800$' "$dir/daemon" || fail "the launches were not 800 unmanaged ones"
