#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Tests copies from pageable memory to the device. If launches may be preempted, even a small copy
# waits, outside the driver, for earlier work of its stream, unless that work itself waits for
# something that the program does after the copy. If no daemon watches, or the program has high
# priority, small copies return early as they do natively, whatever their stream waits for.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
copies() { # MODE...
	start grant
	same copies 1 24 30 # puts the form into the cache
	stop
	for mode; do
		managed "$mode" copies 6 24 1500
		grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "$mode: launches went plain"
		# After a copy has waited for the launch before it, the event behind this launch may
		# still be open. So it was for nine copies on a busy machine, and for every copy
		# that waited under TSan. If no copy waited, it would be so for 18.
		along=$(sed -n 's/^copies: \([0-9]*\) of 24 .*/\1/p' "$dir/err")
		[ "$along" -lt 14 ] || fail "$mode: $along copies did not wait"
	done
}
# gated MODE ERROR: copies must not wait while their stream waits behind a gate that opens only
# after them; otherwise prints ERROR
gated() {
	start grant
	same gated 2 24 30 # puts the form into the cache
	stop
	managed "$1" gated 2 24 30
	grep -q '^copies: 6 of 6 ' "$dir/err" || fail "$1: $2"
}
high() {
	export HEDDLE_PRIORITY=high
	gated watch "small copies of a high program waited"
}
# `heddle set` changes the priority while the program runs. The shim must use the new priority, not
# that of the welcome message.
lowered() {
	export HEDDLE_PRIORITY=high FAKE_PRIORITY=0
	copies watch
}
raised() {
	export HEDDLE_PRIORITY=low FAKE_PRIORITY=2
	gated watch "small copies of a program that was raised to high waited"
}
# Copies wait for launches before them. If these in turn wait for something that the program does
# after the copy, the copy waits for a limited time only.
beside copies copies watch hold storm
for mode in watch hold storm; do
	beside $mode gated $mode "copies waited for what comes after them"
done
beside grant gated grant "small copies waited, watched by nobody"
beside high high
beside lowered lowered
beside raised raised
together
