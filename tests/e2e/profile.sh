#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: profile.sh BUILD
# Tests what heddled learns about real programs' kernels, as heddle profile shows it: shapes with
# predictions and measurements, inputs that match the program's parameters, rows by user. Also tests
# this across heddled processes that end, are killed, cannot read or write their file, or keep
# nothing.
set -eu
build=$1
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
for part in heddle heddled examples/va examples/mm src/shim/libcuda.so.1 src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
export HEDDLE_VGPU="profile-$$"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
db=$XDG_STATE_HOME/heddle/heddled.db

# asks PYTHON [OPTION...]: the expression must hold for the list; k has the kernels by name.
asks() {
	what=$1
	shift
	"$heddle" profile --json "$@" >"$dir/profile.out" 2>"$dir/profile.err" ||
		fail "heddle profile: $(cat "$dir/profile.err")"
	python3 -c '
import json, sys
p = json.load(open(sys.argv[1]))
k = {k["name"]: k for k in p["kernels"]}
sys.exit(not eval(sys.argv[2]))' "$dir/profile.out" "$what" ||
		fail "not so: $what: $(cat "$dir/profile.out")"
}

stop_daemon() {
	kill ${1:+"$1"} "$daemon"
	wait "$daemon" || [ "${1:-}" ] || fail "heddled: exit status $?"
	daemon=
}

launch() { # PROGRAM ARG...
	program=$1
	shift
	"$heddle" run --device cpu -- "$examples/$program" "$@" >"$dir/program.out" 2>&1 || fail "$program $* fails"
}

start_daemon --set min_managed_us=1
asks 'p["kernels"] == [] and p["file"] is None'
launch va --size small
launch va --size trivial
launch va --size trivial
# The first launch could not be predicted. The second one, with another grid, was. The third had the
# same grid as the second.
asks 'k["va"]["launches"] == 3 and k["va"]["predictions"] == 1 and k["va"]["error_mean"] >= 0'
asks 'sorted((s["launches"], s["predicted_ns"] is None) for s in k["va"]["shapes"]) == [(1, True), (2, False)]'
asks 'all(s["measured_ns"] > 0 and s["mean_ns"] > 0 and s["threads"] == 256 for s in k["va"]["shapes"])'
# a, b and c are arrays of n floats (four bytes each).
asks 'all(s["inputs"][0:3] == 3 * [4 * s["inputs"][3]] and s["inputs"][3] > 0 for s in k["va"]["shapes"])'
asks 'k["va"]["curve"] and all(c["block_ns"] > 0 for c in k["va"]["curve"]) and k["va"]["claim"] >= 1'
asks 'k["va"]["uid"] == '"$(id -u)"' and k["va"]["sms"] == 8'
launch mm --size small
asks 'list(k) == ["mm"]' mm
asks 'list(k) == []' nosuch
"$heddle" profile va | grep -q '^va  *3  *2 ' || fail "as text: $("$heddle" profile va)"

# Another user sees only that user's own kernels, here none. (root sees all.)
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$heddle"; then
	chmod 755 "$dir"
	chmod 666 "$HEDDLE_SOCKET"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$heddle" profile >"$dir/nobody.out" 2>&1 || fail "nobody: $?"
	[ "$(cat "$dir/nobody.out")" = 'nothing is known' ] || fail "nobody: $(cat "$dir/nobody.out")"
fi

# The next heddled has the stored data, whether this one ends or is killed. heddle profile can also
# read it while no heddled runs.
stop_daemon
[ "$(stat -c %a "$db")" = 600 ] || fail "others may read $db"
asks 'k["va"]["launches"] == 3 and k["mm"]["launches"] == 1 and p["file"] == "'"$db"'"'
cp "$db" "$dir/whole"
start_daemon --set min_managed_us=1
asks 'k["va"]["launches"] == 3 and p["file"] is None'
launch va --size trivial
asks 'k["va"]["launches"] == 4'
kept() { "$heddle" profile --json --store "$db" va | grep -q '"launches": 4,'; }
await 60 kept || fail "nothing is written while heddled runs"
stop_daemon -KILL
asks 'k["va"]["launches"] == 4'

# A file that is not a store is left alone, with one log line.
echo nonsense >"$db"
start_daemon --set min_managed_us=1
launch va --size trivial
asks 'k["va"]["launches"] == 1'
stop_daemon
[ "$(cat "$db")" = nonsense ] || fail "what was no store was overwritten"
[ "$(grep -c 'records of kernels are not saved' "$dir/daemon.log")" = 1 ] || fail "not one line of that"
"$heddle" profile >"$dir/none.out" 2>&1 && fail "read from nonsense: $(cat "$dir/none.out")"
grep -q 'not a database' "$dir/none.out" || fail "why is not told: $(cat "$dir/none.out")"

# If the store cannot be written, heddled logs one line and continues.
cp "$dir/whole" "$db"
start_daemon --set min_managed_us=1
mkdir "$db-journal"
for program in nn pf; do launch "$program" --size trivial; done
await 60 grep -q 'not saved for now' "$dir/daemon.log" || fail "no line of what cannot be written"
launch md --size trivial
asks 'len(k) == 5'
stop_daemon
rmdir "$db-journal"
[ "$(grep -c 'not saved' "$dir/daemon.log")" = 1 ] || fail "not one line of that"
asks 'k["va"]["launches"] == 3 and len(k) == 2'
# Once the store is writable again, the missing data is written.
start_daemon --set min_managed_us=1
mkdir "$db-journal"
for program in nn pf; do launch "$program" --size trivial; done
await 60 grep -q 'not saved for now' "$dir/daemon.log" || fail "no line of what cannot be written"
rmdir "$db-journal"
written() { "$heddle" profile --json --store "$db" | grep -c '"name": "\(nn\|pf\)"' | grep -qx 2; }
await 60 written || fail "what could not be written is not tried again"
stop_daemon -KILL

# With state=off, no file is created.
rm -rf "$XDG_STATE_HOME"
start_daemon --set min_managed_us=1 --set state=off
launch va --size trivial
asks 'k["va"]["launches"] == 1'
# One process launches the kernel with several sizes.
launch va --calibrate --scale 0.05
asks 'len(k["va"]["shapes"]) == 4 and all(s["inputs"][0:3] == 3 * [4 * s["inputs"][3]] for s in k["va"]["shapes"])'
stop_daemon
[ ! -e "$XDG_STATE_HOME" ] || fail "state=off, and a file"
"$heddle" profile >"$dir/none.out" 2>&1 && fail "read from nowhere"
grep -q 'no heddled listens on' "$dir/none.out" || fail "$(cat "$dir/none.out")"
start_daemon --set state="$dir/elsewhere"
stop_daemon
[ -s "$dir/elsewhere/heddled.db" ] || fail "state=DIR: no file there"
