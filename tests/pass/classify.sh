#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: classify.sh TOOL EXPECTED PTX...
# Rewrites every kernel of the given files, and compares tier, traits and reason with what is
# expected: the same from every compiler. BLESS=1 writes the expectation.
set -eu
tool=$1
expected=$2
shift 2
[ $# -gt 0 ] || { echo "no compiler for kernels: skipped"; exit 77; }
got=$(mktemp)
trap 'rm -f "$got"' EXIT
"$tool" classify "$@" | LC_ALL=C sort -u >"$got"
if [ "${BLESS:-}" ]; then
	cp "$got" "$expected"
	exit 0
fi
# Which kernels there are depends on the compilers; each that is there must be as expected.
if LC_ALL=C comm -13 "$expected" "$got" | grep .; then
	echo "not as in $expected (left: what was found)"
	exit 1
fi
