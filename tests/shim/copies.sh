#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Copies from pageable memory to the device. Where launches may be taken off the device, also small
# ones wait for what is ahead of them in their stream, outside the driver, but not for what is behind
# something that the program does only after the copy. Where nobody watches, or to a program of high
# priority, that does not happen: small ones are taken along, as natively, whatever their stream waits
# for.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
start grant
same copies 1 24 30 # its form is in the cache from here on
same gated 2 24 30
grep -q '^copies: 6 of 6 ' "$dir/err" || fail "small copies waited, watched by nobody"
stop
for mode in watch hold storm; do
	managed "$mode" copies 6 24 3000
	grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "$mode: launches went plain"
	# One that comes when its launch was just seen to end may find the event behind it still open:
	# on a busy machine nine did, and under TSan each. Were they taken along, so would be 18.
	along=$(sed -n 's/^copies: \([0-9]*\) of 24 .*/\1/p' "$dir/err")
	[ "$along" -lt 14 ] || fail "$mode: $along copies did not wait"
done
for mode in watch hold storm; do
	managed "$mode" gated 2 24 30
	grep -q '^copies: 6 of 6 ' "$dir/err" || fail "$mode: copies waited for what comes after them"
done
start watch
export HEDDLE_PRIORITY=high
same gated 2 24 30
grep -q '^copies: 6 of 6 ' "$dir/err" || fail "small copies of a high program waited"
stop
