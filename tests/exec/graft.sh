#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Runs every kernel of a list as it is and reassembled from its statements: both must leave the
# same memory, to the last bit, and print the same text.
#   graft.sh HEDDLE TOOL LIST [FILTER]
# TOOL: tests/ptx/graft_tool, whose modes are listed below, or tests/cfg/cfg_tool with WAYS. LIST,
# FILTER: as for preempted.sh. LIMIT: timeout of a run in seconds (default: 600); JOBS: files at a
# time (default: 2); WAYS: only these modes.
set -eu
heddle=$1
tool=$2
list=$3
filter=${4:-.}
ways=${WAYS:-graft flat twice import}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$list")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
tab=$(printf '\t')

limit=${LIMIT:-600}
# shellcheck source=tests/exec/form.sh
. "$here/form.sh"

# check PLAIN FORM NAME KERNEL FILE WORDS: runs KERNEL of FILE, compares it with the plain run, and
# prints a line.
check() {
	if ! run_form "$2" cpu "$5" "$4 $6"; then
		echo "FAIL $3 $4: $(head -n 2 "$2.err" | tr '\n' ' ')"
	elif same_left "$1" "$2" "$3"; then
		echo "ok $3 $4"
	else
		echo "FAIL $3 $4 [$6]: buffers or texts differ"
	fi
	rm -f "$2".*
}

# check_line DIR KERNEL WORDS: checks one kernel of a file. DIR holds the file's forms, and
# before.ptx, the previous file after it has imported this file's kernels.
check_line() {
	if ! run_form "$1/plain" cpu "$1/plain.ptx" "$2 $3"; then
		echo "FAIL $2 plain: $(head -n 2 "$1/plain.err" | tr '\n' ' ')"
		return 0
	fi
	for way in $ways; do
		form=$1/$way.ptx
		case $way in
		twice)
			# Skips kernels that need all shared memory: two of them do not fit
			# together.
			[ "$2" != shared_full ] || continue
			check "$1/plain" "$1/form" "$2" "g_$2" "$form" "$3 u32:0"
			check "$1/plain" "$1/form" "$2" "g_$2" "$form" "$3 u32:1"
			;;
		import)
			check "$1/plain" "$1/form" "$2" "s_$2_$2" "$form" "$3"
			check "$1/plain" "$1/form" "$2" "i_$2_$2" "$1/before.ptx" "$3"
			;;
		write | shuffle)
			check "$1/plain" "$1/form" "$2" "$2" "$form" "$3"
			;;
		*)
			check "$1/plain" "$1/form" "$2" "g_$2" "$form" "$3"
			;;
		esac
	done
	rm -f "$1/plain".[!p]*
}

# check_file DIR FILE BEFORE: checks all kernels of a file; BEFORE is the previous file.
check_file() {
	mkdir "$1"
	cp "$root/$2" "$1/plain.ptx"
	for way in $ways; do
		if [ "$way" = import ]; then
			"$tool" import "$root/$2" "$root/$2" >"$1/import.ptx" 2>"$1/err" &&
				"$tool" import "$root/$3" "$root/$2" >"$1/before.ptx" 2>"$1/err" ||
				echo "FAIL $2 $way: $(head -n 3 "$1/err")"
		else
			"$tool" "$way" "$root/$2" >"$1/$way.ptx" 2>"$1/err" ||
				echo "FAIL $2 $way: $(head -n 3 "$1/err")"
		fi
	done
	grep "^$2$tab" "$work/list" | while IFS=$tab read -r _ kernel _ words; do
		[ "$words" = - ] || check_line "$1" "$kernel" "$words"
	done
	rm -rf "$1"
}

grep -E "$filter" "$list" >"$work/list" || {
	echo "skipped: no kernel matches $filter (no such compiler here)"
	exit 77
}
cut -f 1 "$work/list" | uniq >"$work/files"
before=$(tail -n 1 "$work/files")
job=0
while IFS= read -r file; do
	job=$((job + 1))
	check_file "$work/$job" "$file" "$before" >"$work/result.$job" &
	before=$file
	[ $((job % ${JOBS:-2})) -ne 0 ] || wait
done <"$work/files"
wait
cat "$work"/result.* >"$work/all"
[ -z "${VERBOSE-}" ] || cat "$work/all"
grep '^FAIL' "$work/all" || :
ok=$(grep -c '^ok' "$work/all" || :)
bad=$(grep -c '^FAIL' "$work/all" || :)
echo "$job files: $ok runs the same, $bad not"
[ "$bad" -eq 0 ] && [ "$ok" -gt "$job" ]
