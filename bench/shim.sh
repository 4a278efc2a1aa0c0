#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/shim.sh WHERE [DRIVER]
# Measures what a managed and an unmanaged launch cost through the shim, compared with the driver in
# the same run. WHERE: a build folder, or the output of ./run dist. DRIVER: a libcuda.so.1, or
# "system" for the system's (default: the virtual GPU's, whose launches cost so much that only the
# figures of a GPU are meaningful).
set -eu
parts=$1/lib/heddle
bench=$parts/bench fake=$parts/tests/fake_daemon shim=$parts/shim cpu=$parts/cpu
[ -d "$parts" ] || bench=$1/bench fake=$1/tests/fake_daemon shim=$1/src/shim cpu=$1/src/dev/cpu
driver=${2:-$cpu/libcuda.so.1}
if [ "$driver" = system ]; then
	driver=$(ldconfig -p | sed -n 's/.*libcuda.so.1 .*x86-64.*=> //p' | head -n 1)
	[ -n "$driver" ] || { echo "shim.sh: this system has no libcuda.so.1" >&2; exit 1; }
fi
dir=$(mktemp -d)
export HEDDLE_SOCKET="$dir/sock" XDG_CACHE_HOME="$dir/cache" FAKE_MIN_NS=0 HEDDLE_FORM_WAIT_MS=60000
"$fake" "$dir/sock" grant >"$dir/log" &
daemon=$!
trap 'kill $daemon; rm -rf "$dir"' EXIT
sleep 0.3
"$bench/bench_shim" "$shim/libcuda.so.1" "$driver"
