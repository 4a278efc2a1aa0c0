#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Runs every kernel of a list in its plain and its preemptible form on the same data: each buffer
# must be the same to the last bit, and so must the printed lines, except for their order.
#   preempted.sh HEDDLE LIST DEVICE [FILTER]
# LIST: kernels/list.txt of a build (its paths are relative to the folder above). FILTER: extended
# regular expression of lines to use. PART=k/n: every n-th line from the k-th on, and lines that
# match ALWAYS. VARIANTS: one set of options a line (below). unordered.txt beside this script lists
# kernels whose outputs depend on which thread came first: for them it suffices that both forms end
# without an error. LIMIT: timeout of a run in seconds (default: 600); JOBS: kernels at a time
# (default: 2). fails.txt has arguments that make kernels fail: both forms must give the same
# error. Only the virtual GPU (cpu) notices these errors.
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

limit=${LIMIT:-600}
# shellcheck source=tests/exec/form.sh
. "$here/form.sh"

# form OUT FILE KERNEL WORDS OPTIONS: runs a kernel of the list.
form() {
	run_form "$1" "$device" "$root/$2" "$3 $4" "$5"
}

# check_line NUMBER FILE KERNEL TOOLCHAIN WORDS: prints one line for each variant. It avoids
# starting programs, which would take longer than the kernels.
check_line() {
	id=$1 file=$2 kernel=$3 words=$5
	if ! form "$work/$id.plain" "$file" "$kernel" "$words" ""; then
		echo "FAIL $file $kernel plain: $(head -n 2 "$work/$id.plain.err" | tr '\n' ' ')"
		return 0
	fi
	while IFS= read -r options; do
		seldom "$options" "$words"
		name="$file $kernel $form_options [$words]"
		if ! form "$work/$id.form" "$file" "$kernel" "$words" "--as preempt $form_options"; then
			echo "FAIL $name: $(head -n 2 "$work/$id.form.err" | tr '\n' ' ')"
			continue
		fi
		verdict=ok why=
		same_left "$work/$id.plain" "$work/$id.form" "$kernel" || verdict=FAIL why=": buffers or texts differ"
		[ "$kernel" != print_some ] || prints "$work/$id.plain" || verdict=FAIL why=": it prints nothing"
		report "$work/$id.form.out"
		echo "$verdict $name ($tier, $launches launches)$why"
	done <<-END
		$variants
	END
	rm -f "$work/$id".*
}

# check_failure NUMBER FILE KERNEL: runs the kernel with arguments that make it fail; each form
# must give the same error.
check_failure() {
	id=$1 file=$2 kernel=$3
	sed -n "s/^$kernel //p" "$here/fails.txt" >"$work/$id.ways"
	[ "$device" = cpu ] || sed -i '/^cpu /d' "$work/$id.ways"
	sed -i 's/^cpu //' "$work/$id.ways"
	while IFS= read -r words; do
		form "$work/$id.plain" "$file" "$kernel" "$words" "" &&
			echo "FAIL $file $kernel [$words] does not fail"
		error=$(grep '^heddle exec: error' "$work/$id.plain.err" || :)
		echo "$variants" | while IFS= read -r options; do
			name="$file $kernel $options [$words]"
			if form "$work/$id.form" "$file" "$kernel" "$words" \
				"--as preempt $options" ||
				[ "$(grep '^heddle exec: error' "$work/$id.form.err")" != "$error" ]; then
				echo "FAIL $name: not $error but $(tail -n 1 "$work/$id.form.err")"
			else
				echo "ok $name (${error##*: })"
			fi
		done
	done <"$work/$id.ways"
	rm -f "$work/$id".*
}

tab=$(printf '\t')
job=0
jobs=${JOBS:-2}
grep -E "$filter" "$list" | part_of >"$work/list"
[ -s "$work/list" ] || {
	echo "skipped: no kernel matches $filter (no such compiler here)"
	exit 77
}
while IFS=$tab read -r file kernel toolchain words; do
	job=$((job + 1))
	if [ "$words" != - ]; then
		check_line "$job" "$file" "$kernel" "$toolchain" "$words" >"$work/result.$job" &
	elif ! grep -q "^$kernel " "$here/fails.txt"; then
		echo "FAIL $file $kernel: its source has no exec line" >"$work/result.$job"
	fi
	[ $((job % jobs)) -ne 0 ] || wait
done <"$work/list"
wait
cut -f 1,2 "$work/list" | sort -u >"$work/kernels"
while IFS=$tab read -r file kernel; do
	grep -q "^$kernel " "$here/fails.txt" || continue
	job=$((job + 1))
	check_failure "$job" "$file" "$kernel" >"$work/result.$job"
done <"$work/kernels"
cat "$work"/result.* >"$work/all"
[ -z "${VERBOSE-}" ] || cat "$work/all"
grep '^FAIL' "$work/all" || :
ok=$(grep -c '^ok' "$work/all" || :)
bad=$(grep -c '^FAIL' "$work/all" || :)
# A yield without effect would pass the comparison, so some kernels must have been launched again.
again=$(grep -cE '\((managed|guard), ([2-9]|[0-9]{2,}) launches' "$work/all" || :)
echo "$job kernels: $ok runs the same, $bad not, $again of them stopped and resumed"
[ "$bad" -eq 0 ] && [ "$ok" -gt 0 ] && [ "$again" -gt $((ok / 8)) ]
