#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/digest.sh [ROOT]
# Prints a digest of the code that the passes emit, 12 hexadecimal digits: of the golden forms
# (tests/pass/forms, which the test pass-forms compares with the passes' output) and of FORM_VERSION
# (src/shim/rewrite.c). ROOT is the source tree (default: the one of this script); in what ./run dist
# makes, it is what the tree had. bench/results.sh keeps it with each table: a table whose digest differs
# was measured with other code.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)}
if [ -f "$root/tests/pass/forms/digest" ]; then
	cat "$root/tests/pass/forms/digest"
	exit
fi
version=$(sed -n 's/^#define FORM_VERSION \([0-9]*\)u.*/\1/p' "$root/src/shim/rewrite.c")
[ -n "$version" ] || {
	echo "bench/digest.sh: no FORM_VERSION in $root/src/shim/rewrite.c" >&2
	exit 1
}
export LC_ALL=C
{
	echo "$version"
	cat "$root"/tests/pass/forms/*.expect
} | sha256sum | cut -c 1-12
