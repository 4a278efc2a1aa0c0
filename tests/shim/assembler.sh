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

# compiler OPTIONS: what compiling is like from here on, and a cache of the driver's that has nothing yet.
compiler() {
	export CUDA_CACHE_PATH="$dir/driver" HEDDLE_VGPU="${HEDDLE_VGPU%%,*},$1"
	mkdir -p "$CUDA_CACHE_PATH"
}

# natively SCENARIO...: what the program prints; its own kernels are compiled from here on, at once.
natively() {
	HEDDLE_VGPU="${HEDDLE_VGPU%%,*},assemble=1" plain "$@" >"$dir/plain"
	own=$(compiled)
	[ "$own" -gt 0 ] || fail "nothing was compiled natively"
}

# Some may go plain, as others' forms are just being loaded; but nobody waits as long as he may.
guarded() {
	compiler assemble=300
	natively guards
	start watch
	ms=$(took guards)
	stop
	cat "$dir/daemon"
	[ "$ms" -lt "$HEDDLE_FORM_WAIT_MS" ] || fail "$ms ms: launches of guarded kernels waited in vain"
	grep -q ' [1-9][0-9]* guard_form' "$dir/daemon" || fail "none was guarded"
}

# A compiler that crashes of all forms, of several at once: the program runs as it is.
crashing() {
	compiler crash=hd_slot
	natively guards
	start watch
	took guards >/dev/null
	stop
	cat "$dir/daemon"
}

# Each step up to five times: the machine may have had no processor for the program, or for its assembler.
forms_wait() {
	export HEDDLE_FORM_WAIT_MS=0
	compiler assemble=1500
	for _ in 1 2 3 4 5; do
		rm -rf "$dir/cache" "$CUDA_CACHE_PATH"
		mkdir "$CUDA_CACHE_PATH"
		natively childless 50 24 30
		start watch
		ms=$(took childless 50 24 30)
		at_its_end=$(compiled)
		stop
		cat "$dir/daemon"
		# It waited for the assembler, or was slow.
		[ "$ms" -lt 1500 ] || continue
		[ "$at_its_end" = "$own" ] || continue
		! awaited 3 more_than "$own" || break
	done
	[ "$ms" -lt 1500 ] || fail "the program took $ms ms: it waited for the assembler"
	[ "$at_its_end" = "$own" ] || fail "compiled within $ms ms: nothing was tried"
	more_than "$own" || fail "what was begun is not done, or five times nothing was"

	export HEDDLE_FORM_WAIT_MS=1000 # less than compiling takes, and more than loading on a busy machine
	for _ in 1 2 3 4 5; do
		start watch
		ms=$(took childless 50 24 30)
		stop
		[ "$(plain_launches)" -gt 0 ] || [ "$ms" -ge 1500 ] || break
	done
	cat "$dir/daemon"
	[ "$ms" -lt 1500 ] || fail "the program took $ms ms with all compiled"
	[ "$(plain_launches)" = 0 ] || fail "$(plain_launches) launches went plain with all compiled"
}

# No assembler: what is compiled in the program must not be when the driver is taken down.
without_assembler() {
	unset HEDDLE_FORM_WAIT_MS
	compiler assemble=2000
	natively childless 20 24 30
	mkdir "$dir/alone"
	cp -L "$SHIM" "$dir/alone/libcuda.so.1"
	SHIM=$dir/alone/libcuda.so.1
	for _ in 1 2 3 4 5; do # as above
		start watch
		ms=$(took childless 20 24 30)
		stop
		! more_than "$own" || break
	done
	[ "$ms" -ge 1000 ] || fail "the program ended after $ms ms, within a call of the driver"
	more_than "$own" || fail "nothing was compiled in the program"
}

for case in guarded crashing forms_wait without_assembler; do
	beside $case $case
done
together
