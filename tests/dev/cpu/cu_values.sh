#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: cu_values.sh ROOT. Compares our header of the driver API with NVIDIA's, if that is
# installed.
root=${1:?usage: cu_values.sh ROOT}
for dir in "${CUDA_PATH:-/usr/local/cuda}/include" /usr/include; do
	[ ! -f "$dir/cuda.h" ] || break
done
[ -f "$dir/cuda.h" ] || { echo "skipped: no cuda.h"; exit 77; }
version=$(awk '$2 == "CUDA_VERSION" { print $3 }' "$dir/cuda.h")
[ "${version:-0}" -ge 13000 ] || { echo "skipped: cuda.h is of $version, older than ours"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
src=$root/tests/dev/cpu/cu_values.c
cc -w -DVENDOR -I"$root/src" -I"$dir" "$src" -c -o "$tmp/theirs.o" && cc "$tmp/theirs.o" -o "$tmp/theirs" &&
	cc -w -I"$root/src" "$src" -o "$tmp/ours" || exit 1
"$tmp/theirs" >"$tmp/1" && "$tmp/ours" >"$tmp/2" && diff "$tmp/1" "$tmp/2"
