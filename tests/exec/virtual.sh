#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Runs every kernel of a list as it is, and with its body moved into another kernel (heddle ptx
# virtual), replacing one field at a time and all together: both must leave the same memory, to the
# last bit, and print the same text.
#   virtual.sh HEDDLE LIST DEVICE [FILTER]
# LIST, DEVICE, FILTER, PART: as for preempted.sh. FIELDS: only these fields ("all" is every field
# that the kernel can have replaced). SAMPLE=n: every n-th field for each kernel, in turn, and all
# fields for kernels that match ALWAYS. LIMIT: timeout of a run in seconds (default: 60); JOBS:
# kernels at a time (default: 2). A kernel that cannot be moved gives the reason; virtual.txt lists
# these kernels, with the field, and the compiler if only one compiler's kernel is refused.
set -eu
heddle=$1
list=$2
device=$3
filter=${4:-.}
fields=${FIELDS:-ids threads counts barriers shared dynamic params exits barriers,exits all}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$(dirname "$list")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
tab=$(printf '\t')
# The form's last parameter, which has 80 bytes, all 0.
zeros=hex:$(printf %0160d 0)

limit=${LIMIT:-60}
# shellcheck source=tests/exec/form.sh
. "$here/form.sh"

# arguments WORDS: prints a specification's arguments, which follow its options.
arguments() {
	set -f
	# shellcheck disable=SC2086
	set -- $1
	set +f
	while [ $# -gt 0 ]; do
		case $1 in
		--*) shift ;;
		*) printf '%s ' "$1" ;;
		esac
		shift
	done
}

# cannot FIELD KERNEL COMPILER: whether virtual.txt lists this case.
cannot() {
	grep -qx -e "$1 $2" -e "any $2" -e "$1 $2 $3" "$here/virtual.txt"
}

# can KERNEL COMPILER FIELDS: prints those of FIELDS that can be replaced in the kernel.
can() {
	for field in $(echo "$3" | tr , ' '); do
		cannot "$field" "$1" "$2" || printf '%s,' "$field"
	done
}

# check ID FIELDS FILE KERNEL WORDS COMPILER: compares one moved body with the plain kernel, and
# prints a line.
check() {
	name="$2 $3 $4"
	what=$2
	[ "$what" != all ] || what=ids,threads,counts,barriers,shared,dynamic,params,exits
	case $what in *,*) what=$(can "$4" "$6" "$what") ;; esac
	set -f
	# shellcheck disable=SC2086
	"$heddle" ptx virtual --fields "$what" -- "$root/$3" "$4" $5 >"$1.ptx" 2>"$1.err" || {
		set +f
		why=$(sed -n 's/.*cannot be moved into another kernel: //p' "$1.err")
		if [ -n "$why" ] && cannot "$2" "$4" "$6"; then
			echo "refused $name: $why"
		else
			echo "FAIL $name [$5] ($what): $(head -n 1 "$1.err")"
		fi
		return
	}
	set +f
	how=$(sed -n 's,^// hd_virtual: ,,p' "$1.ptx")
	if cannot "$2" "$4" "$6"; then
		echo "FAIL $name: is in virtual.txt, and is not refused"
	elif ! run_form "$1.form" "$device" "$1.ptx" "hd_virtual $how $(arguments "$5") $zeros"; then
		echo "FAIL $name [$5]: $(head -n 2 "$1.form.err" | tr '\n' ' ')"
	elif same_left "$1.plain" "$1.form" "$4"; then
		echo "ok $name"
	else
		echo "FAIL $name [$5]: buffers or texts differ"
	fi
	rm -f "$1.form".*
}

# check_line NUMBER FILE KERNEL WORDS COMPILER: checks all fields of a kernel.
check_line() {
	if ! run_form "$work/$1.plain" "$device" "$root/$2" "$3 $4"; then
		echo "FAIL $2 $3 plain: $(head -n 2 "$work/$1.plain.err" | tr '\n' ' ')"
		return 0
	fi
	n=0 sample=${SAMPLE:-1}
	[ -z "${ALWAYS-}" ] || ! echo "$3" | grep -qE "$ALWAYS" || sample=1
	for what in $fields; do
		n=$((n + 1))
		[ $((($1 + n) % sample)) -eq 0 ] || continue
		check "$work/$1" "$what" "$2" "$3" "$4" "$5"
	done
	rm -f "$work/$1".*
}

grep -E "$filter" "$list" | grep -v "$tab-\$" | part_of >"$work/list"
[ -s "$work/list" ] || {
	echo "skipped: no kernel matches $filter (no such compiler here)"
	exit 77
}
job=0
jobs=${JOBS:-2}
while IFS=$tab read -r file kernel toolchain words <&3; do
	case $words in *--block*) ;; *) continue ;; esac
	job=$((job + 1))
	check_line $job "$file" "$kernel" "$words" "$toolchain" >"$work/result.$job" 2>&1 &
	[ $((job % jobs)) -ne 0 ] || wait
done 3<"$work/list"
wait
cat "$work"/result.* >"$work/results"
[ -z "${VERBOSE-}" ] || cat "$work/results"
grep -v '^ok\|^refused' "$work/results" || :
ok=$(grep -c '^ok' "$work/results" || :)
refused=$(grep -c '^refused' "$work/results" || :)
bad=$(grep -vc '^ok\|^refused' "$work/results" || :)
echo "$job kernels: $ok runs the same, $bad not, $refused refused"
[ "$bad" -eq 0 ] && [ "$ok" -gt $((refused * 4)) ]
