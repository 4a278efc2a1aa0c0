#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: owners.sh BUILD-FOLDER
# Tests owner and mode checks for files that heddled and the shim read: a file that another user
# owns or may write is not used, and one line says so and what to do. Cases with other owners need
# root.
set -eu
build=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
umask 022
failed=0

# heddled OPTIONS...: runs heddled until it listens or exits; its log is $dir/log.
heddled() {
	"$build/heddled" --config-root "$dir/tree" --socket "$dir/s" --log warning "$@" 2>"$dir/log" &
	pid=$!
	for _ in $(seq 100); do
		if [ -S "$dir/s" ] || ! kill -0 "$pid" 2>/dev/null; then
			break
		fi
		sleep 0.02
	done
	kill "$pid" 2>/dev/null || :
	wait "$pid" 2>/dev/null || :
}

# fresh: recreates all files with correct owners and modes.
fresh() {
	rm -rf "$dir/tree" "$dir/state" "$dir/p.so" "$dir/s"
	mkdir -p "$dir/tree/etc/heddle/heddled.conf.d" "$dir/state"
	printf '[heddled]\ngrace_us = 3000\n' >"$dir/tree/etc/heddle/heddled.conf"
	printf '[heddled]\ngrace_us = 3000\n' >"$dir/tree/etc/heddle/heddled.conf.d/a.conf"
	cp "$build/tests/sched/policy_halves.so" "$dir/p.so"
	heddled --set state="$dir/state"
	check "fresh files" 0
}

# check NAME LINES [TEXT]: the log must have this many lines and contain TEXT.
check() {
	if [ "$(grep -c . "$dir/log")" != "$2" ] || ! grep -qF -- "${3-}" "$dir/log" && [ "$2" != 0 ]; then
		echo "$1: $2 lines with '${3-}' are expected:"
		cat "$dir/log"
		failed=1
	fi
}

# refused NAME PATH CHANGE TEXT OPTIONS...: after `CHANGE PATH`, heddled must report TEXT.
refused() {
	name=$1 path=$2 change=$3 text=$4
	shift 4
	fresh
	$change "$path"
	heddled --set state="$dir/state" "$@"
	check "$name after $change" 1 "$text"
}

for change in 'chmod g+w' 'chmod o+w' 'chown 65534'; do
	case $change in
	chown*) [ "$(id -u)" = 0 ] || continue ;;
	esac
	for row in "configuration:$dir/tree/etc/heddle/heddled.conf" \
		"drop-in:$dir/tree/etc/heddle/heddled.conf.d/a.conf" \
		"records of kernels:$dir/state/heddled.db"; do
		refused "${row%%:*}" "${row#*:}" "$change" "so it is not used"
		grep -qE 'chmod go-w|chown' "$dir/log" || {
			echo "${row%%:*}: it does not say what to do"
			failed=1
		}
	done
	refused "folder of records" "$dir/state" "$change" "other users can replace files in its folder"
	refused "policy" "$dir/p.so" "$change" "p.so: " --policy "$dir/p.so"
done
exit "$failed"
