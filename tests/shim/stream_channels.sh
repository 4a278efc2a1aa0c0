#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# The shim counts a stream for as long as it may hold a hardware channel: not the streams of ended
# threads, and a destroyed stream only until its work is complete.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export CUDA_DEVICE_MAX_CONNECTIONS=10

# Forty threads run one after another, so each can use all channels.
managed watch threads 1 24 30
grep -q '^native 0 ' "$dir/daemon" || fail "streams of threads that have ended count"

# Forty streams are destroyed one after another while their launches are in flight.
for _ in 1 2 3 4 5; do # tried again if the daemon stalled and saw no streams
	managed watch brief 1 64 100
	at_once=$(sed -n 's/^at once \([0-9]*\)/\1/p' "$dir/daemon")
	[ "$at_once" -lt 2 ] || break
done
grep -q '^native 0 ' "$dir/daemon" || fail "destroyed streams count for ever"
[ "$at_once" -ge 2 ] || fail "the launches were to be under way at the same time"
[ "$at_once" -lt 10 ] || fail "streams that have work held more channels than there are"
