#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A launch begins while its tenant is held, and gets a grant while its workers are leaving. The shim
# must launch the one round of workers that the grant requests, and not another one for each drain
# report.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
start grant
same chain 10 140 20 # puts the forms into the cache
stop
managed early chain 10 140 20
number() {
	sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" "$dir/daemon" | tail -n 1
}
[ "$(number granted)" -ge 20 ] || fail "the launches were not granted one by one"
[ "$(number early)" -gt 0 ] || { echo "skipped: all had left by then"; exit 77; }
# On a busy machine, the shim launches a second round of workers if the first has not started after
# a long time. If it launched a round for each drain report, there would be three for each grant.
[ "$(number resumed)" -le $(($(number granted) * 2)) ] || fail "more rounds than grants"
