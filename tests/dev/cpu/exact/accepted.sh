#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Checks that NVIDIA's assembler accepts every form of exact.def and sums.def for the target that
# the form names.
#   accepted.sh OPS SUMS
set -eu
ops=$1
sums=$2
command -v ptxas >/dev/null || {
	echo "skipped: no ptxas here"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
above=1
for sm in 90 100; do
	rm -f "$work"/*
	"$ops" --write "$work" --sm $sm --above $above
	[ $sm != 90 ] || "$sums" --write "$work" --sm $sm
	above=$sm
	for f in "$work"/*.ptx; do
		ptxas -arch=sm_$sm "$f" -o "$work/cubin" >>"$work/said" 2>&1 || :
	done
	[ ! -s "$work/said" ] || {
		echo "for sm_$sm:"
		# Prints the line that each complaint is about.
		sed -n 's/^ptxas \([^,]*\), line \([0-9]*\); [a-z]* *: /\1 \2 /p' "$work/said" |
			while read -r file line why; do
				echo "$(sed -n "${line}p" "$file") $why"
			done | head -n 20
		exit 1
	}
done
