#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Tests the shim beside a preloaded library that answers every dlsym of a driver function with a
# function of its own. The library must see exactly the program's calls, as without the shim, and
# the launches must be managed.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
: "$INTERPOSED" "$INTERPOSER"
linked=$PROG

before() { # LIBRARY...: preloads these libraries before the program's own
	preload=$*
}

run() { # LIBCUDA ARG...
	lib=$1
	shift
	HEDDLE_DRIVER_LIB=$CPU LD_LIBRARY_PATH=$(dirname "$lib") LD_PRELOAD=$preload timeout 200 "$@"
}

beside() { # ARG...: the program and the interposer must print the same with and without the shim
	before "$INTERPOSER"
	run "$CPU" "$@" >"$dir/plain" 2>"$dir/err" || fail "$* on the driver: status $?"
	before "${first:+$first }$INTERPOSER"
	start watch
	run "$SHIM" "$@" >"$dir/out" 2>"$dir/err" || fail "$* on the shim: status $?"
	stop
	cmp -s "$dir/plain" "$dir/out" || { diff "$dir/plain" "$dir/out" || :; fail "$*: results differ"; }
	cat "$dir/daemon"
	grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "$*: launches were not managed"
}

first=
beside "$INTERPOSED" dlsym
grep -q '^interposer: 1 inits, 50 launches, 3 allocations, 1 refused$' "$dir/out" || fail "not all calls were seen"
grep -q '^16 MiB: 2$' "$dir/out" || fail "the limit on memory did not hold"
beside "$INTERPOSED" proc
grep -q '^interposer: 1 inits, 50 launches, 3 allocations, 1 refused$' "$dir/out" || fail "not all calls were seen"
beside "$linked" chain 10
# If the shim is the first library, the program still gets the interposer's dlsym.
first=$SHIM
beside "$INTERPOSED" dlsym
beside "$INTERPOSED" proc
