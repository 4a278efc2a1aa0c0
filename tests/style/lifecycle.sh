#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: lifecycle.sh ROOT BUILD
# Every file of the shim with variables, and every part of struct session, has a row in
# src/shim/join/lifecycle.def, and every row has such a file or part. Variables named "once" or
# "real" do not count: they are set once, to a value that is also right in a child process.
set -eu
root=$(cd "${1:?usage: lifecycle.sh ROOT BUILD}" && pwd)
build=${2:?usage: lifecycle.sh ROOT BUILD}
command -v nm >/dev/null || { echo "skipped: no nm"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
rows=$root/src/shim/join/lifecycle.def
sed -n 's/^\(PROCESS\|STAYS\)(\([a-z_]*\).*/\2/p' "$rows" | sort >"$tmp/files"
sed -n 's/^SESSION(\([a-z_]*\),.*/\1/p' "$rows" | sort >"$tmp/parts"
sed -n '/Parts of the modules:/,/^$/s/.*[ *]\([a-z_]*\);.*/\1/p' \
	"$root/src/shim/core/session.h" | sort >"$tmp/members"

cd "$build"
objects=$(find src/shim/libcuda.so.1.p -name '*.c.o' 2>/dev/null | sort)
[ -n "$objects" ] || { echo "skipped: the shim is not built"; exit 77; }
for o in $objects; do
	file=${o##*/}
	file=${file%.c.o}
	nm --format=sysv "$o" | awk -F '|' -v file="${file#*_}" '
		{ gsub(/ /, "") }
		$7 ~ /^\.(bss|data|tbss|tdata)/ && $7 !~ /^\.data\.rel\.ro/ && $1 !~ /^(\.L|real|once|__asan|\.)/ {
			print file
			exit
		}'
done | sort -u >"$tmp/state"

bad=0
for f in $(comm -23 "$tmp/state" "$tmp/files"); do
	echo "$f.c has variables: give it a row PROCESS or STAYS in src/shim/join/lifecycle.def"
	bad=1
done
for f in $(comm -13 "$tmp/state" "$tmp/files"); do
	echo "src/shim/join/lifecycle.def: $f.c has no variables: its row can go"
	bad=1
done
for p in $(comm -23 "$tmp/members" "$tmp/parts"); do
	echo "src/shim/core/session.h: part $p has no row SESSION in src/shim/join/lifecycle.def"
	bad=1
done
for p in $(comm -13 "$tmp/members" "$tmp/parts"); do
	echo "src/shim/join/lifecycle.def: struct session has no part $p"
	bad=1
done
exit $bad
