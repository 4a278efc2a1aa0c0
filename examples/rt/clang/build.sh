#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: build.sh CLANG OUTPUT SOURCE.CU [LINKED...]. Builds a program of the CUDA runtime, or an object file
# of it (OUTPUT is FILE.o), without a CUDA toolkit: clang compiles the kernels to PTX, the assembler puts
# that into a fatbin, and clang compiles the host's side with the fatbin inside. The cuda_runtime.h
# beside this file declares what the program may call. LINKED: other objects, archives, libcudart.so.12.
set -eu
clang=$1 output=$2 source=$3
shift 3
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# nvcc includes cuda_runtime.h by itself, too. The version decides what <<< >>> calls: since CUDA 9.2
# it is cudaLaunchKernel.
compile() { # ARGUMENT...
	"$clang" -x cuda -nocudainc -nocudalib --cuda-path=/nonexistent -I"$here" -include cuda_runtime.h \
		-w -Xclang -target-sdk-version=11.0 "$@" "$source"
}
compile --cuda-device-only --cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx70 -O3 -S -o "$dir/kernels.ptx"
"$clang" -c -DPTX="\"$dir/kernels.ptx\"" -o "$dir/fatbin.o" "$here/fatbin.S"
objcopy -O binary -j .text "$dir/fatbin.o" "$dir/fatbin"
case $output in *.o) object=$output ;; *) object=$dir/host.o ;; esac
compile --cuda-host-only -fPIE -O2 -Xclang -fcuda-include-gpubinary -Xclang "$dir/fatbin" -c -o "$object"
[ "$object" = "$output" ] || "$clang" -pie -o "$output" "$object" "$@"
