#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: contract.sh HEDDLE TOOL LIST alone|tasks|pairs [PTX...]
# ptxas must contract products and sums in a kernel's forms as it does in the kernel (contract.py).
# alone: the preemptible forms of all kernels, and of PTX (foreign files, by hand). tasks: kernels
# as tasks; TOOL is task_tool. pairs: kernels with sums, merged, fused and woven with some others.
# Uses PTXAS and NVDISASM, or those on the PATH.
set -eu
heddle=$1
tool=$2
list=$3
mode=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$list")/.." && pwd)
export PTXAS="${PTXAS:-ptxas}" NVDISASM="${NVDISASM:-nvdisasm}"
for part in python3 "$PTXAS" "$NVDISASM"; do
	command -v "$part" >/dev/null || {
		echo "skipped: no $part"
		exit 77
	}
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tab=$(printf '\t')
bad=0

# has_sums PTX: whether ptxas might contract something in it.
has_sums() {
	grep -qE '(^|[[:space:]])(add|sub)(\.ftz|\.sat)*\.(f32|f64|f16|bf16|f16x2|bf16x2)[[:space:]]' "$1" &&
		grep -qE '(^|[[:space:]])mul(\.ftz)?\.(f32|f64|f16|bf16|f16x2|bf16x2)[[:space:]]' "$1"
}

# arch PTX: prints sm_90, or a higher or specific architecture if the file requires it.
arch() {
	sed -n 's/^\.target \(sm_[0-9]*[af]\{0,1\}\).*/\1/p' "$1" | head -n 1 |
		awk '{ n = substr($0, 4) + 0; print (n > 90 || $0 ~ /[af]$/) ? $0 : "sm_90" }'
}

# compare NAME ARCH FORM PLAIN...: compares a form with its kernels, and prints a line.
compare() {
	name=$1
	shift
	if python3 "$here/contract.py" "$@" >"$dir/out" 2>&1; then
		echo "$name: $(tail -n 1 "$dir/out")"
	else
		echo "DIFFERS $name:"
		cat "$dir/out"
		bad=1
	fi
}

# words KERNEL COMPILER: prints its specification.
words() {
	grep "/$2/.*$tab$1$tab" "$list" | grep -v 'sm_90\.ptx' | head -n 1 | while IFS=$tab read -r file kernel _ rest; do
		echo "$root/$file $kernel $rest"
	done
}

if [ "$mode" = alone ]; then
	[ $# -gt 0 ] || {
		cut -f1 "$list" | grep -v 'sm_90\.ptx' | sort -u >"$dir/files"
		while read -r file; do
			set -- "$@" "$root/$file"
		done <"$dir/files"
	}
	for ptx; do
		has_sums "$ptx" || continue
		"$tool" lean "$ptx" >"$dir/form.ptx" 2>/dev/null || continue
		compare "$ptx" "$(arch "$ptx")" "$dir/form.ptx" "$ptx"
	done
	exit $bad
fi

if [ "$mode" = tasks ]; then
	cut -f1,2 "$list" | grep -v 'sm_90\.ptx' | sort -u >"$dir/kernels"
	while IFS=$tab read -r file kernel; do
		has_sums "$root/$file" || continue
		"$tool" 128 0 full "$root/$file" "$kernel" >"$dir/form.ptx" 2>/dev/null || continue
		compare "$file $kernel" "$(arch "$root/$file")" "$dir/form.ptx" "$root/$file:$kernel"
	done <"$dir/kernels"
	exit $bad
fi

for compiler in nvcc clang; do
	for first in blackscholes cfd gelu micnd wide_half wide_double filterbank limit_registers; do
		for second in cfd transpose histogram; do
			a=$(words "$first" "$compiler")
			b=$(words "$second" "$compiler")
			[ -n "$a" ] || continue
			[ -n "$b" ] || continue
			for pass in merge fuse-vertical fuse-horizontal weave; do
				# shellcheck disable=SC2086
				"$heddle" ptx "$pass" -- $a + $b >"$dir/form.ptx" 2>"$dir/err" || {
					grep -q 'cannot be' "$dir/err" && continue
					cat "$dir/err"
					bad=1
					continue
				}
				compare "$compiler $first+$second $pass" sm_90 "$dir/form.ptx" "${a%% *}:$first" "${b%% *}:$second"
			done
		done
	done
done
exit $bad
