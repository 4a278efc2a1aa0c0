#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: run.sh BUILD PROG GROUP...
# Runs each group of the program's tests under heddled on the virtual GPU. The groups must pass,
# and the shim must see the launches that our runtime makes.
set -eu
build=$1 prog=$2
shift 2
dir=$(mktemp -d)
daemon=''
end() {
	status=$?
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || :
	wait
	rm -rf "$dir"
	exit $status
}
trap end EXIT
trap 'exit 1' INT TERM
unset HEDDLE_DEVICE LD_LIBRARY_PATH 2>/dev/null || :
export HEDDLE_SOCKET="$dir/sock" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state" HEDDLE_VGPU="cudart-run-$$"
export HEDDLE_FORM_WAIT_MS=60000

"$build/heddled" >"$dir/heddled.out" 2>&1 &
daemon=$!
tries=600
until "$build/heddle" status >/dev/null 2>&1; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] || { echo "heddled does not answer"; exit 1; }
	sleep 0.05
done
for group; do
	"$build/heddle" run --device cpu -v -- "$prog" "$group" >"$dir/out" 2>"$dir/err" || {
		echo "$group: status $?"
		cat "$dir/out" "$dir/err"
		exit 1
	}
	grep -Eq '^  launches  *[1-9]' "$dir/err" || {
		echo "$group: the shim saw no launch"
		cat "$dir/err"
		exit 1
	}
	echo "$group: $(sed -n 's/^  launches *//p' "$dir/err")"
done
