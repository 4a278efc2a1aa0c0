#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# The driver's compiler hangs on a program's forms. This must cost one hang for each text, and none
# at the next start of the program. The program must run natively.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export CUDA_CACHE_PATH="$dir/driver" HEDDLE_FORM_WAIT_MS=0
mkdir "$CUDA_CACHE_PATH"

assembler=$(dirname "$SHIM")/heddle-assembler
assemblers() { # prints the process ids of this test's assemblers
	for p in /proc/[0-9]*; do
		# shellcheck disable=SC3013 # dash, bash and busybox know -ef
		[ "$p/exe" -ef "$assembler" ] || continue
		! tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qx "XDG_CACHE_HOME=$XDG_CACHE_HOME" || echo "${p#/proc/}"
	done
}
ended() {
	for p in $(assemblers); do
		kill -9 "$p" 2>/dev/null || :
	done
}
trap 'ended; stop; end_cases; rm -rf "$dir"' EXIT

# The program loads two modules, so there are two texts; on a busy machine it may end before it
# requests the second.
few_are_left() {
	left=$(assemblers | wc -l)
	[ "$left" = 1 ] || [ "$left" = 2 ]
}

export HEDDLE_VGPU="$HEDDLE_VGPU,hang=hd_slot"
natively() {
	plain remade 4 64 30 >"$top/remade"
}
beside plain natively
for start in 1 2 3 4; do
	start watch
	shim remade 4 64 30 >"$dir/out" 2>"$dir/err" || fail "start $start: status $?"
	stop
	awaited 10 few_are_left || fail "start $start: $(assemblers | wc -l) assemblers"
	mv "$dir/out" "$dir/out.$start"
done
together
for out in "$dir"/out.*; do
	cmp -s "$top/remade" "$out" || fail "results differ: $out"
done
