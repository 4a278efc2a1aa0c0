#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/digest.sh [ROOT [TABLE]]
# Prints a digest (12 hexadecimal digits) of the code that the passes emit: of the golden forms
# (tests/pass/forms, which the test pass-forms compares with the passes' output) and of FORM_VERSION
# (src/shim/form/rewrite.c). Forms of tasks count only for the tables of tasks (TABLE: tasks,
# as-tasks), forms that take blocks in an order other than by rows only for the table orders, and
# sliced forms, which only the table slicing measures beside heddle's own, for none.
# ROOT is the source tree (default: this script's). In the output of ./run dist, the digests are
# those of the source tree when it was made. bench/results.sh stores the digest with each table: a
# table with a different digest was measured with other code.
set -eu
root=${1:-$(cd "$(dirname "$0")/.." && pwd)} kind=kernels
case ${2:-} in
tasks | as-tasks) kind=tasks ;;
orders) kind=orders ;;
esac
if [ -f "$root/tests/pass/forms/digests" ]; then
	sed -n "s/^$kind: //p" "$root/tests/pass/forms/digests"
	exit
fi
version=$(sed -n 's/^#define FORM_VERSION \([0-9]*\)u.*/\1/p' "$root/src/shim/form/rewrite.c")
[ -n "$version" ] || {
	echo "bench/digest.sh: no FORM_VERSION in $root/src/shim/form/rewrite.c" >&2
	exit 1
}
export LC_ALL=C
{
	echo "$version"
	for form in "$root"/tests/pass/forms/*.expect; do
		case $kind-${form##*/} in kernels-tasks-* | orders-tasks-* | *-slice-* | kernels-order-* | tasks-order-*) continue ;; esac
		cat "$form"
	done
} | sha256sum | cut -c 1-12
