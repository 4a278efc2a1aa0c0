#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A compiler that hangs on a program's forms hangs once, not once more with each start of the program,
# and the program runs as it is.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export CUDA_CACHE_PATH="$dir/driver" HEDDLE_FORM_WAIT_MS=0
mkdir "$CUDA_CACHE_PATH"

assemblers() { # the ids of those of this test
	for p in /proc/[0-9]*; do
		case $(readlink "$p/exe" 2>/dev/null) in */heddle-assembler) ;; *) continue ;; esac
		! tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qx "XDG_CACHE_HOME=$XDG_CACHE_HOME" || echo "${p#/proc/}"
	done
}
ended() {
	for p in $(assemblers); do
		kill -9 "$p" 2>/dev/null || :
	done
}
trap 'ended; stop; end_cases; rm -rf "$dir"' EXIT

one_is_left() {
	[ "$(assemblers | wc -l)" = 1 ]
}

export HEDDLE_VGPU="$HEDDLE_VGPU,hang=hd_slot"
natively() {
	plain remade 4 64 30 >"$top/remade"
}
beside plain natively
for start in 1 2 3; do
	start watch
	shim remade 4 64 30 >"$dir/out" 2>"$dir/err" || fail "start $start: status $?"
	stop
	awaited 10 one_is_left || fail "start $start: $(assemblers | wc -l) assemblers"
	mv "$dir/out" "$dir/out.$start"
done
together
for out in "$dir"/out.*; do
	cmp -s "$top/remade" "$out" || fail "results differ: $out"
done
