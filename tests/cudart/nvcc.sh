#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: nvcc.sh BUILD PROG.CU [MODE...]
# nvcc builds the program, and heddle run --device cpu must run it correctly, in each mode:
#	shared   with -cudart shared
#	rdc      linked in two steps, for sm_90, with per-thread default streams
#	static   with NVIDIA's runtime inside, which the virtual GPU cannot run: heddle must
#	         say so, and what to do
# Skipped without nvcc.
set -eu
build=$1 source=$2
shift 2
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }
case $("$nvcc" --version) in *'release 12.'* | *'release 13.'*) ;; *) echo "skipped: nvcc is not of CUDA 12 or 13"; exit 77 ;; esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HEDDLE_SOCKET="$dir/none" XDG_CACHE_HOME="$dir/cache" HEDDLE_VGPU="cudart-nvcc-$$"
unset NVCC_APPEND_FLAGS HEDDLE_DEVICE LD_LIBRARY_PATH 2>/dev/null || :

fail() {
	echo "$*"
	cat "$dir/out" "$dir/err" 2>/dev/null || :
	exit 1
}

cat >"$dir/expected" <<'EOF'
heddle virtual GPU, sm_90, warps of 32
vectors: 0 wrong
symbols: 16 46 96 166, managed 77
on_device: 1 4
streams: 2.5, timed
shared: 0 wrong
fill<double>: 1024 threads at most
block 0 of 2
block 1 of 2
4096 threads: invalid configuration argument
EOF
runs() {
	"$build/heddle" run --device cpu -- "$dir/prog" >"$dir/out" 2>"$dir/err" || fail "$1: status $?"
	sort "$dir/out" | diff - "$dir/sorted" >"$dir/diff" || { cat "$dir/diff"; fail "$1: other lines"; }
	! grep -i 'cudart\|runtime' "$dir/err" || fail "$1: something is not supported"
	"$build/heddle" doctor -- "$dir/prog" >"$dir/out" || fail "$1: doctor: status $?"
	grep -q 'linked with the shared CUDA runtime' "$dir/out" || fail "$1: doctor does not see the runtime"
	! grep ' _Z' "$dir/out" || fail "$1: doctor names kernels by their symbols"
	! grep 'cannot run' "$dir/out" || fail "$1: doctor says that it cannot run"
}
sort "$dir/expected" >"$dir/sorted"
for mode; do
	case $mode in
	shared)
		NVCC_APPEND_FLAGS='-cudart shared' "$nvcc" -w -o "$dir/prog" "$source"
		runs "$mode"
		# The program's only device code is the cubin without kernels that nvcc always adds.
		echo 'int main(){return 0;}' >"$dir/empty.cu"
		NVCC_APPEND_FLAGS='-cudart shared' "$nvcc" -o "$dir/empty" "$dir/empty.cu"
		"$build/heddle" doctor -- "$dir/empty" >"$dir/out" || fail "$mode: doctor: status $?"
		! grep 'cannot run' "$dir/out" || fail "$mode: a program without kernels cannot run"
		;;
	rdc)
		NVCC_APPEND_FLAGS='-cudart shared' "$nvcc" -w -rdc=true -arch=sm_90 \
			--default-stream per-thread -o "$dir/prog" "$source"
		runs "$mode"
		;;
	static)
		"$nvcc" -w -o "$dir/prog" "$source"
		"$build/heddle" run --device cpu -- "$dir/prog" >"$dir/out" 2>"$dir/err" && fail "static: it runs"
		[ "$(grep -c "NVCC_APPEND_FLAGS='-cudart shared'" "$dir/err")" = 1 ] ||
			fail "static: what to do is not said once"
		grep -q "^virtual GPU: $dir/prog has NVIDIA's CUDA runtime inside.*(error 500).*-cudart shared" "$dir/err" ||
			fail "static: not said what to do"
		! grep '^heddle run: warning' "$dir/err" || fail "static: a warning before any call failed"
		;;
	*) fail "no such mode: $mode" ;;
	esac
	echo "$mode: right"
done
