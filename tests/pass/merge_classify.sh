#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: merge_classify.sh HEDDLE LIST EXPECTED [FILTER]
# For every kernel of a list (kernels/list.txt of a build): whether it can be merged and fused with
# va, and fused vertically with itself, or the reason why not. Lines are the same for every
# compiler. BLESS=1 writes EXPECTED.
set -eu
# shellcheck source=tests/pass/expected.sh
. "$(dirname "$0")/expected.sh"
heddle=$1
list=$2
expected=$3
filter=${4:-.}
root=$(cd "$(dirname "$list")/.." && pwd)
got=$(mktemp)
trap 'rm -f "$got" "$got".*' EXIT
tab=$(printf '\t')
grep -E "$filter" "$list" | grep -e --block | grep -v 'sm_90\.ptx' >"$got.list" || {
	echo "no compiler for kernels: skipped"
	exit 77
}

# can PASS KERNEL + KERNEL: prints "yes", or the reason why not.
can() {
	pass=$1
	shift
	if "$heddle" ptx "$pass" -- "$@" >/dev/null 2>"$got.err"; then
		printf yes
	else
		sed -n 's/.*cannot be merged: /no, /p' "$got.err" | sed 's/^no, calls [^ ]*, which/no, calls FUNCTION, which/' | tr -d '\n'
	fi
}

last=
while IFS=$tab read -r file kernel toolchain words <&3; do
	[ "$file $kernel" != "$last" ] || continue
	last="$file $kernel"
	va="$root/kernels/$toolchain/va.ptx"
	[ -e "$va" ] || va=$root/$file
	name=va
	[ "$va" != "$root/$file" ] || name=$kernel
	set -f
	# shellcheck disable=SC2086
	{
		printf '%s: merged: %s; ' "$kernel" \
			"$(can merge "$root/$file" "$kernel" $words + "$va" $name --block 256)"
		printf 'vertically: %s; ' \
			"$(can fuse-vertical "$root/$file" "$kernel" $words + "$va" $name --block 256)"
		printf 'twice: %s; ' "$(can fuse-vertical "$root/$file" "$kernel" $words + "$root/$file" "$kernel" $words)"
		printf 'horizontally: %s\n' \
			"$(can fuse-horizontal "$root/$file" "$kernel" $words + "$va" $name --block 256)"
	}
	set +f
done 3<"$got.list" | LC_ALL=C sort -u >"$got"
as_expected "$got" "$expected"
