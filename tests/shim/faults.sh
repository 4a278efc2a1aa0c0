#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Errors around the shim never become errors of the program: no daemon, one that refuses, speaks
# another version, or dies while all launches are preempted; a cache that is corrupt, truncated,
# read-only or cannot be created. One line reports it, and the results are the same.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

one_line() { # TEXT
	if [ "$(wc -l <"$dir/err")" -ne 1 ] || ! grep -q "$1" "$dir/err"; then
		fail "expected one line: $1"
	fi
}
silent() {
	[ ! -s "$dir/err" ] || fail "expected no line"
}
none_welcome() {
	same chain && one_line '^heddle: heddled does not run, so nothing is shared ("heddled &" starts it); running natively$'
	start refuse && same chain && one_line 'heddled refused' && stop
	start version && same chain && one_line 'another protocol version' && stop
	start mute && same chain && one_line 'heddled at .*does not answer' && stop
	# If the answer is not a valid welcome, the program runs natively and one line says so.
	# Invalid messages after a welcome are ignored.
	for mode in garbage big order nofds badpage; do
		start $mode && same chain && one_line 'running natively' && stop
	done
	start shut && same chain && one_line 'heddled at .*closed the connection without an answer' && stop
	start chatter && same chain 4 24 30 && silent && stop
	# The highest number that may be requested as a priority, and a larger one.
	start watch && HEDDLE_PRIORITY=999 same chain && silent && stop
	start watch && HEDDLE_PRIORITY=99999999999 same chain && one_line 'HEDDLE_PRIORITY=99999999999: not one of' && stop
}

all_done() {
	grep -q '^lasting' "$dir/out"
}
suspended_or_done() {
	grep -q suspended "$dir/daemon" || all_done
}
# begin_suspended MODE US: starts the program under a daemon that suspends it. US is the duration of
# each block. The program stays until $dir/end exists, because the line about the daemon's death
# comes half a second late. Tried again if all launches were unmanaged (lib.sh, managed).
begin_suspended() { # MODE US: US is the duration of each block
	for _ in 1 2 3 4 5; do
		start "$1"
		rm -f "$dir/end"
		: >"$dir/out" # clears the previous output, which says that it is done
		PROG_STAY=$dir/end shim lasting 1 1000 "$2" >"$dir/out" 2>"$dir/err" &
		prog=$!
		await "neither suspended nor done" suspended_or_done
		kill -0 "$prog" || fail "it was to be suspended"
		! grep -q suspended "$dir/daemon" || return 0
		: >"$dir/end"
		wait "$prog" || fail "status $?, not suspended"
		stop
		cat "$dir/daemon"
	done
	fail "it is never suspended"
}
# is_right_without WHAT: after the daemon has gone, one line must report it, and the results must be
# right.
is_right_without() {
	before=$(date +%s%N)
	await "not resumed: $1" all_done
	after=$(date +%s%N)
	await "no line: $1" grep -q 'heddled is gone' "$dir/err"
	: >"$dir/end"
	wait "$prog" || fail "status $?: $1"
	cmp "$top/lasting" "$dir/out" || fail "results differ: $1"
	one_line 'heddled is gone'
	took=$(((after - before) / 1000000))
	echo "$1: resumed and done after $took ms"
	[ $took -lt 20000 ] || fail "too late: $1"
}

# The daemon is killed while all launches are suspended. They must resume natively at once (on a
# busy machine: as soon as possible).
killed() {
	begin_suspended suspend 20000
	kill -9 "$daemon"
	is_right_without "the daemon is killed"
	daemon=
}

# The daemon is stopped, but not dead, while all launches are suspended. The shim must treat it as
# dead.
stands_still() {
	begin_suspended suspend 20000
	kill -STOP "$daemon"
	is_right_without "the daemon stands still"
	kill -KILL "$daemon"
	daemon=
}

