#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: installed.sh MESON BUILD SOURCE PREFIX
# Builds the example of libheddle from an installed copy, with pkg-config, and runs it on the
# virtual GPU in every way. The library must need only libc, and export what the header declares.
set -eu
meson=$1
build=$2
source=$3
prefix=$4
command -v pkg-config >/dev/null || {
	echo "skipped: no pkg-config"
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAILED: $*"
	exit 1
}

DESTDIR="$dir/root" "$meson" install -C "$build" --no-rebuild --quiet >"$dir/log" 2>&1 ||
	fail "meson install: $(cat "$dir/log")"
pc=$(find "$dir/root" -name heddle.pc)
export PKG_CONFIG_SYSROOT_DIR="$dir/root" PKG_CONFIG_LIBDIR="${pc%/*}" PKG_CONFIG_PATH=
# The value must be split into words.
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror -o "$dir/corun" "$source/examples/corun.c" \
	$(pkg-config --cflags --libs heddle) 2>"$dir/log" || fail "the example: $(cat "$dir/log")"
[ "$(wc -l <"$source/examples/corun.c")" -le 60 ] || fail "the example has more than 60 lines"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror -o "$dir/tasks" "$source/examples/tasks.c" \
	$(pkg-config --cflags --libs heddle) 2>"$dir/log" || fail "tasks.c: $(cat "$dir/log")"
[ "$(wc -l <"$source/examples/tasks.c")" -le 60 ] || fail "tasks.c has more than 60 lines"
lib=$(find "$dir/root" -name 'libheddle.so.0' | head -n 1)
export LD_LIBRARY_PATH="${lib%/*}" HEDDLE_VGPU="rt-$$" XDG_STATE_HOME="$dir/state"
ptx=$source/examples/corun.ptx

# run WAY: runs the example with the installed library and virtual GPU.
run() {
	"$dir/corun" cpu "$ptx" "$@" >"$dir/out" 2>"$dir/err"
}
for way in sequential streams vertical horizontal "merge steal chunk=4 per-sm=1" \
	"merge partition=3:1 help chunk=2 total-workers=8" "merge mixed=1:2" "merge steal:shared" "merge apart=1:1 own=2"; do
	run "$way" || fail "$way: $(cat "$dir/out" "$dir/err")"
	grep -q "^heddle virtual GPU: $way, .* 0 of 200000 results wrong$" "$dir/out" ||
		fail "$way: $(cat "$dir/out")"
done

# libheddle finds the installed assembler, so a crash of the compiler ends only the assembler's
# process. Without the assembler the ways work, too.
assembler=$(find "$dir/root" -name heddle-assembler)
! HEDDLE_VGPU="rt-$$,crash=hd_pick" run "merge steal" || fail "a compiler that crashes, and yet"
grep -q 'compiler crashed on it' "$dir/err" || fail "a compiler that crashes: $(cat "$dir/out" "$dir/err")"
mv "$assembler" "$dir/assembler"
HEDDLE_VGPU="rt-$$,assemble=1" run "merge steal" || fail "without an assembler: $(cat "$dir/err")"
mv "$dir/assembler" "$assembler"

# The tasks example runs by itself, with a valid and an invalid file.
"$dir/tasks" cpu "$ptx" 500 >"$dir/out" 2>&1 || fail "tasks: $(cat "$dir/out")"
grep -q '^500 tasks, 0 results wrong$' "$dir/out" || fail "tasks: $(cat "$dir/out")"
! "$dir/tasks" cpu /nonexistent 5 >"$dir/out" 2>&1 || fail "tasks of no file"
grep -q '^5 tasks, 0 results wrong: /nonexistent: No such file' "$dir/out" || fail "$(cat "$dir/out")"

# The way "tuned" runs what heddle tune chose. Before heddle tune has run, it is an error with
# advice.
! run tuned || fail "tuned, and nothing was measured"
grep -q "have not been measured on this device; heddle tune" "$dir/err" || fail "$(cat "$dir/err")"
"$build/heddle" tune --device cpu --rounds 1 --points 1 \
	-- "$ptx" square --grid 391 --block 256 "u32[100000]:iota" u32:100000 \
	+ "$ptx" twice --grid 391 --block 256 "u32[100000]:iota" u32:100000 >"$dir/tune" 2>&1 ||
	fail "heddle tune: $(cat "$dir/tune")"
chosen=$(sed -n 's/  *[0-9.]*  *[0-9.]* %  *[0-9.]* \*$//p' "$dir/tune")
run tuned || fail "tuned: $(cat "$dir/err")"
grep -q "GPU: $chosen, .* 0 of 200000" "$dir/out" || fail "'$chosen' was chosen: $(cat "$dir/out")"

# The result is found also if heddle tune measured the two kernels in the other order.
rm -r "$dir/state"
"$build/heddle" tune --device cpu --rounds 1 --points 1 \
	-- "$ptx" twice --grid 391 --block 256 "u32[100000]:iota" u32:100000 \
	+ "$ptx" square --grid 391 --block 256 "u32[100000]:iota" u32:100000 >"$dir/tune" 2>&1 ||
	fail "heddle tune: $(cat "$dir/tune")"
run tuned || fail "tuned in the other order: $(cat "$dir/err")"

needed=$(readelf -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')
case $needed in "libc.so.6 ") ;; *) fail "it needs $needed" ;; esac
# policy*.h are for heddled's policies, which define what these headers declare; the rest is inline.
find "$dir/root$prefix/include/heddle" -name '*.h' ! -name 'policy*.h' -exec cat {} + |
	grep -o '\bheddle_[a-z_]*(' | tr -d '(' | sort -u >"$dir/declared"
objdump -T "$lib" | sed -n 's/.* HEDDLE_0\.[1234]  *\(heddle_[a-z_]*\)$/\1/p' | sort -u >"$dir/exported"
cmp "$dir/declared" "$dir/exported" || fail "declared and exported: $(diff "$dir/declared" "$dir/exported")"
objdump -T "$lib" | grep -v 'UND\|ABS' | sed -n '/^[0-9a-f]\{16\}/p' | grep -v HEDDLE_ &&
	fail "exported without a version"
echo "$(wc -l <"$dir/exported") functions; tuned: $chosen"
