#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: live_registers.sh TOOL PTX...
# Registers that the worker keeps from the end of a block to the beginning of the next one are live
# throughout the body, and may cost a kernel a resident block on each SM. They are the block's
# place in the chunk; the chunk, if warps go through it at their own pace; and the round's number
# and goal, if barriers are rounds. A register that may be read before it is written would be live
# as well, without being noticed.
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
