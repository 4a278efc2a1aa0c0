#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: graft_ptxas.sh TOOL PTXAS ARCH PTX...
# If ptxas accepts a file, it must accept the results of grafting, flattening and importing it.
set -eu
tool=$1
ptxas=$2
arch=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
before=
for ptx; do
	"$ptxas" -arch="$arch" "$ptx" -o "$dir/x" 2>"$dir/err" || continue
	for way in graft flat twice "import ${before:-$ptx}"; do
		# shellcheck disable=SC2086
		set -- $way
		if ! "$tool" "$1" "$ptx" ${2:+"$2"} >"$dir/new.ptx" 2>"$dir/err" ||
			! "$ptxas" -arch="$arch" "$dir/new.ptx" -o "$dir/x" 2>"$dir/err"; then
			# Two copies of a kernel that needs all shared memory need too much.
			[ "$1" != twice ] || ! grep -q 'too much shared data' "$dir/err" || continue
			# A module for OpenCL cannot be imported into others; the message says so.
			[ "$1" != import ] || ! grep -q texmode_independent "$dir/err" || continue
			echo "$ptx ($way):"
			head -n 5 "$dir/err"
			failed=1
		fi
	done
	before=$ptx
done
[ -n "$before" ] || { echo "skipped: $ptxas takes none of the files"; exit 77; }
exit $failed
