#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A command that writes a file after long work refuses a file that it cannot write at once.
# usage: unwritable.sh BUILD-FOLDER
set -eu
heddle=$1/heddle
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf 'device sms=4\nat 0ms join A\nat 1ms launch A k\n' >"$dir/trace"
failed=0
while read -r command; do
	for path in /nodir/x.svg /proc/x.svg "$dir" "$dir/trace/x.svg"; do
		status=0
		# shellcheck disable=SC2086
		(cd "$dir" && timeout 5 "$heddle" $command "$path") >"$dir/out" 2>&1 || status=$?
		if [ "$status" != 1 ] || ! grep -qF "error: $path: " "$dir/out"; then
			echo "heddle $command $path: status $status:"
			cat "$dir/out"
			failed=1
		fi
	done
done <<'END'
demo --device cpu --svg
sim trace --svg
bench share --device cpu --svg
bench merge --device cpu --svg
bench merge --device cpu --data
END
exit "$failed"
