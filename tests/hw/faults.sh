#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: faults.sh BUILD
# A program of the runtime API with a bad pointer or a trap gets the same results on the GPU under
# heddle as without. (The virtual GPU lacks the driver features that the runtime needs.)
set -eu
build=$1
fault=$build/tests/hw/fault
if ! [ -x "$fault" ] || ! "$fault" none | grep -qx 77; then
	echo "skipped: no nvcc, or no GPU"
	exit 77
fi
dir=$(mktemp -d)
daemon=
trap 'kill $daemon 2>/dev/null || :; rm -rf "$dir"' EXIT INT TERM
HEDDLE_SOCKET=$dir/sock
XDG_CACHE_HOME=$dir/cache XDG_STATE_HOME=$dir/state
export HEDDLE_SOCKET XDG_CACHE_HOME XDG_STATE_HOME HEDDLE_FORM_WAIT_MS=60000
"$build/heddled" --config-root /nonexistent --socket "$HEDDLE_SOCKET" 2>"$dir/log" &
daemon=$!
for _ in $(seq 600); do
	"$build/heddle" status >/dev/null 2>&1 && break
	sleep 0.05
done
bad=0
for what in none pointer trap; do
	"$fault" $what >"$dir/want"
	"$build/heddle" run --device cuda -- "$fault" $what >"$dir/out"
	cmp "$dir/want" "$dir/out" || {
		diff "$dir/want" "$dir/out" || bad=1
	}
done
exit $bad
