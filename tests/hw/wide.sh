#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: wide.sh WHERE
# Runs a grid of more than 2^32 blocks to its end on this machine's GPU, plain and in the
# preemptible form, which is resumed some forty times. Each block must add its bit exactly once.
# WHERE is a build folder or the output of ./run dist. Needs some 1.1 GB of $TMPDIR or /tmp, and as
# much device memory. GRID and DEVICE in the environment select another grid and device, so that the
# script itself can be tried without a GPU:
#   GRID=300,7,3 DEVICE=cpu tests/hw/wide.sh build
set -eu
where=$1
heddle=$where/bin/heddle
[ -x "$heddle" ] || heddle=$where/heddle
grid=${GRID:-65538,65535,1}
device=${DEVICE:-cuda}
if [ "$device" = cuda ] && [ ! -e /dev/nvidiactl ]; then
	echo "skipped: no NVIDIA GPU"
	exit 77
fi
ptx=$(dirname "$0")/../exec/far.ptx
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
IFS=, read -r x y z <<EOF
$grid
EOF
blocks=$((x * y * z))
words=$(((blocks + 31) / 32))
every=$((blocks / 40 + 1))
bad=0

# one NAME OPTIONS: runs the kernel; writes the memory and the statistics to $work/NAME.
one() {
	# shellcheck disable=SC2086
	timeout 300 "$heddle" exec --json --device "$device" --grid "$grid" --block 1 $2 "$ptx" \
		far_bits "u32[$words]:zero>$work/$1" >"$work/report" || {
		echo "FAIL $1 [$2]: exit status $?"
		bad=1
		return 0
	}
	echo "$1 [$2]: $blocks blocks, $(sed -n 's/.*"ms": \([0-9.]*\).*/\1/p' "$work/report") ms," \
		"$(sed -n 's/.*"launches": \([0-9]*\).*/\1/p' "$work/report") launches"
}

# Every word except the last must be all ones.
one plain ""
full=$((blocks / 32))
if [ "$(head -c $((full * 4)) "$work/plain" | tr -d '\377' | wc -c)" -ne 0 ]; then
	echo "FAIL plain: a block is missing, or ran twice"
	bad=1
fi
for options in "--yield-every $every" "--yield-every $every --chunk 16"; do
	one form "--as preempt $options"
	cmp "$work/plain" "$work/form" || bad=1
	launches=$(sed -n 's/.*"launches": \([0-9]*\).*/\1/p' "$work/report")
	[ "${launches:-0}" -ge 30 ] || {
		echo "FAIL $options: launched only ${launches:-0} times"
		bad=1
	}
	rm -f "$work/form"
done
[ $bad -eq 0 ] && echo "the same"
