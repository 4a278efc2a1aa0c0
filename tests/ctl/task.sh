#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: task.sh MODEL [full]
# Spin checks all states of the tasks' protocol (task.pml), which must be correct in each. Then it
# checks models with a planted fault, which it must find. full: with one more task in a column.
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

# verify NAME SETTING...: checks all states, and prints the number of errors found. Models with a
# planted fault are compiled without optimisation, since Spin finds the fault soon.
verify() {
	name=$1
	shift
	mkdir "$name"
	(
		cd "$name"
		spin -a "$@" "$model" >spin.log 2>&1 || { cat spin.log; exit 1; }
		# shellcheck disable=SC2086 # split into words
		${CC:-cc} -w $optimise -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c || exit 1
		./pan -m100000 >out 2>&1 || { cat out; exit 1; }
		mv out ..
		rm -f pan pan.?
	) || fail "$name: it does not run"
	# A search that stopped early has not checked all states.
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

# finds N WHAT SETTING...: Spin must find planted fault N, with the message WHAT.
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
# the generation is stored before the descriptor
finds 1 'assertion violated' -DWIDE=0 -DPARKS=0 -DEXPIRES=0
# the descriptor is read without acquire
finds 2 'assertion violated' -DWIDE=0 -DPARKS=0 -DEXPIRES=0
# the end of a task is stored before its results
finds 3 'assertion violated' -DWIDE=0 -DPARKS=0 -DEXPIRES=0
# a row is reused when its task has only begun
finds 4 'assertion violated' -DWIDE=0 -DPARKS=0 -DEXPIRES=0
# a producer and the thread that parks the pool miss each other
finds 5 'invalid end state' -DWIDE=0 -DPARKS=1 -DEXPIRES=0
# two blocks with barriers each occupy some executors, and each waits for the rest
finds 6 'invalid end state' -DWIDE=1 -DPARKS=0 -DEXPIRES=0
# a task that was spawned while the column did not run is taken for finished
finds 7 'invalid end state' -DWIDE=0 -DPARKS=1 -DEXPIRES=0
# an executor reads a record that may already belong to another block
finds 8 '' -DWIDE=1 -DPARKS=0 -DEXPIRES=0
# the scheduler cancels the block of an executor that has not begun it yet
finds 9 '' -DWIDE=1 -DPARKS=1 -DEXPIRES=0
# a task that has begun starts again
finds 10 'assertion violated' -DWIDE=1 -DPARKS=1 -DEXPIRES=0
# a descriptor word of row 0 is taken for a word of a later task
finds 11 'assertion violated' -DFIRST=1 -DPARKS=0 -DEXPIRES=0
# only one of row 0's two descriptor words is checked
finds 12 'assertion violated' -DFIRST=1 -DPARKS=0 -DEXPIRES=0
# the column's exit becomes visible before the ends of its tasks
finds 13 '' -DBACK=1 -DWIDE=0 -DPARKS=1 -DEXPIRES=0
echo passed
