#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/parts.sh N TSV COMMAND...
# Runs COMMAND N times at once, each with its PART (1/N and so on) in the environment and a file of its own
# for TSV, prints what each printed, one after the other, and puts the files together in TSV, with the first
# line of each once. Exit status: the greatest of them.
set -eu
n=$1 tsv=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for k in $(seq "$n"); do
	{
		status=0
		PART=$k/$n TSV=$dir/tsv.$k "$@" >"$dir/out.$k" 2>&1 || status=$?
		echo "$status" >"$dir/status.$k"
	} &
done
wait
status=0
for k in $(seq "$n"); do
	cat "$dir/out.$k"
	of=$(cat "$dir/status.$k" 2>/dev/null || echo 1)
	[ "$of" -le "$status" ] || status=$of
done
awk 'FNR > 1 || NR == 1' "$dir"/tsv.* >"$dir/all" 2>/dev/null && cp "$dir/all" "$tsv"
exit "$status"
