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
copies() { # MODE...
	start grant
	same copies 1 24 30 # its form is in the cache from here on
	stop
	for mode; do
		managed "$mode" copies 6 24 1500
		grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "$mode: launches went plain"
		# One that comes when its launch was just seen to end may find the event behind it still open:
		# on a busy machine nine did, and under TSan each. Were they taken along, so would be 18.
		along=$(sed -n 's/^copies: \([0-9]*\) of 24 .*/\1/p' "$dir/err")
		[ "$along" -lt 14 ] || fail "$mode: $along copies did not wait"
	done
}
gated() { # MODE WHAT: what is wrong if the copies behind what their stream waits for wait, too
	start grant
	same gated 2 24 30 # its form is in the cache from here on
	stop
	managed "$1" gated 2 24 30
	grep -q '^copies: 6 of 6 ' "$dir/err" || fail "$1: $2"
}
high() {
	export HEDDLE_PRIORITY=high
	gated watch "small copies of a high program waited"
}
# `heddle set` changes the priority while the program runs: the new one counts, not that of the welcome.
lowered() {
	export HEDDLE_PRIORITY=high FAKE_PRIORITY=0
	copies watch
}
raised() {
	export HEDDLE_PRIORITY=low FAKE_PRIORITY=2
	gated watch "small copies of a program that was raised to high waited"
}
# Copies that wait for what comes after them do so for a while each.
beside copies copies watch hold storm
for mode in watch hold storm; do
	beside $mode gated $mode "copies waited for what comes after them"
done
beside grant gated grant "small copies waited, watched by nobody"
beside high high
beside lowered lowered
beside raised raised
together
