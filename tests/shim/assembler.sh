#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Tests the assembler, a process that compiles forms. Compiling takes long: neither launches nor the
# program's end may wait for it. It must continue after the program has ended, and the program's
# next start must have its kernels managed at once. The program must not notice the process. If
# there is no assembler, the program compiles forms itself, and its end waits for this. A thread
# that makes a form must never wait for a thread that waits for that form. (Several kernels need the
# same form at once: the kernel that closes guard grids.)
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
compiled() { # prints how many texts are in the driver's cache
	find "$CUDA_CACHE_PATH" -type f | wc -l
}

more_than() {
	[ "$(compiled)" -gt "$1" ]
}

plain_launches() {
	sed -n 's/^native \([0-9]*\) opaque [0-9]* of \([0-9]*\)$/\2/p' "$dir/daemon"
}

# took SCENARIO...: prints how long the program takes under the shim, in ms. Its output must be the
# same as without the shim.
took() {
	from=$(date +%s%N)
	shim "$@" >"$dir/out" 2>"$dir/err" || fail "$*: status $?" >&2
	to=$(date +%s%N)
	cmp -s "$dir/plain" "$dir/out" || fail "$*: results differ" >&2
	echo $(((to - from) / 1000000))
}

# compiler OPTIONS: sets how the virtual GPU's compiler behaves from here on, and an empty driver
# cache.
compiler() {
	export CUDA_CACHE_PATH="$dir/driver" HEDDLE_VGPU="${HEDDLE_VGPU%%,*},$1"
	mkdir -p "$CUDA_CACHE_PATH"
}

# natively SCENARIO...: records the program's output without the shim. This also puts its own
# kernels into the driver's cache, so that later runs compile them at once.
natively() {
	HEDDLE_VGPU="${HEDDLE_VGPU%%,*},assemble=1" plain "$@" >"$dir/plain"
	own=$(compiled)
	[ "$own" -gt 0 ] || fail "nothing was compiled natively"
}

# Launches may be unmanaged while forms of other kernels are being loaded, but none may wait for the
# full timeout.
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

# The compiler crashes on all forms while several are requested at once. The program must run
# natively.
crashing() {
	compiler crash=hd_slot
	natively guards
	start watch
	took guards >/dev/null
	stop
	cat "$dir/daemon"
}

# Each part is tried up to five times, because the program or its assembler may have got no CPU
# time.
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
		# Try again if the program was slow, or if the form was compiled before its end.
		[ "$ms" -lt 1500 ] || continue
		[ "$at_its_end" = "$own" ] || continue
		! awaited 3 more_than "$own" || break
	done
	[ "$ms" -lt 1500 ] || fail "the program took $ms ms: it waited for the assembler"
	[ "$at_its_end" = "$own" ] || fail "compiled within $ms ms: nothing was tried"
	more_than "$own" || fail "what was begun is not done, or five times nothing was"

	# shorter than a compilation, and longer than loading takes on a busy machine
	export HEDDLE_FORM_WAIT_MS=1000
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

# Without the assembler, the program itself compiles forms. When it ends, it must wait for the
# compilation, which the driver's shutdown would otherwise interrupt.
without_assembler() {
	unset HEDDLE_FORM_WAIT_MS
	compiler assemble=2000
	natively childless 20 24 30
	mkdir "$dir/alone"
	cp -L "$SHIM" "$dir/alone/libcuda.so.1"
	SHIM=$dir/alone/libcuda.so.1
	for _ in 1 2 3 4 5; do # for the same reason as in forms_wait
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
