#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/handover.sh DIST [OUT]
# A 20 us kernel every millisecond beside long grids of 20 us blocks, in each arrangement, and the
# hand-over beyond the residual (bench/stamps.c), on this machine's GPU. DIST: what ./run dist
# made. Event logs and the programs' reports stay in OUT.
set -eu
dist=$1
out=${2:-$(mktemp -d)}
heddle=$dist/bin/heddle
examples=$dist/lib/heddle/examples
count=${COUNT:-2000}
ms=$((count + 6000))
mkdir -p "$out"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

tick() { # NAME COMMAND...
	name=$1
	shift
	"$@" "$examples/tick" --count "$count" --wait-ms 500 --log "$out/log.$name" >"$out/tick.$name" 2>&1 ||
		echo "tick: exit $?" >>"$out/tick.$name"
	printf '%-16s' "$name"
	tail -n 1 "$out/tick.$name"
}

low() { # COMMAND...
	"$@" "$examples/longgrid" --block-us 20 --blocks 100000 --for-ms "$ms" >"$out/low" 2>&1 &
	low=$!
	until grep -q ready "$out/low"; do sleep 0.05; done
	sleep 0.3
}

low_ends() {
	kill "$low" 2>/dev/null || :
	wait "$low" 2>/dev/null || :
}

daemon() { # MPS
	export HEDDLE_SOCKET="$dir/sock"
	"$dist/bin/heddled" --mps "$1" --socket "$dir/sock" --events "$out/events.$1" \
		>"$out/heddled.$1" 2>&1 &
	daemon=$!
	until [ -S "$dir/sock" ]; do sleep 0.05; done
	sleep 0.5
}

daemon_ends() {
	kill "$daemon"
	wait "$daemon" || :
	rm -f "$dir/sock"
	unset HEDDLE_SOCKET
}

tick alone
low
tick sliced
low_ends
for mps in ${MPS:-off on}; do
	daemon "$mps"
	tick "alone-mps-$mps" "$heddle" run -p high --
	low "$heddle" run -p low --
	tick "heddle-mps-$mps" "$heddle" run -p high --
	low_ends
	ptx=$dist/lib/heddle/kernels/nvcc/stamp.ptx
	"$heddle" run -p low -- "$dist/lib/heddle/bench/stamps" --ptx "$ptx" \
		--events "$out/events.$mps" --block-us 20 --blocks 100000 \
		--for-ms "$((count + 2500))" >"$out/stamps.$mps" 2>&1 &
	low=$!
	sleep 1.5
	tick "stamps-mps-$mps" "$heddle" run -p high --
	wait "$low" || :
	cat "$out/stamps.$mps"
	daemon_ends
done
