#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: nvcc.sh LIST [MODE…]
# nvcc makes fat binaries, a cubin, an object and an executable in each compression mode, and
# image_list lists them: every entry must unpack, and the right one must be picked. MODE: only a
# fat binary in this mode. Skipped without nvcc.
set -eu
list=$1
shift
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/k.cu" <<'EOF'
__device__ int g[64];
extern "C" __global__ void kern(int *p) { p[threadIdx.x] += g[threadIdx.x]; }
int main() { kern<<<1, 1>>>(nullptr); return 0; }
EOF
expect() { # EXPECTED FILE
	got=$("$list" "$2")
	[ "$got" = "$1" ] || { echo "$2: expected"; echo "$1"; echo "got"; echo "$got"; exit 1; }
}
archs='-gencode arch=compute_90,code=[sm_90,compute_90] -gencode arch=compute_75,code=compute_75'
want='elf 90 kernel=kern
ptx 90 version=1
ptx 75 version=1
pick 0 ptx=90 sass=1'
modes=$*
for mode in ${modes:-default size speed balance none}; do
	# shellcheck disable=SC2086
	"$nvcc" -fatbin $archs --compress-mode=$mode -o "$dir/k.fatbin" "$dir/k.cu"
	got=$("$list" "$dir/k.fatbin" | sort)
	[ "$got" = "$(echo "$want" | sort)" ] || { echo "$mode:"; echo "$got"; exit 1; }
done
[ $# -eq 0 ] || exit 0
"$nvcc" -fatbin -gencode 'arch=compute_90a,code=[sm_90a,compute_90a]' -o "$dir/a.fatbin" "$dir/k.cu"
expect 'elf 90a kernel=kern
ptx 90a version=1
pick 0 ptx=90 sass=1' "$dir/a.fatbin"
"$nvcc" -cubin -arch=sm_80 -o "$dir/k.cubin" "$dir/k.cu"
expect 'elf 80 kernel=kern
pick 0 ptx=0 sass=0' "$dir/k.cubin"
for option in -lineinfo -G; do
	"$nvcc" -cubin -arch=sm_80 $option -o "$dir/k.cubin" "$dir/k.cu"
	expect 'elf 80 kernel=kern debug=1
pick 0 ptx=0 sass=0' "$dir/k.cubin"
done
"$nvcc" -arch=sm_75 -o "$dir/k" "$dir/k.cu"
"$list" "$dir/k" | grep -q 'pick 0 ptx=75 sass=0'
"$nvcc" -rdc=true -arch=sm_90 -o "$dir/r" "$dir/k.cu"
"$list" "$dir/r" | grep -q 'pick 0 ptx=90 sass=1'
echo "every mode read"
