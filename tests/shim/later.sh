#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A program that begins without a daemon is the tenant of the first one that comes, and its launches
# are managed: also if the context in which it began is gone by then. Its results are right.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
begun() {
	grep -q begun "$dir/out"
}
plain remade 4 64 2000 >"$dir/plain"
PROG_MANAGED=1 shim remade 4 64 2000 >"$dir/out" 2>"$dir/err" &
prog=$!
await "the program does not begin" begun
start watch
wait $prog || fail "status $?"
stop
cat "$dir/daemon"
cmp "$dir/plain" "$dir/out" || fail "results differ"
[ "$(wc -l <"$dir/err")" = 1 ] || fail "not one line of warning"
[ "$(sed -n 's/^seen \([0-9]*\) .*/\1/p' "$dir/daemon")" -ge 3 ] || fail "its launches are not managed"
