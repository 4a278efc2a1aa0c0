#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: imports.sh LIBCUDART.SO.13 CUDART.DEF IMPORTS.TXT
# Checks that our library exports every name in IMPORTS.TXT, and that it supports each of them,
# except those that the file marks with "lacks".
set -eu
library=$1 table=$2 imports=$3
command -v nm >/dev/null || { echo "skipped: no nm"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
nm -D --defined-only "$library" | sed 's/.* //; s/@.*//' >"$tmp/exported"
sed -n 's/^RT_LACKS2*(\(BOTH\|13\), \([A-Za-z0-9_]*\).*/\2/p' "$table" >"$tmp/lacks"
[ -s "$tmp/lacks" ] || { echo "$table was not understood"; exit 1; }
awk -v tmp="$tmp" '
BEGIN {
	while ((getline name < (tmp "/exported")) > 0)
		exported[name] = 1
	while ((getline name < (tmp "/lacks")) > 0)
		lacks[name] = 1
}
/^#/ { next }
!($1 in exported) { print "not exported: " $1; bad = 1; next }
($1 in lacks) != ($3 == "lacks") {
	print $1 ": " ($3 == "lacks" ? "supported now: drop \"lacks\"" : "not supported")
	bad = 1
}
{ n++; met += $3 != "lacks" }
END {
	print met " of " n " imported functions are supported"
	exit bad || n < 100
}' "$imports"
