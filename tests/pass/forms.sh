#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: forms.sh HEDDLE FOLDER TASK_TOOL
# Compares the text of each emitted form of small kernels with the last reviewed text, in
# FOLDER/NAME.expect. After an intended change, BLESS=1 writes the files. Then read `git diff`, and
# raise FORM_VERSION (src/shim/form/rewrite.c) if the preemptible forms differ.
set -eu
heddle=$1
folder=$2
task_tool=$3
got=$(mktemp)
trap 'rm -f "$got"' EXIT
bad=0

# form NAME COMMAND...: compares the command's output with NAME.expect.
form() {
	name=$1
	shift
	"$@" >"$got"
	if [ "${BLESS:-}" ]; then
		cp "$got" "$folder/$name.expect"
	elif ! diff -u "$folder/$name.expect" "$got"; then
		echo "$name is not as in $folder/$name.expect; is that meant? Then: BLESS=1 ./run test pass-forms"
		bad=1
	fi
}

ptx=$folder/kernels.ptx
for kernel in add turn half; do
	"$heddle" ptx print -k $kernel "$ptx" >/dev/null
	form "preempt-$kernel" "$heddle" ptx preempt -k $kernel "$ptx"
	form "slice-$kernel" "$heddle" ptx slice -k $kernel "$ptx"
done
walks=$folder/../../exec/block_order.ptx
form order-column "$heddle" ptx preempt --order column -k walk "$walks"
form order-hilbert "$heddle" ptx preempt --order hilbert -k walk_bar "$walks"
add="$ptx add --block 64"
turn="$ptx turn --block 40"
half="$ptx half --block 64"
# shellcheck disable=SC2086
{
	form merge-add-turn "$heddle" ptx merge -- $add + $turn
	form merge-turn-add "$heddle" ptx merge -- $turn + $add
	form fuse-vertical "$heddle" ptx fuse-vertical -- $half + $turn
	form weave-add-half "$heddle" ptx weave -- $add + $half
	form weave-add-add "$heddle" ptx weave -- $add + $ptx add --block 40
	form fuse-horizontal "$heddle" ptx fuse-horizontal -- $turn + $half
	for field in none counts; do
		form virtual-$field "$heddle" ptx virtual --fields $field -- $turn --grid 3,2
	done
	form virtual-all "$heddle" ptx virtual -- $add --grid 3
}
for blocks in full partly; do
	form tasks-$blocks "$task_tool" 256 32 $blocks "$ptx" add "$ptx" turn
done
[ "$bad" = 0 ]
