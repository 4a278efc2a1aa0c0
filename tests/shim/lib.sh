# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# Functions for the shim's tests on the virtual GPU. Sourced with PROG, DAEMON, SHIM and CPU set to
# the paths of the program, the scripted daemon and the two libraries. Every test has its own
# virtual GPU.
# shellcheck disable=SC2153
: "$PROG" "$DAEMON" "$SHIM" "$CPU"
use_folder() { # FOLDER: for programs and daemons from here on
	dir=$1
	export XDG_RUNTIME_DIR="$dir" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state" HEDDLE_SOCKET="$dir/sock"
}
use_folder "$(mktemp -d)"
top=$dir
daemon=
cases= # background cases: a name and a process id each
trap 'stop; end_cases; rm -rf "$dir"' EXIT
export HEDDLE_VGPU="shim-$$"
export HEDDLE_FORM_WAIT_MS=60000 # each test needs managed launches from the first launch on
# The shim's records of kernels and streams live as long as the process, so they are not leaks.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
unset LD_LIBRARY_PATH HEDDLE_DRIVER_LIB HEDDLE_PRIORITY HEDDLE_WEIGHT HEDDLE_CLASS

fail() {
	echo "$*"
	head -20 "$dir"/err 2>/dev/null
	exit 1
}

awaited() { # SECONDS COMMAND...: waits until the command succeeds; fails on timeout
	looks=$(($1 * 20))
	shift
	nap=0.01
	until "$@" 2>/dev/null; do
		looks=$((looks - 1))
		[ $looks -gt 0 ] || return 1
		# on a busy machine each try costs more than the sleep
		[ $((looks % 20)) != 0 ] || nap=0.05
		sleep $nap
	done
}

await() { # WHAT COMMAND...: waits until the command succeeds
	what=$1
	shift
	awaited 60 "$@" || fail "$what"
}

start() { # MODE [SEED]: starts the scripted daemon
	rm -f "$dir/daemon" # the previous daemon's output contains "ready", too
	"$DAEMON" "$dir/sock" "$@" >"$dir/daemon" 2>&1 &
	daemon=$!
	await "the daemon does not start" grep -q ready "$dir/daemon"
}

stop() {
	[ -z "$daemon" ] || { kill "$daemon"; wait "$daemon"; } 2>/dev/null || true
	daemon=
}

run_case() { # NAME COMMAND...: runs in a subshell
	cases=
	daemon=
	trap stop EXIT
	trap 'exit 1' TERM
	use_folder "$dir/$1"
	vgpu=${HEDDLE_VGPU%%,*}
	export HEDDLE_VGPU="$vgpu-$1${HEDDLE_VGPU#"$vgpu"}"
	shift
	"$@"
}

# beside NAME COMMAND...: runs the command in the background, with its own folder, daemons and
# virtual GPU. For independent cases that mostly wait. `together` waits for all of them.
beside() {
	mkdir "$dir/$1"
	run_case "$@" >"$dir/$1.said" 2>&1 &
	cases="$cases $1:$!"
}

together() { # prints the cases' output in order; fails if one has failed
	failed=
	for c in $cases; do
		wait "${c#*:}" || failed="$failed ${c%:*}"
		sed "s/^/${c%:*}: /" "$dir/${c%:*}.said"
	done
	cases=
	[ -z "$failed" ] || fail "failed:$failed"
}

end_cases() { # kills cases that still run
	for c in $cases; do
		kill "${c#*:}" 2>/dev/null || continue
		wait "${c#*:}" || :
	done
}

# managed MODE SCENARIO...: runs `same` under a new daemon, whose report is in $dir/daemon
# afterwards. Repeats this up to five times while more than $unmanaged (default 0) launches are
# unmanaged: their forms may not have been compiled or loaded in time, for lack of CPU time.
managed() {
	mode=$1
	shift
	for _ in 1 2 3 4 5; do
		start "$mode"
		same "$@"
		stop
		cat "$dir/daemon"
		! grep -q "^native 0 opaque [0-9]* of ${unmanaged:-0}\$" "$dir/daemon" || break
	done
}

plain() { # ARG...: runs the program without the shim
	LD_LIBRARY_PATH=$(dirname "$CPU") timeout 200 "$PROG" "$@"
}

shim() { # ARG...: runs the program through the shim
	if [ -n "${WRAP:-}" ]; then # a command to run first, in a separate mount namespace
		set -- unshare -m sh -c "$WRAP"' && exec "$@"' sh "$PROG" "$@"
	else
		set -- "$PROG" "$@"
	fi
	HEDDLE_DRIVER_LIB=$CPU LD_LIBRARY_PATH=$(dirname "$SHIM") timeout 200 "$@"
}

# same ARG...: the program must succeed, and print the same with and without the shim. Without the
# shim it runs only once for all calls with the same arguments and variables. (In HEDDLE_VGPU, only
# the part after the name matters.)
same() {
	kept=$top/plain.$({ env | grep -E '^(PROG|CUDA_|HEDDLE_VGPU)' | sed 's/^HEDDLE_VGPU=[^,]*/HEDDLE_VGPU=/' | sort &&
		echo "$*"; } | cksum | tr ' ' .)
	if [ ! -f "$kept" ]; then
		plain "$@" >"$dir/plain" 2>"$dir/err" || fail "plain $*: status $?"
		# atomically: other cases look for the file
		cp "$dir/plain" "$dir/kept" && mv "$dir/kept" "$kept"
	fi
	cp "$kept" "$dir/plain"
	shim "$@" >"$dir/out" 2>"$dir/err" || fail "shim $*: status $?"
	cmp -s "$dir/plain" "$dir/out" || { diff "$dir/plain" "$dir/out" || :; fail "$*: results differ"; }
}
