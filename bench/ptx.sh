#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/ptx.sh BUILD [MIB]
# How fast PTX is read and written: modules that nvcc and clang make of a template library and of
# the kernels, each repeated until it has MIB (16) MiB, and all of them as they are. Uses whichever
# compiler is there.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
mib=${2:-16}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc || true)
clang=$(command -v clang-14 || true)
if [ -n "$nvcc" ]; then
	for option in -O3 -lineinfo -G; do
		"$nvcc" -ptx -arch=sm_90 -std=c++17 $option "$root/tests/ptx/cuda/cub.cu" \
			-o "$dir/nvcc-cub$option.ptx"
	done
	"$nvcc" -ptx -arch=sm_90 "$root/kernels/cfd.cu" -o "$dir/nvcc-cfd.ptx"
fi
if [ -n "$clang" ]; then
	for option in -O0 -O3; do
		for name in cfd mm; do
			"$clang" -x cuda --cuda-device-only -nocudainc -nocudalib -S \
				--cuda-gpu-arch=sm_80 -Wno-unknown-cuda-version $option \
				"$root/kernels/$name.cu" -o "$dir/clang-$name$option.ptx"
		done
	done
fi
"$build/bench/bench_ptx" -m "$mib" "$dir"/*.ptx
