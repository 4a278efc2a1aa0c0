#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: shares.sh BUILD WEIGHT...
# Programs with these weights, which always have work, run under the policy ffs on the virtual GPU.
# Each has the device for its share of the time, within POINTS (2) percentage points, also when
# weights change during the run; each result is right.
set -eu
build=$1
shift
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
for part in heddle heddled examples/mm src/shim/libcuda.so.1 src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
export HEDDLE_VGPU="shares-$$"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# are_right: fails unless each program's share of the time so far is within $POINTS percentage
# points of the share that its weight gives it.
are_right() {
	"$heddle" ps --json | python3 -c '
import json, sys
tenants = json.load(sys.stdin)["tenants"]
points, n, wrong = float(sys.argv[1]), int(sys.argv[2]), 0
for t in tenants:
    had, wanted = t["share_had"], t["share_wanted"]
    print("weight %d: %s %% of %s %%" % (t["weight"], had, wanted))
    wrong += had is None or abs(had - wanted) > points
sys.exit(wrong > 0 or len(tenants) != n)' "${POINTS:-2}" $#
}

# settle WEIGHT: restarts the measurement, which is called when all programs have their forms, and
# lets it run for some seconds.
settle() {
	"$heddle" set 1 -w "$1" || fail "set"
	sleep "${SECONDS_OF_TURNS:-8}"
}

start_daemon --policy ffs --set min_managed_us=1 --set max_overhead=10
n=0
for weight; do
	n=$((n + 1))
	"$heddle" run --device cpu -w "$weight" -- "$examples/mm" --size large --scale "${SCALE:-1}" \
		--check last --until "$dir/end" --json >"$dir/$n.out" 2>"$dir/$n.err" &
	pids="$pids $!"
	await 60 grep -q '"round":0' "$dir/$n.out" || fail "program $n does not begin"
done
"$heddle" ps --json | python3 -c '
import json, sys
print([t["weight"] for t in json.load(sys.stdin)["tenants"] if t["tenant"] == 1][0])' >"$dir/first"
settle "$(cat "$dir/first")"
are_right "$@" || fail "shares by the weights $*"
for tenant in $(seq "$n"); do "$heddle" set "$tenant" -w 1 || fail "set -w 1"; done
sleep "${SECONDS_OF_TURNS:-8}"
are_right "$@" || fail "equal shares"
: >"$dir/end"
for pid in $pids; do wait "$pid" || fail "a program: $?"; done
pids=
for i in $(seq "$n"); do passed "$i" || fail "program $i: wrong result"; done
echo passed
