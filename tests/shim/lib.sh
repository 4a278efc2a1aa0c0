# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# For the tests of the shim on the virtual GPU. Sourced with PROG, DAEMON, SHIM and CPU naming the
# program, the scripted daemon and the two libraries. Every test has a virtual GPU of its own.
# shellcheck disable=SC2153
: "$PROG" "$DAEMON" "$SHIM" "$CPU"
use_folder() { # FOLDER: of the programs and daemons from here on
	dir=$1
	export XDG_RUNTIME_DIR="$dir" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state" HEDDLE_SOCKET="$dir/sock"
}
use_folder "$(mktemp -d)"
top=$dir
daemon=
cases= # that run beside this shell: a name and a process id each
trap 'stop; end_cases; rm -rf "$dir"' EXIT
export HEDDLE_VGPU="shim-$$"
export HEDDLE_FORM_WAIT_MS=60000 # what is to be seen are managed launches, from the first on
# The shim's records of kernels and streams live as long as the process: they are no leaks.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
unset LD_LIBRARY_PATH HEDDLE_DRIVER_LIB HEDDLE_PRIORITY HEDDLE_WEIGHT HEDDLE_CLASS

fail() {
	echo "$*"
	head -20 "$dir"/err 2>/dev/null
	exit 1
}

awaited() { # SECONDS COMMAND...: until the command succeeds; false: it never did
	looks=$(($1 * 20))
	shift
	nap=0.01
	until "$@" 2>/dev/null; do
		looks=$((looks - 1))
		[ $looks -gt 0 ] || return 1
		[ $((looks % 20)) != 0 ] || nap=0.05 # each look costs a busy machine more than the nap
		sleep $nap
	done
}

await() { # WHAT COMMAND...: until the command succeeds
	what=$1
	shift
	awaited 60 "$@" || fail "$what"
}

start() { # MODE [SEED]: the scripted daemon
	rm -f "$dir/daemon" # the last one said that it was ready, too
	"$DAEMON" "$dir/sock" "$@" >"$dir/daemon" 2>&1 &
	daemon=$!
	await "the daemon does not start" grep -q ready "$dir/daemon"
}

stop() {
	[ -z "$daemon" ] || { kill "$daemon"; wait "$daemon"; } 2>/dev/null || true
	daemon=
}

run_case() { # NAME COMMAND...: in a subshell
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

# beside NAME COMMAND...: runs the command in the background, with a folder, daemons and a virtual GPU of
# its own. For cases that mostly wait and do not need each other. `together` waits for all of them.
beside() {
	mkdir "$dir/$1"
	run_case "$@" >"$dir/$1.said" 2>&1 &
	cases="$cases $1:$!"
}

together() { # prints what the cases have said, in their order; fails if one has
	failed=
	for c in $cases; do
		wait "${c#*:}" || failed="$failed ${c%:*}"
		sed "s/^/${c%:*}: /" "$dir/${c%:*}.said"
	done
	cases=
	[ -z "$failed" ] || fail "failed:$failed"
}

end_cases() { # those that still run
	for c in $cases; do
		kill "${c#*:}" 2>/dev/null || continue
		wait "${c#*:}" || :
	done
}

# managed MODE SCENARIO...: same under a daemon of its own, whose report is in $dir/daemon afterwards;
# again, up to five times, if more launches than $unmanaged (or 0) went plain: they do where there was
# no processor to make their forms, or to read them from the cache, while launches waited for them.
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

plain() { # ARG...: without the shim
	LD_LIBRARY_PATH=$(dirname "$CPU") timeout 200 "$PROG" "$@"
}

shim() { # ARG...: through it
	if [ -n "${WRAP:-}" ]; then # a command that is run before, in a mount namespace of its own
		set -- unshare -m sh -c "$WRAP"' && exec "$@"' sh "$PROG" "$@"
	else
		set -- "$PROG" "$@"
	fi
	HEDDLE_DRIVER_LIB=$CPU LD_LIBRARY_PATH=$(dirname "$SHIM") timeout 200 "$@"
}

# ARG...: both print the same and end well. Without the shim the program runs once for all calls with the
# same arguments and variables. (A virtual GPU's name changes nothing, only what follows it.)
same() {
	kept=$top/plain.$({ env | grep -E '^(PROG|CUDA_|HEDDLE_VGPU)' | sed 's/^HEDDLE_VGPU=[^,]*/HEDDLE_VGPU=/' | sort &&
		echo "$*"; } | cksum | tr ' ' .)
	if [ ! -f "$kept" ]; then
		plain "$@" >"$dir/plain" 2>"$dir/err" || fail "plain $*: status $?"
		cp "$dir/plain" "$dir/kept" && mv "$dir/kept" "$kept" # at once: others look for it
	fi
	cp "$kept" "$dir/plain"
	shim "$@" >"$dir/out" 2>"$dir/err" || fail "shim $*: status $?"
	cmp -s "$dir/plain" "$dir/out" || { diff "$dir/plain" "$dir/out" || :; fail "$*: results differ"; }
}
