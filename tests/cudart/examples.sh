#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: examples.sh KERNEL_LIST BUILD PROGRAM...: the example programs through our CUDA runtime
# (example.c) on the virtual GPU, each with the PTX of every compiler that is there.
# Where nvcc is, those of examples/rt are built with the shared runtime and run, too (RT=NAME... in the
# environment: which; RT= none).
set -eu
list=$1 build=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
unset HEDDLE_DEVICE 2>/dev/null || :
export XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state" HEDDLE_SOCKET="$dir/none" HEDDLE_VGPU="cudart-examples-$$"
export LD_LIBRARY_PATH="$build/src/dev/cpu:$build/src/cudart"
n=0 failed=0

# passes NAME COMMAND...
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

for program; do
	name=$(basename "$program" | sed 's/^cudart_//')
	awk -v name="$name" '$1 ~ "/" name "[.]ptx$" { print $1 }' "$list" | sort -u >"$dir/ptx"
	while read -r ptx; do
		passes "$name" "$program" --ptx "$build/$ptx" --size trivial --check last
	done <"$dir/ptx"
done
[ $n -gt 0 ] || { echo "skipped: no compiler for kernels"; exit 77; }
echo "$n runs without nvcc"

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
for name in ${RT-mm}; do
	[ -x "$nvcc" ] || { echo "examples/rt left out: no nvcc"; break; }
	src=$(cd "$(dirname "$0")/../.." && pwd)/examples/rt
	[ -f "$dir/runtime.o" ] || "$nvcc" -cudart shared -c "$src/runtime.cu" -o "$dir/runtime.o"
	"$nvcc" -cudart shared -gencode arch=compute_80,code=compute_80 "$src/$name.cu" "$dir/runtime.o" \
		-Xlinker "$build/examples/libexample-$name.a" -Xlinker "$build/examples/libexample-host.a" \
		-o "$dir/$name" -lpthread -lm
	passes "$name" "$dir/$name" --size trivial --check last
done
echo "$n runs, $failed failed"
[ $failed = 0 ]
