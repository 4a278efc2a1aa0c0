#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Every kernel of a list, plain and in its preemptible form, on the same data: the memory of each
# buffer must be the same to the last bit.
#   same.sh HEDDLE LIST DEVICE [FILTER]
# LIST: kernels/list.txt of a build (its paths are relative to the folder above). FILTER: an extended
# regular expression; only lines that match. VARIANTS: one set of options a line (below).
# Kernels whose outputs are not a function of their inputs (they say who came first) are listed in
# unordered.txt beside this script: for them only that both forms end without an error counts.
set -eu
heddle=$1
list=$2
device=$3
filter=${4:-.}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$list")/.." && pwd)
variants=${VARIANTS:-"--yield-every 1
--yield-every 7
--yield-every 5 --chunk 4
--chunk 3 --pull-ahead
--yield-every 7 --chunk 2 --pull-ahead --workers 1"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# run_form OUT FILE KERNEL WORDS OPTIONS: runs it; buffers go to OUT.0, OUT.1 …
run_form() {
	out=$1 file=$2 kernel=$3
	set -f
	# shellcheck disable=SC2086
	set -- $4 $5
	set +f
	n=0
	for word; do
		shift
		case $word in
		*\[*\]:*)
			word="$word>$out.$n"
			n=$((n + 1))
			;;
		esac
		set -- "$@" "$word"
	done
	timeout 120 "$heddle" exec --device "$device" "$root/$file" "$kernel" "$@" \
		>"$out.out" 2>"$out.err"
}

# check_line NUMBER FILE KERNEL TOOLCHAIN WORDS: prints one line for each variant.
check_line() {
	id=$1 file=$2 kernel=$3 words=$5
	if ! run_form "$work/$id.plain" "$file" "$kernel" "$words" ""; then
		echo "FAIL $file $kernel plain: $(head -n 2 "$work/$id.plain.err" | tr '\n' ' ')"
		return 0
	fi
	echo "$variants" | while IFS= read -r options; do
		name="$file $kernel $options [$words]"
		if ! run_form "$work/$id.form" "$file" "$kernel" "$words" "--as preempt $options"; then
			echo "FAIL $name: $(head -n 2 "$work/$id.form.err" | tr '\n' ' ')"
			continue
		fi
		verdict=ok
		if ! grep -qx "$kernel" "$here/unordered.txt"; then
			for f in "$work/$id.plain".[0-9]*; do
				cmp -s "$f" "$work/$id.form.${f##*.}" || verdict=FAIL
			done
		fi
		why=
		[ $verdict = ok ] || why=": buffers differ"
		note=$(sed -n 's/.*is not managed but \([a-z]*\):.*/\1/p' "$work/$id.form.err")
		echo "$verdict $name ${note:+($note)}$why"
	done
	rm -f "$work/$id".*
}

tab=$(printf '\t')
job=0
jobs=${JOBS:-2}
grep -E "$filter" "$list" >"$work/list"
while IFS=$tab read -r file kernel toolchain words; do
	job=$((job + 1))
	check_line "$job" "$file" "$kernel" "$toolchain" "$words" >"$work/result.$job" &
	[ $((job % jobs)) -ne 0 ] || wait
done <"$work/list"
wait
cat "$work"/result.* >"$work/all"
[ -z "${VERBOSE-}" ] || cat "$work/all"
grep '^FAIL' "$work/all" || :
ok=$(grep -c '^ok' "$work/all" || :)
bad=$(grep -c '^FAIL' "$work/all" || :)
echo "$job kernels: $ok runs the same, $bad not"
[ "$bad" -eq 0 ] && [ "$ok" -gt 0 ]
