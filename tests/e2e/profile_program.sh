#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: profile_program.sh BUILD kept|points|refused
# Tests heddle profile -- PROG on the virtual GPU:
#   kept     the points of a kernel's curve, for a program that launches it once and for one that
#            launches it often; the curve is in the store, and a heddled with policy greedy uses it
#   points   kernels with one point or none, and kernels of another device
#   refused  the messages for programs that cannot be profiled
# No times are compared: on the virtual GPU they are those of an interpreter.
set -eu
build=$(cd "$1" && pwd)
what=$2
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
for part in heddle heddled examples/mm examples/nn bench/where tests/shim/shim_prog src/shim/libcuda.so.1 \
	src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
db=$XDG_STATE_HOME/heddle/heddled.db
export HEDDLE_VGPU="profile-program-$$"

# holds PYTHON: the expression must hold for the last result; k has the kernels that heddle now
# launches, by name.
holds() {
	python3 -c '
import json, sys
p = json.load(open(sys.argv[1]))
k = {k["name"]: k for k in p["kernels"] if k.get("current", True)}
def counts(k): return [q["per_sm"] for q in k["points"]]
def pruned(points, time):
    # The documented rule: a point is kept if every point with fewer blocks takes longer.
    return [any(o[time] <= q[time] for o in points[:i]) for i, q in enumerate(points)]
sys.exit(not eval(sys.argv[2]))' "$dir/profile.out" "$1" || fail "not so: $1: $(cat "$dir/profile.out")"
}

profile() { # OPTION... -- PROG...
	"$heddle" profile --json --device cpu "$@" >"$dir/profile.out" 2>"$dir/profile.err" ||
		fail "heddle profile $*: $(cat "$dir/profile.out" "$dir/profile.err")"
	[ ! -s "$dir/profile.err" ] || fail "it says: $(cat "$dir/profile.err")"
}

# refused STATUS TEXT ARG...: the command must fail with this status and message.
refused() {
	expect=$1 text=$2 status=0
	shift 2
	"$heddle" profile "$@" >"$dir/refused.out" 2>&1 || status=$?
	[ "$status" = "$expect" ] || fail "heddle profile $*: exit status $status: $(cat "$dir/refused.out")"
	grep -q -- "$text" "$dir/refused.out" || fail "heddle profile $*: $(cat "$dir/refused.out")"
}

whole='all(q["launches"] >= 3 and q["median_ns"] >= q["least_ns"] > 0 for q in K["points"])
	and counts(K) == list(range(1, K["fit"] + 1))
	and [q["pruned"] for q in K["points"]] == pruned(K["points"], "median_ns")'
of() {
	echo "$whole" | sed "s/K\\[/k[\"$1\"][/g; s/(K)/(k[\"$1\"])/g" | tr -d '\n\t'
}

kept() {
	# The program launches its kernel once per run, so each block count needs three runs.
	profile --runs 100 -- "$examples/nn" --size small --scale 0.7
	holds 'p["runs"] >= 3 * k["nn"]["fit"] and p["missing"] == p["unmeasured"] == 0 and list(k) == ["nn"]'
	holds "$(of nn)"
	holds 'k["nn"]["kept"] and k["nn"]["unbounded"] is None and p["file"] == "'"$db"'"'
	[ "$(stat -c %a "$db")" = 600 ] || fail "others may read $db"

	# A program that launches many times per run needs few runs. Both curves are kept.
	profile -- "$examples/mm" --size small --repeat 20
	holds "$(of mm)"
	holds 'p["runs"] <= 3 and p["missing"] == 0'
	"$heddle" profile --json m >"$dir/profile.out"
	holds 'p["file"] == "'"$db"'" and [q["per_sm"] for q in k["mm"]["curve"]] == list(range(1, len(k["mm"]["curve"]) + 1))'
	holds '[q["pruned"] for q in k["mm"]["curve"]] == pruned(k["mm"]["curve"], "block_ns")'
	before=$("$heddle" profile mm | grep 'by blocks on it')

	# A heddled with policy greedy reads the stored curve and refines it.
	start_daemon --policy greedy --set min_managed_us=1
	"$heddle" profile mm >"$dir/profile.out"
	grep -qF "$before" "$dir/profile.out" || fail "heddled has another curve than $before: $(cat "$dir/profile.out")"
	# A launch that waits when it starts gives no measurement, and on a busy machine the first
	# launches may wait.
	for i in 1 2 3 4 5 6 7 8 9 10; do
		"$heddle" run --device cpu -- "$examples/mm" --size small >"$dir/mm.out" || fail "mm"
		"$heddle" profile mm >"$dir/profile.out"
		grep -qF "$before" "$dir/profile.out" || break
	done
	! grep -qF "$before" "$dir/profile.out" || fail "$i launches change nothing of $before"
	refused 1 'would overwrite the profile' --device cpu -- "$examples/nn" --size trivial
	# With --store, the running heddled's own store does not matter.
	profile --store "$dir/other.db" --runs 1 -- "$examples/nn" --size trivial
	holds 'p["file"] == "'"$dir"'/other.db" and p["runs"] == 1 and p["missing"] == 2'
	kill "$daemon"
	wait "$daemon" || fail "heddled: $?"
	daemon=
}

