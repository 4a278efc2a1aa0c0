#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Compiling takes long: neither launches nor the program's end wait for it, it goes on when the
# program has ended, another start of the program has its kernels managed at once, and the program
# sees nobody who does it. Where nobody else can do it, the program's end waits. Who makes a form
# waits for nobody who waits for him: several kernels that need the closer of guard grids at once.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
seconds=3
export CUDA_CACHE_PATH="$dir/driver"
mkdir "$CUDA_CACHE_PATH"

compiled() { # how many texts the driver has in its cache
	find "$CUDA_CACHE_PATH" -type f | wc -l
}

more_than() {
	[ "$(compiled)" -gt "$1" ]
}

plain_launches() {
	sed -n 's/^native \([0-9]*\) opaque [0-9]* of \([0-9]*\)$/\2/p' "$dir/daemon"
}

# took SCENARIO...: how long it ran under the shim, in ms; the same as without.
took() {
	from=$(date +%s%N)
	shim "$@" >"$dir/out" 2>"$dir/err" || fail "$*: status $?" >&2
	to=$(date +%s%N)
	cmp -s "$dir/plain" "$dir/out" || fail "$*: results differ" >&2
	echo $(((to - from) / 1000000))
}

own_gpu=$HEDDLE_VGPU
# Some may go plain, as others' forms are just being loaded; but nobody waits as long as he may.
export HEDDLE_FORM_WAIT_MS=60000 HEDDLE_VGPU="$own_gpu-guards,assemble=300"
plain guards >"$dir/plain"
start watch
ms=$(took guards)
stop
cat "$dir/daemon"
[ "$ms" -lt "$HEDDLE_FORM_WAIT_MS" ] || fail "$ms ms: launches of guarded kernels waited in vain"
! grep -q 'guards 0 ' "$dir/daemon" || fail "none was guarded"

export HEDDLE_FORM_WAIT_MS=0
HEDDLE_VGPU="$own_gpu-quick" plain childless 4 24 30 >"$dir/plain"
export HEDDLE_VGPU="$own_gpu,assemble=$((seconds * 1000))"
plain childless 4 24 30 >"$dir/again" # has the program's own compiled
cmp -s "$dir/plain" "$dir/again" || fail "natively it differs"
own=$(compiled)
[ "$own" -gt 0 ] || fail "nothing was compiled natively"

for _ in 1 2 3 4 5; do # the program may have ended before a processor was free to begin
	start watch
	ms=$(took childless 4 24 30)
	stop
	cat "$dir/daemon"
	[ "$ms" -lt $((seconds * 1000)) ] || fail "the program took $ms ms: it waited for the assembler"
	! more_than "$own" || fail "compiled within $ms ms: nothing was tried"
	! awaited $((seconds * 5)) more_than "$own" || break
done
more_than "$own" || fail "what was begun is not done, or five times nothing was"

unset HEDDLE_FORM_WAIT_MS
for _ in 1 2 3 4 5; do # the machine may have had no processor for it
	start watch
	ms=$(took childless 4 24 30)
	stop
	[ "$(plain_launches)" -gt 0 ] || break
done
cat "$dir/daemon"
[ "$ms" -lt $((seconds * 1000)) ] || fail "the program took $ms ms with all compiled"
[ "$(plain_launches)" = 0 ] || fail "$(plain_launches) launches went plain with all compiled"

# A compiler that crashes of all forms, of several at once: the program runs as it is.
export HEDDLE_FORM_WAIT_MS=60000 HEDDLE_VGPU="$own_gpu-crash"
plain guards >"$dir/plain"
export HEDDLE_VGPU="$own_gpu-crash,crash=hd_slot"
start watch
took guards >/dev/null
stop
cat "$dir/daemon"
unset HEDDLE_FORM_WAIT_MS
export HEDDLE_VGPU="$own_gpu,assemble=$((seconds * 1000))"
plain childless 4 24 30 >"$dir/plain"

# No assembler: what is compiled in the program must not be when the driver is taken down.
rm -rf "$dir/cache" "$CUDA_CACHE_PATH"
mkdir "$CUDA_CACHE_PATH" "$dir/alone"
plain childless 4 24 30 >"$dir/again"
own=$(compiled)
cp -L "$SHIM" "$dir/alone/libcuda.so.1"
SHIM=$dir/alone/libcuda.so.1
for _ in 1 2 3 4 5; do # as above
	start watch
	ms=$(took childless 4 24 30)
	stop
	! more_than "$own" || break
done
[ "$ms" -ge $((seconds * 1000 - 1000)) ] || fail "the program ended after $ms ms, within a call of the driver"
more_than "$own" || fail "nothing was compiled in the program"
