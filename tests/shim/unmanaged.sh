#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# unmanaged.sh SCENARIO N: N of its launches are not managed, since no pass takes their kernels or they
# are cooperative: they are counted, and wait while their program is held. All others are managed.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
scenario=$1 n=$2 mode=turn
[ "$n" -gt 0 ] || mode=watch
start watch
same "$scenario" 4 24 30 # its forms are in the cache from here on
stop
unmanaged="$n"
managed "$mode" "$scenario" 4 24 30
grep -q "^native 0 opaque [0-9]* of $n\$" "$dir/daemon" || fail "$n launches were to be unmanaged"
# Constants are known to be such.
[ "$scenario" != globals ] || grep -q 'guards 0 ' "$dir/daemon" || fail "some were only guarded"
grep -q 'waited 1 ' "$dir/daemon" || [ "$mode" = watch ] || fail "the unmanaged launches did not wait"
