#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: all-selftest.sh BUILD
# Tests all.sh, and the pieces that support DEVICE=cpu, on the virtual GPU. heddle is replaced by
# one that gives wrong results in one way of weaving and hangs in another: both must be found and
# reported. A verdict must be kept, and renewed only on request. The parts of a piece must be the
# whole together. A piece that FOR interrupts must have no verdict.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
list=$build/kernels/list.txt
grep -q '^kernels/ptx/' "$list" || {
	echo "skipped: no kernels"
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	cat "$dir"/out/*.log
	exit 1
}

# A folder like the output of ./run dist, with $dir/heddle as its heddle.
dist=$dir/dist
mkdir -p "$dist/bin" "$dist/lib/heddle/tests" "$dist/lib/heddle/examples"
ln -s "$dir/heddle" "$build/heddled" "$dist/bin/"
ln -s "$build/kernels" "$dist/lib/heddle/kernels"
ln -s "$build/tests/gen/gen" "$build/tests/rt/tasks_same" "$dist/lib/heddle/tests/"
# heddle [WRONG]: creates a heddle that runs the build's, with both faults or none. Its commit is
# reported as unmodified.
heddle() {
	cat >"$dir/heddle" <<-END
		#!/bin/sh
		case "${1-right} \$*" in
		*version) echo 'heddle 0.1.0 (commit 0123456789ab)' && exit ;;
		wrong*corun*--branches*) printf '  "differences": [\n    {"kernel": 1}\n  ],\n' && exit 1 ;;
		wrong*corun*--unsliced*) exec sleep 60 ;;
		esac
		exec "$build/heddle" "\$@"
	END
	chmod +x "$dir/heddle"
}

# all STATUS NAME...: runs all.sh, which must end with this status; its output goes to $dir/said.
all() {
	want=$1 got=0
	shift
	sh "$here/all.sh" "$dist" "$dir/out" "$@" >"$dir/said" 2>&1 || got=$?
	[ "$got" = "$want" ] || fail "all.sh $*: exit status $got, expected $want: $(cat "$dir/said")"
}
says() { # PATTERN
	grep -qE -- "$1" "$dir/said" || fail "not said: $1: $(cat "$dir/said")"
}

export DEVICE=cpu PAIRS=4 JOBS=2 FILTER='^kernels/ptx/'
heddle wrong
LIMIT=2 all 1 woven
says '^woven: failed \(1\)'
says '^1 failed$'
grep -qE '^FAIL .* \+ .*, weave --branches: .*memory differs' "$dir/out/woven.log" || fail "the wrong way is not named"
grep -qE '^hang .* \+ .*, weave --unsliced: hangs \(2 s\)' "$dir/out/woven.log" || fail "the hang is not named"
grep -qx 'weave: ok 4 wrong 0 hang 0 refused 0' "$dir/out/woven.log" || fail "no count of what is right"

heddle
all 1 woven
says '^woven: failed \(1\) .* \(before\)$'
AGAIN=1 all 0 woven
says '^woven: passed, .*, 0 wrong, 0 hang, '
all 0 woven
says '^woven: passed .* \(before\)$'

all 0 woven@1/2 woven@2/2 tasks
cat "$dir"/out/woven-?-2.log | grep 'runs the same' | awk '{ n += $1 + $8 } END { print n }' >"$dir/sum"
awk '/runs the same/ { print $1 + $8 }' "$dir/out/woven.log" | cmp - "$dir/sum" || fail "two parts are not the whole"
says '^tasks: passed, .* kernels the same as tasks, '

all 0 virtual@1/2 virtual@2/2 virtual
cat "$dir"/out/virtual-?-2.log | awk '/runs the same/ { n += $3 } END { print n }' >"$dir/sum"
awk '/runs the same/ { print $3 }' "$dir/out/virtual.log" | cmp - "$dir/sum" || fail "two parts of virtual are not the whole"

GENERATED=5 all 0 generated
says '^generated: passed, .* runs of 5 pairs the same, 0 not, '

heddle wrong
FOR=11 all 3 woven@1/3 pair
says '^woven@1/3: no verdict, cut off by FOR=11'
says 'left for another call: woven@1/3 pair$'
! grep -q 'woven@1/3' "$dir/out/state" || fail "a piece that was cut off has a verdict"
all 2 nosuch
says "no test 'nosuch'; these are: forms@1/2 "
echo "all.sh finds what is wrong, and goes on where it was"
