#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: reference.sh HEDDLE LIST DEVICE REFERENCE
# Compares the kernels of KernelMerge and of GoPTX with the host's own results (reference.c), with
# every specification that their sources name; and runs two complete sorts of many launches each.
set -eu
heddle=$1
list=$2
device=$3
reference=$4
root=$(cd "$(dirname "$list")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" "$work.list"' EXIT INT TERM
tried=0 bad=0
limit=60
# shellcheck source=tests/exec/form.sh
. "$(dirname "$0")/form.sh"

# check FILE KERNEL WORDS: compares a kernel's results with the host's.
check() {
	tried=$((tried + 1))
	rm -f "$work"/*
	set -f
	# shellcheck disable=SC2086
	if ! run_form "$work/k" "$device" "$1" "$2 $3"; then
		echo "FAIL $2 $3: $(head -n 2 "$work/k.err" | tr '\n' ' ')"
		bad=$((bad + 1))
	elif ! "$reference" "$work/k" "$2" $3 >"$work/why"; then
		echo "FAIL $2 $3: $(tr '\n' ' ' <"$work/why")"
		bad=$((bad + 1))
	fi
	set +f
}

# launch FILE KERNEL GRID BLOCK ARG...: runs a kernel, and counts a failure.
launch() {
	file=$1 kernel=$2 grid=$3 block=$4
	shift 4
	"$heddle" exec --device "$device" --grid "$grid" --block "$block" "$file" "$kernel" "$@"
}

sorted() { # NAME
	tried=$((tried + 1))
	od -An -v -tu4 -w4 "$work/keys" >"$work/list"
	if ! LC_ALL=C sort -nc "$work/list" || [ "$(sort -u "$work/list" | wc -l)" -lt 4000 ]; then
		echo "FAIL $1: not sorted"
		bad=$((bad + 1))
	fi
}

# sorts BITONIC.PTX MSORT.PTX: sorts 4096 keys with each.
sorts() {
	launch "$1" bitonic_tile 8 256 "u32[4096]:rand(11)>$work/keys"
	run=1024
	while [ $run -le 4096 ]; do
		gap=$((run / 2))
		while [ $gap -gt 0 ]; do
			launch "$1" bitonic_step 32 64 "u32[4096]:@$work/keys>$work/next" u32:4096 u32:$run u32:$gap
			mv "$work/next" "$work/keys"
			gap=$((gap / 2))
		done
		run=$((run * 2))
	done
	sorted "$1"
	launch "$2" msort_tile 16 128 "u32[4096]:rand(12)" "u32[4096]:zero>$work/keys"
	width=256
	while [ $width -lt 4096 ]; do
		launch "$2" msort_pass 41 100 "u32[4096]:@$work/keys" "u32[4096]:zero>$work/next" u32:4096 u32:$width
		mv "$work/next" "$work/keys"
		width=$((width * 2))
	done
	sorted "$2"
}

tab=$(printf '\t')
goptx='(gelu|harris|lud|micnd|sort|stms|wmma)'$tab
grep -E "$tab(bitonic|msort|kmeans|transpose|blackscholes|histogram|mandelbrot|matmul|filterbank|$goptx)" "$list" >"$work.list" || {
	echo "skipped: no such kernels (no compiler here)"
	exit 77
}
while IFS=$tab read -r file kernel toolchain words; do
	case $file in *.sm_90.ptx) continue ;; esac
	check "$root/$file" "$kernel" "$words"
done <"$work.list"
for toolchain in nvcc clang; do
	ptx=$root/kernels/$toolchain
	[ ! -r "$ptx/bitonic.ptx" ] || sorts "$ptx/bitonic.ptx" "$ptx/msort.ptx"
done
echo "$tried results, $bad wrong"
[ $bad -eq 0 ]
