#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: matrix.sh EXACT SOURCE_ROOT [quick | nvcc ARCH | clang ARCH [KEEP]]
# Compiles kernels to PTX, and checks that each file assembles to the same bytes after parsing and
# printing (EXACT, see exact.c). quick (the default): a few combinations; the others: every source
# with every option for one architecture. KEEP: a folder that keeps the PTX for the next run. Exits
# with 77 without the compiler or ptxas; the checks of EXACT that need no ptxas run elsewhere, on
# files in the repository.
set -u
exact=$1
root=$2
part=${3:-quick}
arch=${4:-}
keep=${5:-}
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc || true)
clang=$(command -v clang-14 || true)
ptxas=$(command -v ptxas || command -v /usr/local/cuda/bin/ptxas || true)
[ -n "$ptxas$keep" ] || { echo "skipped: no ptxas"; exit 77; }
case $part in
nvcc) [ -n "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; } ;;
clang) [ -n "$clang" ] || { echo "skipped: no clang-14"; exit 77; } ;;
*) [ -n "$nvcc$clang" ] || { echo "skipped: neither nvcc nor clang-14"; exit 77; } ;;
esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
[ -n "$keep" ] || keep=$dir/ptx
mkdir -p "$keep"
mine="$root/tests/ptx/cuda"
left_out=0
: >"$dir/files"

# compile SOURCE CHAIN ARCH OPTION COMMAND…: compiles one source. Skips sources that a target, an
# option or a compiler rejects.
compile()
{
	out=$keep/$(basename "$(dirname "$1")")-$(basename "$1" .cu).$2.$3.$(echo "$4" | tr -cd 'a-zA-Z0-9=').ptx
	src=$1
	what="$(basename "$(dirname "$1")")/$(basename "$1") $2 $3 $4"
	shift 4
	if [ -f "$out" ] || "$@" -o "$dir/out.ptx" "$src" >"$dir/log" 2>&1; then
		[ -f "$out" ] || mv "$dir/out.ptx" "$out"
		echo "$out" >>"$dir/files"
	else
		left_out=$((left_out + 1))
		echo "left out: $what: $(grep -m1 -iE 'error|fatal' "$dir/log")"
	fi
}

# with_nvcc ARCH OPTION SOURCE…: compiles the sources with nvcc.
with_nvcc()
{
	a=$1
	option=$2
	shift 2
	for src; do
		compile "$src" nvcc "$a" "$option" "$nvcc" -ptx -arch="$a" -std=c++17 "$option"
	done
}

with_clang()
{
	a=$1
	option=$2
	shift 2
	for src; do
		compile "$src" clang "$a" "$option" "$clang" -x cuda --cuda-device-only -nocudainc \
			-nocudalib --cuda-path=/nonexistent -Xclang -target-feature -Xclang +ptx75 \
			-S --cuda-gpu-arch="$a" "$option"
	done
}

case $part in
nvcc)
	for option in -O3 -G -lineinfo -use_fast_math -maxrregcount=32 -rdc=true; do
		with_nvcc "$arch" $option "$root"/kernels/*.cu "$root"/kernels/forms/*.cu "$mine"/*.cu
	done
	;;
clang)
	# The other files of $mine need CUDA's own headers, which clang-14 cannot read.
	for option in -O0 -O1 -O2 -O3; do
		with_clang "$arch" $option "$root"/kernels/*.cu "$root"/kernels/forms/*.cu "$mine/asm.cu"
	done
	;;
quick)
	if [ -n "$nvcc" ]; then
		with_nvcc sm_80 -G "$mine/flow.cu"
	fi
	if [ -n "$clang" ]; then
		with_clang sm_70 -O0 "$mine/asm.cu"
	fi
	;;
*)
	echo "matrix.sh: no such part: $part"
	exit 2
	;;
esac
[ -s "$dir/files" ] || { echo "skipped: nothing compiles"; exit 77; }
if [ -n "$ptxas" ]; then
	xargs "$exact" --ptxas "$ptxas" <"$dir/files"
else
	xargs "$exact" <"$dir/files"
fi
status=$?
echo "$part $arch: $left_out left out by the compiler"
# xargs returns 123 if any run of the program `exact` fails. That program also fails if ptxas
# accepts none of its files.
[ $status = 0 ]
