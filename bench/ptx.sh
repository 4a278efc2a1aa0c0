#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/ptx.sh BUILD [MIB]
# How fast PTX is read and written: modules that nvcc and clang make of a template library and of
# the kernels, each repeated until it has MIB (16) MiB, and all of them as they are. Uses whichever
# compiler is there. And how long one kernel of BRANCHES (5000 and eight times as many) takes to be
# looked at and rewritten: about eight times as long.
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

for branches in 5000 40000; do
	awk -v n="$branches" 'BEGIN {
		print ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{"
		print ".reg .pred %p<2>;\n.reg .b32 %r<2>;\nmov.u32 %r1, %tid.x;"
		for (i = 0; i < n; i++)
			printf "setp.lt.u32 %%p1, %%r1, %d;\n@%%p1 bra L%d;\nadd.u32 %%r1, %%r1, 7;\nL%d:\n", i, i, i
		print "ret;\n}"
	}' >"$dir/branches.ptx"
	began=$(date +%s%N)
	"$build/heddle" ptx preempt "$dir/branches.ptx" >"$dir/out"
	echo "one kernel of $branches branches: $((($(date +%s%N) - began) / 1000000)) ms"
done
