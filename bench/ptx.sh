#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/ptx.sh BUILD [MIB]
# Measures how fast PTX is read and written. The modules are those that the installed compilers
# (nvcc, clang) make of a template library and of the kernels. Each is repeated up to MIB MiB
# (default: 16); then all of them run unchanged. Also measures inspecting and rewriting one kernel
# of BRANCHES branches (5000) and one of 20 times as many, which should take about 20 times as long
# (goal for the larger: 5 s), and 100 MB of PTX in 20,000 kernels (goal: 10 s, 4 GB).
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

for branches in 5000 100000; do
	awk -v n="$branches" 'BEGIN {
		print ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{"
		print ".reg .pred %p<2>;\n.reg .b32 %r<2>;\nmov.u32 %r1, %tid.x;"
		for (i = 0; i < n; i++)
			printf "setp.lt.u32 %%p1, %%r1, %d;\n@%%p1 bra L%d;\nadd.u32 %%r1, %%r1, 7;\nL%d:\n", i, i, i
		print "ret;\n}"
	}' >"$dir/branches.ptx"
	printf 'one kernel of %d branches: ' "$branches"
	"$build/bench/bench_ptx" -c "$build/heddle" ptx preempt "$dir/branches.ptx"
done

# Each kernel is a loop over 4 KB of arithmetic, after a bounds check that skips it: the shape that
# compilers emit most often.
awk -v n=20000 'BEGIN {
	print ".version 7.0\n.target sm_70\n.address_size 64"
	for (i = 0; i < 70; i++)
		body = body sprintf("\tfma.rn.f32 %%f%d, %%f%d, %%f%d, 0f3F800000;\n\tadd.s32 %%r%d, %%r%d, %d;\n",
			i + 3, i + 2, i + 1, i + 10, i + 9, i)
	for (k = 0; k < n; k++) {
		printf ".visible .entry k%d(\n\t.param .u64 k%d_p0,\n\t.param .u32 k%d_p1\n)\n{\n", k, k, k
		print "\t.reg .pred %p<4>;\n\t.reg .f32 %f<80>;\n\t.reg .b32 %r<90>;\n\t.reg .b64 %rd<6>;"
		printf "\tld.param.u64 %%rd1, [k%d_p0];\n\tld.param.u32 %%r1, [k%d_p1];\n", k, k
		print "\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmov.u32 %r4, %tid.x;"
		print "\tmad.lo.s32 %r9, %r2, %r3, %r4;\n\tsetp.ge.s32 %p1, %r9, %r1;"
		printf "\t@%%p1 bra $L%d_2;\n", k
		print "\tcvta.to.global.u64 %rd2, %rd1;\n\tmul.wide.s32 %rd3, %r9, 4;"
		print "\tadd.s64 %rd4, %rd2, %rd3;\n\tld.global.f32 %f1, [%rd4];\n\tmov.f32 %f2, %f1;"
		printf "$L%d_1:\n%s\tst.global.f32 [%%rd4], %%f72;\n", k, body
		printf "\tsetp.lt.s32 %%p2, %%r79, %%r1;\n\t@%%p2 bra $L%d_1;\n$L%d_2:\n\tret;\n}\n", k, k
	}
}' >"$dir/large.ptx"
printf '20000 kernels, %d MB: ' "$(($(wc -c <"$dir/large.ptx") / 1000000))"
"$build/bench/bench_ptx" -c "$build/heddle" ptx preempt "$dir/large.ptx"
