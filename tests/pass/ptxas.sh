#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: ptxas.sh TOOL ARCH PTX...
# ptxas must accept every kernel in its preemptible form, with and without claiming ahead. Prints
# registers and shared memory of the plain and the preemptible form.
set -eu
tool=$1
arch=$2
shift 2
command -v ptxas >/dev/null || { echo "no ptxas: skipped"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
usage() {
	awk '/Compiling entry function/ { split($0, a, "\047"); name = a[2] }
	     /Used [0-9]+ registers/ && name { match($0, /Used [0-9]+/);
		regs = substr($0, RSTART + 5, RLENGTH - 5); smem = 0;
		if (match($0, /[0-9]+ bytes smem/)) { smem = substr($0, RSTART, RLENGTH); sub(/ .*/, "", smem) }
		print name, regs, smem; name = "" }' "$1" | LC_ALL=C sort
}
failed=0
for ptx; do
	target=$(sed -n 's/^\.target sm_\([0-9]*\).*/\1/p' "$ptx")
	[ "$target" -le "${arch#sm_}" ] || continue
	ptxas -v -arch="$arch" "$ptx" -o "$dir/x" 2>"$dir/plain" || continue
	for mode in print lean; do
		"$tool" "$mode" "$ptx" >"$dir/new.ptx"
		if ! ptxas -v -arch="$arch" "$dir/new.ptx" -o "$dir/x" 2>"$dir/new"; then
			echo "$ptx ($mode):"
			head -5 "$dir/new"
			failed=1
			continue
		fi
		usage "$dir/plain" >"$dir/a"
		usage "$dir/new" >"$dir/b"
		LC_ALL=C join "$dir/a" "$dir/b" | while read -r name r0 s0 r1 s1; do
			echo "$(basename "$(dirname "$ptx")") $mode $name: registers $r0 -> $r1, shared $s0 -> $s1"
		done
	done
done
"$tool" closer >"$dir/closer.ptx"
ptxas -arch="$arch" "$dir/closer.ptx" -o "$dir/x" || failed=1
exit $failed
