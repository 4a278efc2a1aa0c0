#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: texts.sh HEDDLE WAYS
# Tests that libheddle and heddle emit the same PTX for the same kernels, so that heddle_corun runs
# the code that heddle tune measured. The virtual GPU's compiler cache stores each text that it
# compiles as a file. The forms among these files are compared byte for byte.
set -eu
heddle=$1
ways=$2
dir=$(mktemp -d)
export HEDDLE_VGPU="rt-texts-$$,assemble=1"
trap 'rm -rf "$dir" "/dev/shm/heddle-vgpu-$(id -u)-rt-texts-$$"-*' EXIT INT TERM
fail() {
	echo "$*"
	exit 1
}

# tally uses variables of the module: one that it writes, an array, and one in constant memory.
cat >"$dir/k.ptx" <<'END'
.version 7.0
.target sm_70
.address_size 64
.visible .global .u32 calls;
.global .align 16 .b8 table[64];
.const .u32 step = 3;
.visible .entry put(.param .u64 p, .param .u32 v)
{
	.reg .b64 %a<3>;
	.reg .b32 %r<4>;
	ld.param.u64 %a1, [p];
	ld.param.u32 %r1, [v];
	mov.u32 %r2, %tid.x;
	mad.lo.u32 %r3, %r2, %r1, %r1;
	mul.wide.u32 %a2, %r2, 4;
	add.u64 %a1, %a1, %a2;
	st.global.u32 [%a1], %r3;
	ret;
}
.visible .entry tally(.param .u64 p, .param .u32 v)
{
	.reg .b64 %a<3>;
	.reg .b32 %r<5>;
	ld.param.u64 %a1, [p];
	mov.u64 %a2, calls;
	ld.const.u32 %r1, [step];
	red.global.add.u32 [%a2], %r1;
	ld.global.u32 %r3, [table+16];
	add.u32 %r4, %r1, %r3;
	st.global.u32 [%a1], %r4;
	ret;
}
END

# form CACHE COMMAND...: runs the command with this cache for compiled PTX.
form() {
	cache=$dir/$1
	shift
	mkdir -p "$cache"
	CUDA_CACHE_PATH=$cache "$@" >"$dir/out" 2>&1 || fail "$*: $(cat "$dir/out")"
}
# keep CACHE: removes everything from the cache except forms.
keep() {
	for text in "$dir/$1"/*; do
		grep -q 'entry hd_merged' "$text" || rm "$text"
	done
}

n=0
tab=$(printf '\t')
for kernels in 'put put' 'put tally' 'tally tally' 'tally put'; do
	first=${kernels% *} second=${kernels#* }
	specs="$dir/k.ptx $first --grid 3 --block 32 u32[1024]:zero u32:7 + $dir/k.ptx $second --grid 5 --block 64 u32[1024]:zero u32:7"
	for way in 'merge steal' 'merge steal own=2' vertical horizontal weave 'weave unsliced' 'weave registers=40'; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		form "cli$n" "$heddle" corun --device cpu --how "$way" -- $specs
		form "rt$n" "$ways" "$dir/k.ptx" "$way" "$first=3,32" "$second=5,64"
		keep "cli$n"
		keep "rt$n"
		cat "$dir/cli$n"/* >"$dir/a"
		cat "$dir/rt$n"/* >"$dir/b"
		diff "$dir/a" "$dir/b" >"$dir/diff" ||
			fail "$kernels, $way: heddle corun's text (<) and libheddle's (>): $(head -n 20 "$dir/diff")"
		found=$(find "$dir/rt$n" -type f | wc -l)
		case $way in
		*own*) want=2 ;;
		*) want=1 ;;
		esac
		[ "$found" = $want ] || fail "$kernels, $way: $found forms, not $want"
		case $kernels in
		*tally*) grep -q 'hd_vars' "$dir/rt$n"/* || fail "$kernels, $way: module variables are named" ;;
		esac
		echo "$n$tab$kernels$tab$way" >>"$dir/all"
	done
	# heddle tune must measure the same forms, among others.
	# shellcheck disable=SC2086
	form tune "$heddle" tune --device cpu --rounds 1 --points 1 --store "$dir/store" -- $specs
	for way in 'merge steal' vertical horizontal weave; do
		at=$(awk -F "$tab" -v k="$kernels" -v w="$way" '$2 == k && $3 == w { print $1 }' "$dir/all")
		for text in "$dir/rt$at"/*; do
			cmp "$text" "$dir/tune/$(basename "$text")" || fail "$kernels, $way: heddle tune measured other code"
		done
	done
done
echo "$n forms of pairs are the same"
