#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: needs_gpu.sh BUILD RUNTIME CUBINS
# Two programs that the virtual GPU cannot run, one with the CUDA runtime inside, one with cubins and
# no PTX. heddle doctor and heddle run say so ahead, each in one line, and the driver says it once when
# it happens. A program of the driver API gets no such line.
set -eu
build=$1 runtime=$2 cubins=$3
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

# lines FILE PATTERN: how many lines of FILE have it.
lines() { grep -c -e "$2" "$dir/$1" || :; }

# run_it PROGRAM ANSWER AHEAD LATER: what the program prints, a pattern of heddle run's line, one of the driver's.
run_it() {
	heddle run --device cpu -- "$1" >"$dir/out" 2>"$dir/err" || fail "$1: status $?"
	[ "$(tr '\n' ' ' <"$dir/out")" = "$2 " ] || fail "$1: printed something else than $2"
	[ "$(lines err "^heddle run: warning: the virtual GPU cannot run .*$3")" = 1 ] || fail "$1: not said ahead"
	[ "$(lines err "^virtual GPU: $4")" = 1 ] || fail "$1: not said once by the driver"
	HEDDLE_VGPU=report=none heddle run --device cpu -- "$1" >"$dir/out" 2>"$dir/err"
	[ "$(lines err '^virtual GPU: ')" = 0 ] || fail "$1: said although report=none"
	heddle doctor -- "$1" >"$dir/out" 2>"$dir/err" || fail "doctor -- $1: status $?"
	[ "$(lines out "^note  virtual GPU  cannot run .*$3")" = 1 ] || fail "doctor -- $1: not said"
}

run_it "$runtime" '500 500' 'CUDA runtime is linked into it.*-cudart shared' \
	'NVIDIA.s CUDA runtime is in this program.*(error 500).*-cudart shared'
run_it "$cubins" '209 209' 'holds cubins and no PTX.*arch=compute_90,code=compute_90' \
	'.*no PTX that sm_90 can run.*(error 209).*arch=compute_90,code=compute_90'
grep -q '^ok    virtual GPU .*PTX of programs of the driver API' "$dir/out" || fail 'doctor does not say what works'

heddle doctor -- "$build/examples/va" >"$dir/out" 2>"$dir/err" || fail "doctor -- va: status $?"
[ "$(lines out 'cannot run')" = 0 ] || fail 'va is a program of the driver API'
heddle run --device cpu -- sh -c : >"$dir/out" 2>"$dir/err"
[ "$(lines err 'cannot run')" = 0 ] || fail 'sh uses no GPU'
