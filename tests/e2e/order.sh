#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: order.sh BUILD
# HEDDLE_ORDER: a program under heddle gets forms that take blocks in that order, with correct
# results, and the cache keeps a form for each order.
set -eu
heddle=$1/heddle heddled=$1/heddled examples=$1/examples device=cpu
[ -x "$examples/mm" ] || {
	echo "skipped: no compiler for kernels"
	exit 77
}
# shellcheck source=tests/e2e/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export HEDDLE_VGPU="order-$$"

# forms TEXT: prints how many forms in the cache contain TEXT.
forms() {
	grep -rl -- "$1" "$XDG_CACHE_HOME/heddle" 2>/dev/null | wc -l
}

# mm NAME: runs the matrix product under heddle.
mm() {
	run normal "$1" mm --size small --repeat 2 --check last
	wait "$started" || fail "mm, $1: status $?"
	passed "$1" || fail "mm, $1: wrong results"
}

start_daemon --set min_managed_us=1
mm default
rows=$(forms hd_carry)
[ "$rows" -gt 0 ] || fail "no form was kept"
HEDDLE_ORDER=row mm row
[ "$(forms hd_carry)" = "$rows" ] || fail "row order has a second form"
[ "$(forms hd_columns)" = 0 ] || fail "columns without being asked for"
HEDDLE_ORDER=column mm column
columns=$(forms hd_columns)
[ "$columns" -gt 0 ] || fail "HEDDLE_ORDER=column: no such form"
HEDDLE_ORDER=hilbert mm hilbert
curves=$(forms hd_placed_claim)
[ "$curves" -gt 0 ] || fail "HEDDLE_ORDER=hilbert: no such form"
HEDDLE_ORDER=hilbert mm again
[ "$(forms hd_placed_claim)" = "$curves" ] || fail "the form with curves was made twice"
HEDDLE_ORDER=diagonal mm diagonal
grep -q 'HEDDLE_ORDER=diagonal: not one of row|column|hilbert; row is used' "$dir/diagonal.err" ||
	fail "an order that there is not is used in silence"
[ "$(forms hd_carry)" = "$((rows + columns + curves))" ] || fail "forms of an order that there is not"
echo "$rows forms by rows, $columns by columns, $curves along curves"
