#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: sms_given_back.sh MIN
# The daemon takes one SM after another from a launch, and gives each back before it takes the next.
# Each time, all SMs must come into use again, at least MIN times before the launch ends. Its
# results must be right. If an SM stayed idle, the sequence would stop, because the daemon takes the
# next SM only when all are full.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
min=$1
# enough streams for many rounds of workers, and then for the program's
export CUDA_DEVICE_MAX_CONNECTIONS=32
start back
same lengthy 1 100 30 # puts the form into the cache
stop
managed back lengthy 1 10000 300
again=$(sed -n 's/.*in use again \([0-9]*\).*/\1/p' "$dir/daemon")
! grep -q 'native [1-9]' "$dir/daemon" || fail "launches went plain"
[ "$again" -ge "$min" ] || fail "all SMs were in use again only $again times"
