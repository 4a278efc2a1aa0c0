#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Tests how many connections (hardware channels) the shim lets the driver make: the driver's default
# until a program needs more. Once the program has run for a while, the number that it needs is
# stored, and its next start uses that number. A number set by the user stays.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
unset CUDA_DEVICE_MAX_CONNECTIONS HEDDLE_CONNECTIONS
export PROG_CONNECTIONS=1
prog=$PROG

# told NUMBER: the last run must have had this number in its environment, or none if it is the
# driver's default
told() {
	[ "$1" = "$few" ] && said="unsaid" || said=$1
	grep -qxF "connections $said" "$dir/err" || fail "not $1 connections"
}

unmanaged_launches() {
	sed -n 's/^native \([0-9]*\) .*/\1/p' "$dir/daemon"
}

few=8 enough=16 # the driver's default, and twice as many

# A program that has just started does not store its number.
export PROG_STREAMS=$((few - 3))
for _ in 1 2; do
	start watch
	same many 2 24 30
	stop
done
told "$few"
[ "$(unmanaged_launches)" -gt 0 ] || fail "all launches were managed, of more streams than fit"
export HEDDLE_CONNECTIONS_AFTER=0

# A program uses more streams than there are connections. Its next start has enough.
start watch
same many 2 24 30
stop
told "$few"
[ "$(unmanaged_launches)" -gt 0 ] || fail "all launches were managed, of more streams than fit"
managed watch many 2 24 30
told "$enough"
[ "$(unmanaged_launches)" = 0 ] || fail "there is still no room for them"
unset PROG_STREAMS

# The start after the next one uses the maximum number of connections.
start watch
same many 2 24 30
same many 2 24 30
stop
told 32

# The number is stored per program, and for an interpreter per script.
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

# A number that the user set stays, and none is stored. If the program inherited the number from
# another program under heddle, the user has not set it.
rm -rf "$dir/cache"
CUDA_DEVICE_MAX_CONNECTIONS=9 same many 2 24 30
told 9
same chain 4 24 30
told "$few"
HEDDLE_CONNECTIONS=31 CUDA_DEVICE_MAX_CONNECTIONS=31 same chain 4 24 30
told "$few"
HEDDLE_CONNECTIONS=12 CUDA_DEVICE_MAX_CONNECTIONS=31 same chain 4 24 30
told 31

# If the number cannot be stored, or the file has invalid contents, the default applies.
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
	# overwrite the number, which follows the file's digest
	printf '\037' | dd of="$file" bs=1 seek=48 conv=notrunc 2>/dev/null
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
