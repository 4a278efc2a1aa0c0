#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: task.sh MODEL [full]
# Spin goes through all states of the protocol of tasks (task.pml), which must hold in each, and through it with a fault planted,
# which it must find. full: with one task more within a column.
set -eu
model=$1 full=${2:-}
command -v spin >/dev/null 2>&1 || { echo "skipped: no spin here"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
	echo "FAILED: $*"
	[ ! -f out ] || tail -n 40 out
	exit 1
}

# verify NAME SETTING...: all states; prints how many errors it found. What is found soon is not compiled for long.
verify() {
	name=$1
	shift
	mkdir "$name"
	(
		cd "$name"
		spin -a "$@" "$model" >spin.log 2>&1 || { cat spin.log; exit 1; }
		# shellcheck disable=SC2086 # of several words
		${CC:-cc} -w $optimise -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c || exit 1
		./pan -m100000 >out 2>&1 || { cat out; exit 1; }
		mv out ..
		rm -f pan pan.?
	) || fail "$name: it does not run"
	# What stopped early has not seen all.
	if grep -q 'max search depth too small\|out of memory\|memory limit' out; then
		fail "$name: not all states were seen"
	fi
	sed -n 's/.*errors: \([0-9]*\)$/\1/p' out
}

holds() {
	optimise=-O1
	[ "$(verify "$@")" = 0 ] || fail "$* does not hold"
	echo "$*: $(sed -n 's/^ *\([0-9e+.]*\) states, stored.*/\1/p' out) states"
}

# finds N WHAT SETTING...: the fault is found, and shows so.
finds() {
	plant=$1 what=$2 optimise=-O0
	shift 2
	[ "$(verify "plant$plant" -DPLANT="$plant" "$@")" = 1 ] || fail "fault $plant is not found"
	grep -q "pan:1: $what" out || fail "fault $plant shows otherwise"
	echo "fault $plant: $(sed -n 's/^pan:1: //p' out)"
}

if [ "$full" ]; then
	holds within-more -DWIDE=1 -DPARKS=1 -DEXPIRES=0 -DTASKS=3
	exit 0
fi
holds between -DWIDE=0 -DPARKS=1 -DEXPIRES=0
holds expires -DWIDE=0 -DPARKS=0 -DEXPIRES=1
holds within -DWIDE=1 -DPARKS=1 -DEXPIRES=0 -DTASKS=2
holds first -DFIRST=1 -DPARKS=0 -DEXPIRES=0
holds first-expires -DFIRST=1 -DPARKS=0 -DEXPIRES=1 -DTASKS=2
holds back -DBACK=1 -DWIDE=0 -DPARKS=1 -DEXPIRES=1 -DTASKS=2
holds back-within -DBACK=1 -DWIDE=1 -DPARKS=1 -DEXPIRES=0 -DTASKS=2
finds 1 'assertion violated' -DWIDE=0 -DPARKS=0 -DEXPIRES=0  # the generation is stored ahead of the descriptor
finds 2 'assertion violated' -DWIDE=0 -DPARKS=0 -DEXPIRES=0  # the descriptor is read without acquire
finds 3 'assertion violated' -DWIDE=0 -DPARKS=0 -DEXPIRES=0  # the end of a task is stored ahead of what it left
finds 4 'assertion violated' -DWIDE=0 -DPARKS=0 -DEXPIRES=0  # a row is used again when its task was only begun
finds 5 'invalid end state' -DWIDE=0 -DPARKS=1 -DEXPIRES=0   # a producer and who parks miss each other
finds 6 'invalid end state' -DWIDE=1 -DPARKS=0 -DEXPIRES=0   # two blocks with barriers are partly placed
finds 7 'invalid end state' -DWIDE=0 -DPARKS=1 -DEXPIRES=0   # what was spawned meanwhile is taken for done
finds 8 '' -DWIDE=1 -DPARKS=0 -DEXPIRES=0                    # a record is read when it may be another block's
finds 9 '' -DWIDE=1 -DPARKS=1 -DEXPIRES=0                    # who has not begun yet is sent away
finds 10 'assertion violated' -DWIDE=1 -DPARKS=1 -DEXPIRES=0 # a task that was begun starts anew
finds 11 'assertion violated' -DFIRST=1 -DPARKS=0 -DEXPIRES=0 # a word of row 0 is taken for a later one
finds 12 'assertion violated' -DFIRST=1 -DPARKS=0 -DEXPIRES=0 # one of two words is looked at
finds 13 '' -DBACK=1 -DWIDE=0 -DPARKS=1 -DEXPIRES=0          # a column has left ahead of the ends of its tasks
echo passed
