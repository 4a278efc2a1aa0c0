#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: unmanaged.sh SCENARIO N
# N launches of the scenario are not managed, because no pass accepts their kernels or because they
# are cooperative. They must be counted, and wait while the program is held. All others must be
# managed.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
scenario=$1 n=$2 mode=turn
[ "$n" -gt 0 ] || mode=watch
start watch
same "$scenario" 4 24 30 # puts the forms into the cache
stop
unmanaged="$n"
managed "$mode" "$scenario" 4 24 30
grep -q "^native 0 opaque [0-9]* of $n\$" "$dir/daemon" || fail "$n launches were to be unmanaged"
# The pass knows that the program's constants do not change, so no guard form is needed.
[ "$scenario" != globals ] || grep -q 'guards 0 ' "$dir/daemon" || fail "some were only guarded"
grep -q 'waited 1 ' "$dir/daemon" || [ "$mode" = watch ] || fail "the unmanaged launches did not wait"
