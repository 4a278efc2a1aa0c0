#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: parting.sh TOOL HERE PTX...
# Checks the assembler's code for kernels whose lanes exit before a barrier
# (src/pass/analysis/tails.c): a finished lane must never wait for lanes of its warp that are at a
# barrier. Needs ptxas and nvdisasm (or NVDISASM).
set -eu
tool=$1
here=$2
shift 2
# shellcheck source=tests/pass/sass.sh disable=SC2154
. "$(dirname "$0")/sass.sh"
: >"$work/found"
for ptx; do
	"$tool" lean "$ptx" >"$work/form.ptx" 2>/dev/null
	# shellcheck disable=SC2086
	for arch in ${ARCHS:-sm_80 sm_90}; do
		"$ptxas" -arch=$arch -o "$work/cubin" "$work/form.ptx" 2>/dev/null || continue
		"$nvdisasm" -c "$work/cubin" | awk -f "$here/sass.awk" | sed "s#^#$arch $(basename "$(dirname "$ptx")") #" \
			>>"$work/found"
	done
done
loops=$(awk '/answering loops/ { n += $5 } END { print n + 0 }' "$work/found")
# In these kernels, lanes wait for each other within the body, as in the plain kernel: either both
# branches have the same number of barriers, or whole warps exit between two loops.
grep -vE 'answering loops| (pt_either|pt_nested|er_loop) ' "$work/found" || :
bad=$(grep -cvE 'answering loops| (pt_either|pt_nested|er_loop) ' "$work/found" || :)
echo "$loops answering loops, $bad places at which lanes wait too early"
[ "$bad" -eq 0 ] && [ "$loops" -gt 20 ]
