#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# The shim reports asynchronous memsets as unmanaged work only under MPS, and reports their end.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
# more N: the program must report N units of work in addition to its unmanaged launches, and all of
# it as complete
more() {
	start watch
	same defaults 20
	stop
	awk -v want="$1" '/^native [0-9]* opaque/ { exit !($4 == $6 && $6 - $2 == want) }' "$dir/daemon" ||
		fail "not $1 memsets: $(grep '^native' "$dir/daemon")"
}
more 0
FAKE_MPS=1
export FAKE_MPS
more 20
