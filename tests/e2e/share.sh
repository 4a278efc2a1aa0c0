#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: share.sh BUILD
# examples/share.c on the virtual GPU, twice beside each other under heddled --policy greedy: the first
# has every SM, shrinks to half of each as the second comes, and grows again as that leaves. Blocks
# leave the GPU meanwhile, and every result is right. Without heddled it runs with all that fit.
set -eu
build=$1
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
here=$(dirname "$0")
ptx=$here/../../examples/share.ptx
for part in heddle heddled examples/share src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
export HEDDLE_VGPU="share-$$"
# shellcheck source=tests/e2e/lib.sh
. "$here/lib.sh"

# share NAME BLOCKS: in the background; its id in $started.
share() {
	LD_LIBRARY_PATH=$build/src/dev/cpu "$examples/share" cpu "$ptx" "$2" 2000 >"$dir/$1.out" \
		2>"$dir/$1.err" &
	started=$!
}

# told NAME LINE TEXT: that line of the program's output begins so.
told() {
	sed -n "$2p" "$dir/$1.out" | grep -q "^$3 blocks on an SM"
}

share alone 500
wait "$started" || fail "without heddled: $?"
grep -q 'heddled does not run' "$dir/alone.err" || fail "without heddled it does not say so"
told alone 1 16 || fail "without heddled it does not have all that fit"

start_daemon --policy greedy
share one "${BLOCKS:-20000}"
one=$started
pids=$one
await 60 told one 1 16 || fail "the first one does not have all"
share two 4000
two=$started
pids="$pids $two"
await 60 told two 1 8 || fail "the second one does not have half"
await 60 told one 2 8 || fail "the first one does not shrink"
wait "$two" || fail "the second one: $?"
await 60 told one 3 16 || fail "the first one does not grow"
wait "$one" || fail "the first one: $?"
pids=
for name in one two; do
	grep -q ' 0 of [0-9]* results wrong$' "$dir/$name.out" || fail "$name: wrong results"
done
# As it grew, no more blocks of it were on the GPU than it was allowed: 8 on each of 8 SMs.
present=$(sed -n 's/.*"event": "grow", "tenant": 1,.* "present": \([0-9]*\),.*/\1/p' "$dir/events" | head -n 1)
case $present in
"" | 0) fail "the first one is not seen on the GPU as it grows" ;;
*) [ "$present" -le 64 ] || fail "$present blocks stayed, of 64 allowed" ;;
esac
! grep -qE 'illegal|warning' "$dir/daemon.log" || fail "heddled found something wrong"
echo passed
