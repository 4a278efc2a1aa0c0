#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# How many connections the driver is told to make: its own number, of which nothing is said, until a
# program turns out to need more; that is noted, once it has run for long, and its next start has as
# many as it needs. What the user sets stays.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
unset CUDA_DEVICE_MAX_CONNECTIONS HEDDLE_CONNECTIONS
export PROG_CONNECTIONS=1
prog=$PROG

told() { # NUMBER: that the program of the last run found in its environment; the driver's own: nothing
	[ "$1" = "$few" ] && said="unsaid" || said=$1
	grep -qxF "connections $said" "$dir/err" || fail "not $1 connections"
}

unmanaged_launches() {
	sed -n 's/^native \([0-9]*\) .*/\1/p' "$dir/daemon"
}

few=8 enough=16 # the driver's, and twice as many

# Of a program that has just begun nothing is noted.
export PROG_STREAMS=$((few - 3))
for _ in 1 2; do
	start watch
	same many 2 24 30
	stop
done
told "$few"
[ "$(unmanaged_launches)" -gt 0 ] || fail "all launches were managed, of more streams than fit"
export HEDDLE_CONNECTIONS_AFTER=0

# More streams than fit; the next start has room for them.
start watch
same many 2 24 30
stop
told "$few"
[ "$(unmanaged_launches)" -gt 0 ] || fail "all launches were managed, of more streams than fit"
managed watch many 2 24 30
told "$enough"
[ "$(unmanaged_launches)" = 0 ] || fail "there is still no room for them"
unset PROG_STREAMS

# As many as there are at most, for the next but one.
start watch
same many 2 24 30
same many 2 24 30
stop
told 32

# By the program, and of an interpreter by what it runs.
cp "$PROG" "$dir/other"
cp "$PROG" "$dir/python3"
PROG=$dir/other
start watch
same chain 4 24 30
told "$few"
PROG=$dir/python3
same many 2 24 30
told "$few"
same chain 4 24 30
told "$few"
same many 2 24 30
told 32
PROG=$prog

# What the user sets is left alone, and nothing is noted. What was inherited from another program
# under heddle is not the user's.
rm -rf "$dir/cache"
CUDA_DEVICE_MAX_CONNECTIONS=9 same many 2 24 30
told 9
same chain 4 24 30
told "$few"
HEDDLE_CONNECTIONS=31 CUDA_DEVICE_MAX_CONNECTIONS=31 same chain 4 24 30
told "$few"
HEDDLE_CONNECTIONS=12 CUDA_DEVICE_MAX_CONNECTIONS=31 same chain 4 24 30
told 31

# Nowhere to note it, or nothing but rubbish there: as if nothing were noted.
for _ in 1 2; do
	(unset HOME XDG_CACHE_HOME && same many 2 24 30 && told "$few")
	for nowhere in /dev/null "$dir/none/none/none"; do
		XDG_CACHE_HOME=$nowhere same many 2 24 30
		told "$few"
	done
done
rm -rf "$dir/cache"
same many 2 24 30
same chain 4 24 30
told 32
for file in "$dir"/cache/heddle/*; do
	printf '\037' | dd of="$file" bs=1 seek=48 conv=notrunc 2>/dev/null # the number, behind its digest
done
same chain 4 24 30
told "$few"
for file in "$dir"/cache/heddle/*; do
	rm "$file"
	mkdir "$file"
done
same many 2 24 30
told "$few"
stop
