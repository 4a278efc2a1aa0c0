#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/opaque.sh DIST [ARRANGEMENT...]
# Runs two unmodified PyTorch programs with kernels that cannot be rewritten: inference (high
# priority, periodic requests) beside training that fills the GPU (low priority). Measures each
# arrangement in turn, RUNS times (default: 1). The programs are in bench/pytorch. Arrangements:
#   alone                  each program by itself, natively
#   heddle-alone           each program by itself under heddle
#   sliced                 both natively, taking turns
#   mps, mps-priority      under NVIDIA's MPS; the second with a lower client priority for training
#   mps-share:PERCENT      under NVIDIA's MPS, with training limited to this share of the SMs
#   heddle[:KEY=VALUE...]  under heddle, without MPS, with these settings of heddled
#   heddle-mps[:...]       under heddle with MPS, with these settings
# Prints a line for each request period and way: arrangement, way, period, requests, p50, p99 and
# maximum latency (ms), and the training steps per second during the requests. Settings: PERIODS
# (ms, default 5,10,20), WAYS (launches,graph), REQUESTS (2000), OUT (a folder for the programs'
# output), PYTHON (python3; must have PyTorch). With several GPUs, each run may use its own
# (CUDA_VISIBLE_DEVICES). `python3 bench/render.py picture opaque FILE...` draws several runs.
set -eu
dist=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- alone heddle-alone sliced heddle mps mps-priority heddle-mps
heddle=$dist/bin/heddle
python=${PYTHON:-python3}
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
dir=$(mktemp -d)
train='' infer='' daemon='' vendor=''
export HEDDLE_SOCKET="$dir/sock" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state"

ends() {
	for pid in $infer $train; do kill "$pid" 2>/dev/null || :; done
	for pid in $infer $train; do wait "$pid" 2>/dev/null || :; done
	infer='' train=''
}

environment_ends() {
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null || :
		wait "$daemon" 2>/dev/null || :
		daemon=''
	fi
	if [ -n "$vendor" ]; then
		echo quit | nvidia-cuda-mps-control >/dev/null 2>&1 || :
		vendor=''
		unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
	fi
}

trap 'ends; environment_ends; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# await SECONDS COMMAND...
await() {
	tries=$(($1 * 20))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.05
	done
}

start_vendor() {
	export CUDA_MPS_PIPE_DIRECTORY="$dir/mps" CUDA_MPS_LOG_DIRECTORY="$dir/mps-log"
	mkdir -p "$dir/mps" "$dir/mps-log"
	nvidia-cuda-mps-control -d
	vendor=1
}

start_heddled() { # MPS KEY=VALUE,...
	sets=
	for set in $(echo "$2" | tr , ' '); do sets="$sets --set $set"; done
	# shellcheck disable=SC2086
	"$dist/bin/heddled" --config-root /nonexistent --socket "$HEDDLE_SOCKET" --mps "$1" $sets \
		--events "$out/$name.events" >"$out/$name.heddled" 2>&1 &
	daemon=$!
	await 20 "$heddle" status || { cat "$out/$name.heddled"; exit 1; }
}

# Starts training under the command "$@". It runs until it is killed.
start_training() {
	rm -f "$dir/steps" # left by a previous arrangement
	"$@" "$python" "$here/pytorch/training.py" --log "$dir/steps" >"$out/$name.training" 2>&1 &
	train=$!
}

training_ready() {
	await 120 grep -q ready "$out/$name.training" || { tail -n 5 "$out/$name.training"; exit 1; }
}

steps_between() { # FROM TO, in seconds: prints training steps per second
	awk -v from="$1" -v to="$2" '$1 >= from && $1 < to { n++ } END { printf "%.2f", n / (to - from) }' \
		"$dir/steps"
}

start_inference() {
	rm -f "$dir/go"
	"$@" "$python" "$here/pytorch/inference.py" --go "$dir/go" --way "${WAYS:-launches,graph}" \
		--period-ms "${PERIODS:-5,10,20}" --requests "${REQUESTS:-2000}" >"$out/$name.inference" 2>&1 &
	infer=$!
}

# Converts the programs' JSON lines to lines of the table.
table() {
	while read -r line; do
		case $line in '{'*) ;; *) continue ;; esac
		field() { echo "$line" | sed -E "s/.*\"$1\": \"?([^,\"}]*).*/\1/"; }
		steps=-
		[ -z "$train" ] || steps=$(steps_between "$(field from_s)" "$(field to_s)")
		echo "$name $(field way) $(field period_ms) $(field requests) $(field p50_ms)" \
			"$(field p99_ms) $(field max_ms) $steps"
	done <"$out/$name.inference"
}

inference() {
	await 120 grep -q ready "$out/$name.inference" || { tail -n 5 "$out/$name.inference"; exit 1; }
	[ -z "$train" ] || training_ready
	touch "$dir/go"
	wait "$infer" || echo "$name: inference: exit status $?"
	infer=''
	table
}

both() { # UNDER-HIGH UNDER-LOW...
	high=$1
	shift
	start_training "$@"
	# shellcheck disable=SC2086
	start_inference $high
	inference
	ends
}

each_alone() { # PREFIX...
	start_inference "$@"
	inference
	start_training "$@"
	training_ready
	sleep 10
	steps=$(awk 'NR == 5 { from = $1 } END { printf "%.2f", (NR - 5) / ($1 - from) }' "$dir/steps")
	echo "$name training - - - - - $steps"
	ends
}

run=0
while [ "$run" -lt "${RUNS:-1}" ]; do
	run=$((run + 1))
	for name; do
		settings=${name#*:}
		[ "$settings" != "$name" ] || settings=
		case $name in
		alone) each_alone env ;;
		heddle-alone)
			start_heddled off ""
			each_alone "$heddle" run --
			;;
		sliced) both env env ;;
		mps | mps-priority)
			start_vendor
			if [ "$name" = mps ]; then both env env; else both env env CUDA_MPS_CLIENT_PRIORITY=1; fi
			;;
		mps-share:*)
			start_vendor
			both env env CUDA_MPS_ACTIVE_THREAD_PERCENTAGE="$settings"
			;;
		heddle-mps*)
			start_heddled on "$settings"
			both "$heddle run -p high --" "$heddle" run -p low --
			;;
		heddle*)
			start_heddled off "$settings"
			both "$heddle run -p high --" "$heddle" run -p low --
			;;
		*)
			echo "no such arrangement: $name" >&2
			exit 2
			;;
		esac
		environment_ends
	done
done
