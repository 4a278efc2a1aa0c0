#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/handover.sh DIST [OUT]
# Runs a 20 us kernel every millisecond beside long grids of 20 us blocks on this machine's GPU, in
# each arrangement, and measures the hand-over time beyond the residual (bench/stamps.c). The number
# of loop rounds that take 20 us is measured once, on the idle device, and used for all
# arrangements. DIST: the output of ./run dist. Event logs and the programs' reports stay in OUT.
set -eu
dist=$1
out=${2:-$(mktemp -d)}
heddle=$dist/bin/heddle
examples=$dist/lib/heddle/examples
count=${COUNT:-2000}
ms=$((count + 6000))
mkdir -p "$out"
dir=$(mktemp -d)
low='' daemon='' mps_runs=''
ends() {
	[ -z "$low" ] || low_ends
	[ -z "$daemon" ] || daemon_ends
	[ -z "$mps_runs" ] || vendor_ends
	rm -rf "$dir"
}
trap ends EXIT
trap 'exit 1' INT TERM

tick() { # NAME COMMAND...
	name=$1
	shift
	"$@" timeout 100 "$examples/tick" --rounds "$tick_rounds" --count "$count" --wait-ms 500 \
		--log "$out/log.$name" >"$out/tick.$name" 2>&1 || echo "tick: exit $?" >>"$out/tick.$name"
	printf '%-18s' "$name"
	tail -n 1 "$out/tick.$name"
}

# rounds PROGRAM ARG...: prints the loop rounds that the program chose for its blocks
rounds() {
	program=$1
	shift
	"$examples/$program" "$@" >"$out/rounds"
	sed -n 's/.*ready, \([0-9]*\) rounds.*/\1/p' "$out/rounds"
}

low() { # COMMAND...
	"$@" "$examples/longgrid" --rounds "$low_rounds" --blocks 100000 --for-ms "$ms" >"$out/low" 2>&1 &
	low=$!
	until grep -q ready "$out/low"; do sleep 0.05; done
	sleep 0.3
}

low_ends() {
	kill "$low" 2>/dev/null || :
	wait "$low" 2>/dev/null || :
	low=''
}

daemon() { # MPS
	export HEDDLE_SOCKET="$dir/sock" XDG_STATE_HOME="$dir/state" HEDDLE_FORM_WAIT_MS=60000
	"$dist/bin/heddled" --mps "$1" --socket "$dir/sock" --events "$out/events.$1" \
		>"$out/heddled.$1" 2>&1 &
	daemon=$!
	tries=0
	until [ -S "$dir/sock" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 600 ] || { echo "no heddled"; cat "$out/heddled.$1"; exit 1; }
		sleep 0.05
	done
	sleep 0.5
}

daemon_ends() {
	kill "$daemon"
	wait "$daemon" || :
	daemon=''
	rm -f "$dir/sock"
	unset HEDDLE_SOCKET
}

# NVIDIA's MPS, first with its defaults, then with its client priorities.
vendor() {
	export CUDA_MPS_PIPE_DIRECTORY="$dir/mps" CUDA_MPS_LOG_DIRECTORY="$dir/mps-log"
	mkdir "$dir/mps" "$dir/mps-log"
	if ! nvidia-cuda-mps-control -d; then
		echo "the vendor's MPS does not start: without MPS"
		MPS=off
		return
	fi
	mps_runs=1
	tick alone-vendor-mps
	low
	tick vendor-mps
	low_ends
	low env CUDA_MPS_CLIENT_PRIORITY=1
	tick vendor-mps-prio
	low_ends
	vendor_ends
}

vendor_ends() {
	echo quit | nvidia-cuda-mps-control || :
	mps_runs=''
	unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

command -v nvidia-cuda-mps-control >/dev/null || {
	echo "no nvidia-cuda-mps-control: without MPS"
	MPS=off
}
tick_rounds=$(rounds tick --kernel-us 20 --count 1)
low_rounds=$(rounds longgrid --block-us 20 --for-ms 1)
tick alone
low
tick sliced
low_ends
case " ${MPS:-off on} " in *" on "*) vendor ;; esac
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
	low=''
	cat "$out/stamps.$mps"
	daemon_ends
done
