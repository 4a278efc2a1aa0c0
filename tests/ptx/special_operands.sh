#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Checks special_operands.txt against ptxas.
#   special_operands.sh PTXAS
set -eu
ptxas=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
bad=0 n=0
tab=$(printf '\t')
while IFS=$tab read -r wanted statement; do
	case $wanted in
	[+-]) ;;
	*) continue ;;
	esac
	n=$((n + 1))
	{
		cat "$here/special_head.ptx"
		printf '%s\nret;\n}\n' "$statement"
	} >"$work/k.ptx"
	says=+
	"$ptxas" -arch=sm_90 -o /dev/null "$work/k.ptx" >"$work/said" 2>&1 || says=-
	[ "$says" != "$wanted" ] || continue
	bad=$((bad + 1))
	echo "FAIL ptxas says $says: $statement"
done <"$here/special_operands.txt"
echo "$n statements, $bad differ"
[ "$bad" -eq 0 ]
