#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: live_registers.sh TOOL PTX...
# What the worker keeps in registers from a block's end to the next one's beginning lives through the
# whole body, and may cost a kernel a block on each SM: its place in the chunk, and where warps go
# through a chunk at their own pace the chunk; where barriers are rounds, their number and the goal.
# A value that is read on a way on which nothing wrote
# it lives on unseen.
set -eu
tool=$1
shift
kernels=0
failed=0
for ptx; do
	lines=$("$tool" live "$ptx")
	[ -n "$lines" ] || continue
	kernels=$((kernels + $(echo "$lines" | wc -l)))
	if echo "$lines" | grep '%hd_' | grep -Ev '^[^%]* %hd_s( %hd_w %hd_g)?( %hd_bx %hd_by %hd_bz)?( %hd_bk)?( %hd_pr)?$'; then
		echo "in $ptx"
		failed=1
	fi
done
echo "$kernels kernels"
[ $failed -eq 0 ] && [ "$kernels" -gt 0 ]
