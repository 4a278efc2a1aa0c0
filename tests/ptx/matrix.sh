#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: matrix.sh EXACT SOURCE_ROOT
# Compiles kernels to PTX with every compiler that is here and checks that each file assembles to
# the same bytes after it went through the parser and the printer (EXACT, see exact.c). A few
# combinations by default, all with HEDDLE_TEST_FULL=1. Exits 77 without a compiler or without
# ptxas; what EXACT checks without ptxas is checked elsewhere on files that are here.
set -u
exact=$1
root=$2
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc || true)
clang=$(command -v clang-14 || true)
ptxas=$(command -v ptxas || command -v /usr/local/cuda/bin/ptxas || true)
[ -n "$ptxas" ] || { echo "skipped: no ptxas"; exit 77; }
[ -n "$nvcc$clang" ] || { echo "skipped: neither nvcc nor clang-14"; exit 77; }
full=${HEDDLE_TEST_FULL:-}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
failed=0
mine="$root/tests/ptx/cuda"

# compile COMMAND…: a source that a target or an option does not take is left out.
compile()
{
	"$@" >"$dir/log" 2>&1 || { echo "left out: $*: $(grep -m1 -i error "$dir/log")"; rm -f "$dir/out.ptx"; }
}

with_nvcc()
{
	arch=$1
	shift
	for src in $sources; do
		name=$(basename "$src" .cu)
		compile "$nvcc" -ptx -arch="$arch" -std=c++17 "$@" -o "$dir/out.ptx" "$src"
		[ -f "$dir/out.ptx" ] && mv "$dir/out.ptx" "$dir/$name.nvcc.$arch.$(echo "$*" | tr -cd 'a-zA-Z0-9=').ptx"
	done
}

with_clang()
{
	arch=$1
	shift
	for src in $sources; do
		name=$(basename "$src" .cu)
		compile "$clang" -x cuda --cuda-device-only -nocudainc -nocudalib -S --cuda-gpu-arch="$arch" \
			"$@" -o "$dir/out.ptx" "$src"
		[ -f "$dir/out.ptx" ] && mv "$dir/out.ptx" "$dir/$name.clang.$arch.$(echo "$*" | tr -cd 'a-zA-Z0-9=').ptx"
	done
}

# Keeps the folder small: what is checked is removed.
check()
{
	set -- "$dir"/*.ptx
	[ -f "$1" ] || return 0
	"$exact" --ptxas "$ptxas" "$@"
	case $? in
	0 | 77) ;;
	*) failed=1 ;;
	esac
	rm -f "$dir"/*.ptx
}

if [ -n "$full" ]; then
	if [ -n "$nvcc" ]; then
		for arch in sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a; do
			for option in -O3 -G -lineinfo -use_fast_math -maxrregcount=32 -rdc=true; do
				sources="$root/kernels/*.cu $root/kernels/forms/*.cu $mine/*.cu"
				with_nvcc "$arch" "$option"
				check
			done
		done
	fi
	if [ -n "$clang" ]; then
		for arch in sm_70 sm_75 sm_80 sm_86; do
			for option in -O0 -O1 -O2 -O3; do
				sources=$(echo "$root"/kernels/*.cu "$root"/kernels/forms/*.cu "$mine/asm.cu")
				with_clang "$arch" "$option"
				check
			done
		done
	fi
else
	if [ -n "$nvcc" ]; then
		sources="$mine/asm.cu $mine/flow.cu"
		with_nvcc sm_75 -lineinfo
		with_nvcc sm_80 -G
		sources="$mine/tensor.cu"
		with_nvcc sm_90a -rdc=true
		check
	fi
	if [ -n "$clang" ]; then
		sources="$mine/asm.cu $root/kernels/forms/shared.cu $root/kernels/forms/callee.cu"
		with_clang sm_70 -O0
		with_clang sm_86 -O3
		check
	fi
fi
exit $failed
