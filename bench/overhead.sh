#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/overhead.sh [SIZE [SCALE [PROGRAM...]]]
# Builds bench/overhead.c with each example program, needing only cc and nvcc, and runs all.
set -eu
cd "$(dirname "$0")/.."
size=${1:-small}
scale=${2:-1}
if [ $# -gt 2 ]; then
	shift 2
else
	set -- va nn pf pl md spmv mm cfd
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
flags="-O2 -std=gnu11 -D_GNU_SOURCE -fno-strict-aliasing -w -Isrc -Iinclude"
for f in src/base/*.c src/ptx/*.c src/cfg/*.c src/pass/*.c src/dev/*.c examples/host.c; do
	# Flags are words.
	# shellcheck disable=SC2086
	cc $flags -c "$f" -o "$dir/$(echo "$f" | tr / _).o" &
done
for name; do
	nvcc -ptx -arch=sm_90 "kernels/$name.cu" -o "$dir/$name.ptx" &
done
wait
for name; do
	# shellcheck disable=SC2086
	cc $flags -O3 -ffp-contract=off bench/overhead.c "examples/$name.c" "$dir"/*.o \
		-o "$dir/$name" -lpthread -lm -ldl &
done
wait
for name; do
	timeout 20 "$dir/$name" "$dir/$name.ptx" "$size" "$scale" || echo "$name: exit $?"
done
