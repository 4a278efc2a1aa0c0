#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: verified.sh GEN TOOL FIRST COUNT STEP
# Makes COUNT random programs from seed FIRST on preemptible, and merges and fuses each with every
# STEP-th of them. The verifier (tests/pass/verify_tool) must find no fault.
set -eu
gen=$1
tool=$2
first=$3
count=$4
step=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir "$work/kernels"
for seed in $(seq "$first" $((first + count - 1))); do
	file=kernels/$seed.ptx
	"$gen" --print --first "$seed" --count 1 >"$work/$file"
	sed -n "1s|^.* \(--block [^ ]*\) \(.*\)FILE \([^ ]*\) .*|$file\t\3\tgen\t\1 \2|p" "$work/$file"
done >"$work/kernels/list.txt"
"$tool" alone "$work/kernels/list.txt"
"$tool" pairs "$work/kernels/list.txt" "$step" 1
