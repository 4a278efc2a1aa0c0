#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: examples.sh BUILD [NAME...]
# Runs the example programs of the CUDA runtime with the shared runtime on the virtual GPU, as
# heddle's build made them and, if nvcc is installed, as nvcc builds them.
set -eu
build=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
unset HEDDLE_DEVICE 2>/dev/null || :
export XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state" HEDDLE_SOCKET="$dir/none" HEDDLE_VGPU="cudart-examples-$$"
n=0 failed=0

# passes NAME COMMAND...: runs the command, which must succeed.
passes() {
	name=$1
	shift
	n=$((n + 1))
	if ! "$@" </dev/null >"$dir/out" 2>&1 || ! grep -q "^$name [a-z]*: pass: " "$dir/out"; then
		echo "FAILED: $*"
		tail -n 5 "$dir/out"
		failed=$((failed + 1))
	fi
}

for program in "$build"/examples/rt/shared/*; do
	name=$(basename "$program")
	case $name in vecadd | *.o) continue ;; esac # vecadd is the example in README
	[ ! -x "$program" ] || passes "$name" "$build/heddle" run --device cpu -- "$program" --size trivial --check last
done
[ $n -gt 0 ] || { echo "skipped: no compiler for kernels"; exit 77; }
echo "$n runs without nvcc"

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
for name; do
	[ -x "$nvcc" ] || { echo "examples/rt left out: no nvcc"; break; }
	src=$(cd "$(dirname "$0")/../.." && pwd)/examples/rt
	[ -f "$dir/runtime.o" ] || "$nvcc" -cudart shared -c "$src/runtime.cu" -o "$dir/runtime.o"
	"$nvcc" -cudart shared -gencode arch=compute_80,code=compute_80 "$src/$name.cu" "$dir/runtime.o" \
		-Xlinker "$build/examples/libexample-$name.a" -Xlinker "$build/examples/libexample-host.a" \
		-o "$dir/$name" -lpthread -lm
	passes "$name" "$build/heddle" run --device cpu -- "$dir/$name" --size trivial --check last
done
echo "$n runs, $failed failed"
[ $failed = 0 ]
