#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: needs_gpu.sh BUILD RUNTIME CUBINS LIBRARY USER
# Tests programs that the virtual GPU cannot run: RUNTIME has the CUDA runtime linked in, CUBINS has
# cubins but no PTX, and LIBRARY is a library with the CUDA runtime linked in, which Python loads
# and with which USER is linked. heddle doctor reports such programs in advance. The virtual GPU's
# driver reports the problem once, when it occurs, and names the file. heddle run does not report it
# in advance, because many programs never call that code. For a driver API program, none of them
# prints such a line.
set -eu
build=$1 runtime=$(realpath "$2") cubins=$3 library=$(realpath "$4") user=$5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME="$dir" XDG_CACHE_HOME="$dir/cache" HEDDLE_SOCKET="$dir/none"
unset HEDDLE_DEVICE HEDDLE_VGPU 2>/dev/null || :
PATH=$build:$PATH

fail() {
	echo "$*"
	cat "$dir"/out "$dir"/err 2>/dev/null || :
	exit 1
}

# lines FILE PATTERN: prints how many lines of FILE match.
lines() { grep -c -e "$2" "$dir/$1" || :; }

# run_it PROGRAM OUTPUT DOCTOR DRIVER: runs PROGRAM, which must print OUTPUT. The virtual GPU's
# driver must print one line that matches DRIVER, and `heddle doctor` one that matches DOCTOR.
run_it() {
	heddle run --device cpu -- "$1" >"$dir/out" 2>"$dir/err" || fail "$1: status $?"
	[ "$(tr '\n' ' ' <"$dir/out")" = "$2 " ] || fail "$1: printed something else than $2"
	[ "$(lines err '^heddle')" = 0 ] || fail "$1: said ahead"
	[ "$(lines err "^virtual GPU: $4")" = 1 ] || fail "$1: not said once by the driver"
	HEDDLE_VGPU=report=none heddle run --device cpu -- "$1" >"$dir/out" 2>"$dir/err"
	[ "$(lines err '^virtual GPU: ')" = 0 ] || fail "$1: said although report=none"
	heddle doctor -- "$1" >"$dir/out" 2>"$dir/err" || fail "doctor -- $1: status $?"
	[ "$(lines out "^note  virtual GPU  cannot run .*$3")" = 1 ] || fail "doctor -- $1: not said"
}

run_it "$runtime" '500 500' 'CUDA runtime is linked into it.*-cudart shared' \
	"$runtime has NVIDIA.s CUDA runtime inside.*(error 500).*-cudart shared"
ONLY_OPTIONAL=1 heddle run -v --device cpu -- "$runtime" >"$dir/out" 2>"$dir/err"
[ "$(lines err 'CUDA runtime')" = 0 ] || fail 'said of tables that a program can do without'
heddle run -v --device cpu -- python3 -c "import ctypes; ctypes.CDLL('$library').inside()" >"$dir/out" 2>"$dir/err"
[ "$(cat "$dir/out")" = '500 500' ] || fail 'the library is answered something else'
[ "$(lines err "^virtual GPU: $library has NVIDIA.s CUDA runtime inside")" = 1 ] || fail 'the library is not named'
[ "$(lines err 'CUDA runtime')" = 1 ] || fail 'said more than once'
heddle doctor -- "$user" >"$dir/out" 2>"$dir/err" || fail "doctor -- $user: status $?"
[ "$(lines out "^note  virtual GPU  cannot run all of .*libneeds_gpu_library.so has NVIDIA.s CUDA runtime inside")" = 1 ] ||
	fail 'doctor does not name the library'
run_it "$cubins" '209 209' 'holds cubins and no PTX.*arch=compute_90,code=compute_90' \
	'.*no PTX that sm_90 can run.*(error 209).*arch=compute_90,code=compute_90'
grep -q '^ok    virtual GPU .*PTX of programs of the driver API' "$dir/out" || fail 'doctor does not say what works'

heddle doctor -- "$build/examples/va" >"$dir/out" 2>"$dir/err" || fail "doctor -- va: status $?"
[ "$(lines out 'cannot run')" = 0 ] || fail 'va is a program of the driver API'
heddle run --device cpu -- sh -c : >"$dir/out" 2>"$dir/err"
[ "$(lines err 'cannot run')" = 0 ] || fail 'sh uses no GPU'