# late MODE: the shim has given the daemon up, but the daemon still writes words, at once and again
# after 0.3 s. They must not delay the launches. Tried again if the launch had ended by then.
late() { # MODE
	for _ in 1 2 3 4 5; do
		begin_suspended "$1" 100000
		is_right_without "late words"
		stop
		cat "$dir/daemon"
		! grep -q '^late [01]$' "$dir/daemon" || continue
		return 0
	done
	fail "what was to be said late was not"
}

# The program is killed while all its launches are suspended. It must leave nothing that disturbs
# the next program.
kills_itself() {
	for _ in 1 2 3 4 5; do # repeated if all launches were unmanaged
		start suspend
		: >"$dir/out"
		HEDDLE_DRIVER_LIB=$CPU LD_LIBRARY_PATH=$(dirname "$SHIM") "$PROG" lasting 1 1000 20000 >"$dir/out" 2>&1 &
		prog=$!
		await "neither suspended nor done" suspended_or_done
		! grep -q suspended "$dir/daemon" || break
		wait "$prog" || fail "status $?, not suspended"
		stop
	done
	grep -q suspended "$dir/daemon" || fail "nothing is suspended"
	kill -0 "$prog" || fail "it was to be suspended"
	kill -9 "$prog"
	wait "$prog" 2>/dev/null || true
	stop
	start grant
	same chain && silent
	stop
}

# Damages the cache's files. (module_vars.sh and test_kept.c test files with wrong contents and a
# matching digest.)
both() { # forms of kernels with and without module variables
	same chain && silent && same globals && silent
}
forms() { # files except those with timing data, which come and go
	grep -rL hdtaugh "$dir/cache/heddle" | wc -l
}
has_file() { # the virtual GPU
	set -- /dev/shm/heddle-vgpu*-"$(id -u)-$HEDDLE_VGPU"
	[ -s "$1" ]
}
cache() {
	start storm
	both
	n=$(forms)
	[ "$n" -gt 0 ] || fail "nothing was kept"
	both
	[ "$(forms)" -eq "$n" ] || fail "kept twice"
	for f in "$dir"/cache/heddle/*; do
		printf 'XXXX' | dd of="$f" bs=1 seek=200 conv=notrunc 2>/dev/null
	done
	both
	for f in "$dir"/cache/heddle/*; do
		head -c 100 "$f" >"$dir/cut" && cp "$dir/cut" "$f"
	done
	both
	rm -rf "$dir/cache"
	: >"$dir/cache" # a file instead of the folder
	both
	XDG_CACHE_HOME=/dev/full both
	# Files are limited to 2 KiB, so no form can be cached. This must not end the program. The
	# virtual GPU's own file is larger, so another program has created it.
	rm -f "$dir/cache"
	(
		LD_LIBRARY_PATH=$(dirname "$CPU") PROG_STAY=$dir/never
		export LD_LIBRARY_PATH PROG_STAY
		exec "$PROG" chain >"$dir/holder"
	) &
	holder=$!
	await "the virtual GPU has no file" has_file
	# shellcheck disable=SC3045
	(ulimit -f 4 && same chain && silent)
	[ "$(forms)" -eq 0 ] || fail "something was kept"
	kill -KILL $holder
	wait $holder 2>/dev/null || true
	rm -rf "$dir/cache"
	mkdir -p "$dir/cache/heddle"
	chmod 500 "$dir/cache/heddle"
	if [ "$(id -u)" != 0 ]; then
		same chain && silent
	elif unshare -m true 2>/dev/null; then
		# Even root cannot write to a full or a read-only file system.
		for options in size=4k,mode=700 ro,mode=700; do
			WRAP="mount -t tmpfs -o $options none $dir/cache/heddle" same chain && silent
		done
	else
		echo "(no full and no read-only disk: nothing can be mounted here)"
	fi
	stop
}

# The scenario "lasting" launches about eight times as many blocks as fit at once, so that a
# preempted launch has blocks left.
plain lasting 1 1000 0 >"$dir/lasting"
beside answers none_welcome
beside killed killed
beside stands-still stands_still
beside late late late
beside late-alone late late-alone
beside kills-itself kills_itself
beside cache cache
together