points() {
	profile --store "$dir/other.db" --runs 1 -- "$examples/nn" --size trivial
	# A grid of one block per SM has one possible count.
	holds 'k["nn"]["blocks"] == k["nn"]["sms"] and counts(k["nn"]) == [1]'
	"$heddle" profile --device cpu --store "$dir/other.db" --runs 1 -- "$examples/nn" --size trivial >"$dir/one.out"
	grep -q 'one point: the grid has no more blocks than the device has SMs' "$dir/one.out" || fail "$(cat "$dir/one.out")"
	# On another device, the command reports the earlier profile and keeps it.
	HEDDLE_VGPU="$HEDDLE_VGPU-4,sms=4" "$heddle" profile --device cpu --store "$dir/other.db" -- "$examples/nn" \
		--size trivial >"$dir/other.out" 2>&1 || fail "$(cat "$dir/other.out")"
	grep -q 'had it for another device only: heddle virtual GPU, 8 SMs' "$dir/other.out" || fail "$(cat "$dir/other.out")"
	"$heddle" profile --json --store "$dir/other.db" >"$dir/profile.out"
	holds 'sorted(k["sms"] for k in p["kernels"]) == [4, 8]'

	# Kernels with only the guard form are measured like others; other kernels have no curve and
	# a reason.
	profile -- "$build/tests/shim/shim_prog" outcomes 2 24 30
	holds 'not k["early"]["unbounded"] and counts(k["early"]) == [1, 2, 3] and counts(k["mix"])[-1] in (1, 3)'
	holds '{"no_room", "cooperative", "not_rewritten"} <= {r["reason"] for r in p["reasons"]}'
}

refused_all() {
	# Programs that cannot be profiled.
	refused 1 'exit status 3 in run 1: last words' --device cpu -- sh -c 'echo first >&2; echo last words >&2; exit 3'
	refused 1 'killed by Killed in run 1' --device cpu -- sh -c 'kill -9 $$'
	refused 1 'No such file or directory' --device cpu -- "$dir/nosuch"
	refused 1 'true did not become a tenant' --device cpu -- true
	refused 1 'no launch ended within the 1 s of --budget-s' --device cpu --budget-s 1 -- sleep 1000
	HEDDLE_VGPU="$HEDDLE_VGPU-1,sms=1" refused 1 'none of 1 launch was managed.*fewer than two blocks' --device cpu \
		--runs 1 -- "$build/bench/where" --threads 128 --shared 204800 --blocks 100 --loops 10 --out "$dir/where"
	# A private copy: a file that others may write, as in a checkout with umask 002, would be
	# refused for that reason instead.
	(umask 077 && cat "$0" >"$dir/script")
	refused 1 'not a database' --device cpu --store "$dir/script" -- true
	refused 2 '--socket: a program is profiled by a heddled of its own' --socket s --device cpu -- true
	refused 2 '--rounds is for a program' --rounds 2 mm
	refused 2 "unexpected: 'nn'" mm nn
	refused 2 'a program after --' --device cpu --
}

case $what in
kept | points) "$what" ;;
refused) refused_all ;;
*) exit 2 ;;
esac
echo passed
