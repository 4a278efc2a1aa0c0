#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# sms_given_back.sh MIN: one launch loses one SM after another and is given each back; all are in use again
# each time, at least MIN times before it ends, and its results are right. SMs that stay idle once
# would end this: the next one is taken only when all are full.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
min=$1
export CUDA_DEVICE_MAX_CONNECTIONS=32 # room for many rounds, and then for many streams
start back
same lengthy 1 100 30 # its form is in the cache from here on
stop
managed back lengthy 1 10000 300
again=$(sed -n 's/.*in use again \([0-9]*\).*/\1/p' "$dir/daemon")
! grep -q 'native [1-9]' "$dir/daemon" || fail "launches went plain"
[ "$again" -ge "$min" ] || fail "all SMs were in use again only $again times"
