#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# When a call that waits for unmanaged work returns, that work must already be counted as complete,
# because other tenants may wait for its end.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
start watch
same told 200 8 5
stop
cat "$dir/daemon"
grep -q '^native 0 opaque 800 of 800$' "$dir/daemon" || fail "the launches were not 800 unmanaged ones"
