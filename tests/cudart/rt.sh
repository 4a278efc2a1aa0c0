#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: rt.sh SOURCE BUILD built|nvcc
# Runs two examples of the runtime API with the shared runtime, as heddle's build made them or as
# nvcc builds them now, under heddled on the virtual GPU. The launches of both must be managed, and
# the high-priority program must preempt the other.
set -eu
src=$1 build=$2 by=$3
if [ "$by" = nvcc ]; then
	nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
	[ -x "$nvcc" ] || { echo "skipped: no nvcc"; exit 77; }
	case $("$nvcc" --version) in *'release 12.'* | *'release 13.'*) ;; *) echo "skipped: nvcc is not of CUDA 12 or 13"; exit 77 ;; esac
elif [ ! -x "$build/examples/rt/shared/mm" ]; then
	echo "skipped: no compiler for kernels"
	exit 77
fi
dir=$(mktemp -d)
daemon='' low=''
end() {
	status=$?
	for pid in $low $daemon; do
		kill "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	rm -rf "$dir"
	exit $status
}
trap end EXIT
trap 'exit 1' INT TERM
unset HEDDLE_DEVICE LD_LIBRARY_PATH 2>/dev/null || :
export HEDDLE_SOCKET="$dir/sock" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state" HEDDLE_VGPU="cudart-rt-$$"
export HEDDLE_FORM_WAIT_MS=60000

fail() {
	echo "FAILED: $*"
	tail -n 20 "$dir"/*.out "$dir"/*.err 2>/dev/null || :
	exit 1
}

# until_true SECONDS COMMAND...: repeats the command until it succeeds, or the time is over.
until_true() {
	tries=$(($1 * 20))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.05
	done
}

if [ "$by" = nvcc ]; then
	export NVCC_APPEND_FLAGS='-cudart shared'
	"$nvcc" -c "$src/examples/rt/runtime.cu" -o "$dir/runtime.o"
	for name in mm nn; do
		"$nvcc" "$src/examples/rt/$name.cu" "$dir/runtime.o" -Xlinker "$build/examples/libexample-$name.a" \
			-Xlinker "$build/examples/libexample-host.a" -o "$dir/$name" -lpthread -lm
	done
else
	cp "$build/examples/rt/shared/mm" "$build/examples/rt/shared/nn" "$dir/"
fi

"$build/heddled" >"$dir/heddled.out" 2>&1 &
daemon=$!
until_true 60 "$build/heddle" status >/dev/null 2>&1 || fail "heddled does not answer"
"$build/heddle" run --device cpu -p low -v -- "$dir/mm" --check last --until "$dir/enough" \
	>"$dir/mm.out" 2>"$dir/mm.err" &
low=$!
launched() { grep -q '^mm small [0-9]*: ' "$dir/mm.out"; }
until_true 120 launched || fail "mm does not launch"
"$build/heddle" run --device cpu -p high -v -- "$dir/nn" --repeat 3 >"$dir/nn.out" 2>"$dir/nn.err" ||
	fail "nn: status $?"
touch "$dir/enough"
wait $low || fail "mm: status $?"
low=
for name in mm nn; do
	grep -q "^$name small: pass: " "$dir/$name.out" || fail "$name: its results are wrong"
	grep -Eq '^  launches +([0-9]+): \1 managed$' "$dir/$name.err" || fail "$name: not all launches are managed"
done
grep -Eq '^  preempted  [1-9]' "$dir/mm.err" || fail "mm was not preempted"
grep -E '^  (launches|preempted)' "$dir/mm.err" "$dir/nn.err" | sed 's,.*/,,'
