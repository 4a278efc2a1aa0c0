#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: smid.sh WHERE
# Tests how many SMs each program had in spatial preemption on this machine's GPU, under MPS, by the
# %smid that blocks record; ../e2e/where.awk has the conditions. WHERE is a build folder or the
# output of ./run dist.
set -eu
where=$1
heddle=$where/bin/heddle
bench=$where/lib/heddle/bench
[ -x "$heddle" ] || {
	heddle=$where/heddle
	bench=$where/bench
}
if [ ! -e /dev/nvidiactl ] || ! command -v nvidia-cuda-mps-control >/dev/null; then
	echo "skipped: no NVIDIA GPU, or no MPS"
	exit 77
fi
here=$(dirname "$0")/../e2e
heddled=$(dirname "$heddle")/heddled examples=$bench device=cuda
# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

# under MPS each program numbers the SMs in its own way
own_numbers=1 # under MPS

# A block of the low-priority program takes about a millisecond, and all of them together some
# seconds. A launch of the high-priority program takes some tens of milliseconds, or a second or
# more if two run at the same time.
start_daemon --mps on --set min_managed_us=1 --set grace_us=1000000
smids 1500000 100000 2000000 40
smids 3000000 100000 250000000 20 50
later_launches 60000 100000 250000000 20
echo passed
