#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: cub.sh BUILD FOLDER
# Runs a program that uses CUB (FOLDER/cub.cu), built by nvcc for three targets, on the virtual
# GPU. The built programs FOLDER/cub.sm_NN are in the repository, since the test machines have no
# nvcc. BLESS=1 builds them again (CUDA 13).
set -eu
build=$1 folder=$2
if [ "${BLESS:-0}" = 1 ]; then
	nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
	for cc in 75 80 90; do
		"$nvcc" -cudart shared -gencode arch=compute_$cc,code=compute_$cc -Xfatbin -compress-all -Xcompiler -Os \
			-Xlinker --as-needed -o "$folder/cub.sm_$cc" "$folder/cub.cu"
		strip "$folder/cub.sm_$cc"
	done
fi
ldd "$folder/cub.sm_75" 2>&1 | grep -q 'libstdc++.so.6 => /' || { echo "skipped: no libstdc++.so.6"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HEDDLE_SOCKET="$dir/none" XDG_CACHE_HOME="$dir/cache" HEDDLE_VGPU="cudart-cub-$$"
unset HEDDLE_DEVICE LD_LIBRARY_PATH 2>/dev/null || :
for what in scan reduce sort; do
	echo "$what: cudaSuccess, 0 wrong"
done >"$dir/expected"
for program in "$folder"/cub.sm_*; do
	"$build/heddle" run --device cpu -- "$program" >"$dir/out" 2>"$dir/err" || echo "status $?" >>"$dir/out"
	diff "$dir/expected" "$dir/out" || { echo "FAILED: $(basename "$program")"; cat "$dir/err"; exit 1; }
done
