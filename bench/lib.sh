# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# Functions for benchmarks that run programs under a daemon of their own. The script sets dist
# first: the output folder of ./run dist, or a build folder. This file sets the paths heddle,
# heddled, examples and benches, and dir, a folder that is removed at exit. It also ends the
# processes daemon, high and low at exit.
# shellcheck disable=SC2034,SC2154
heddle=$dist/bin/heddle heddled=$dist/bin/heddled
examples=$dist/lib/heddle/examples benches=$dist/lib/heddle/bench
[ -x "$heddle" ] || {
	heddle=$dist/heddle heddled=$dist/heddled examples=$dist/examples benches=$dist/bench
}
dir=$(mktemp -d)
export HEDDLE_SOCKET="$dir/sock" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state"
high='' low='' daemon=''
ends() {
	# shellcheck disable=SC2086
	kill $high $low $daemon 2>/dev/null || :
	wait
	rm -rf "$dir"
}
trap ends EXIT
trap 'exit 1' INT TERM

await() { # FILE TEXT
	tries=0
	until grep -q "$2" "$1" 2>/dev/null; do
		tries=$((tries + 1))
		[ "$tries" -lt 1500 ] || { echo "no $2 in $1"; cat "$1"; exit 1; }
		sleep 0.02
	done
}

serve() { # LOG OPTION...: starts a daemon and waits until it answers
	log=$1
	shift
	env -u LD_LIBRARY_PATH "$heddled" --config-root /nonexistent --socket "$HEDDLE_SOCKET" "$@" 2>"$log" 9>&- &
	daemon=$!
	tries=0
	until "$heddle" status >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 1500 ] || { echo "no heddled"; cat "$log"; exit 1; }
		sleep 0.02
	done
}

served() { # ends the daemon
	kill "$daemon"
	wait "$daemon" || :
	daemon=''
}
