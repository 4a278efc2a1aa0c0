#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: json.sh BUILD verbs|merge|tasks|orders|demo|bench|share|share_split|share_store|share_oracle|share_predict
#        [ROUNDS]
# The --json output of every verb must be JSON, and the verb's help must describe each of its keys.
# verbs: runs the quick verbs. The other words run the bench of that name on the virtual GPU and
# check its results. ROUNDS: number of rounds of share… (1).
set -eu
build=$1
what=$2
rounds=${3:-1}
heddle=$build/heddle
dir=$(mktemp -d)
daemon='' tenant=''
end() {
	status=$?
	# shellcheck disable=SC2086
	kill $tenant $daemon 2>/dev/null || :
	wait
	rm -rf "$dir"
	exit "$status"
}
trap end EXIT
trap 'exit 1' INT TERM
export HEDDLE_SOCKET="$dir/sock" HEDDLE_VGPU="json-$$" XDG_CACHE_HOME="$dir" XDG_STATE_HOME="$dir/state" TMPDIR="$dir"
export HEDDLE_FORM_WAIT_MS=60000

fail() {
	echo "FAILED: $*"
	exit 1
}

# check STATUS VERB ARG…: runs heddle VERB ARG… --json, which must end with STATUS; VERB may be a
# group and a verb, such as "bench share".
# shellcheck disable=SC2086
check() {
	want=$1
	verb=$2
	shift 2
	got=0
	"$heddle" $verb --json "$@" >"$dir/json" 2>"$dir/err" || got=$?
	[ "$got" = "$want" ] || fail "heddle $verb: status $got, not $want: $(cat "$dir/err")"
	is_documented "$verb"
}

# Adds $dir/json to the outputs that told_all checks at the end: they must be JSON with documented
# keys only.
said=0
# shellcheck disable=SC2086
is_documented() {
	said=$((said + 1))
	cp "$dir/json" "$dir/said.$said"
	{
		echo "$1"
		"$heddle" $1 -h
	} >"$dir/help.$said"
}

told_all() {
	python3 - "$dir" "$said" <<'END'
import json, re, sys

def keys(value):
    # Rows of samples have array names as keys, which are not documented.
    if isinstance(value, dict) and isinstance(value.get("samples"), list):
        for row in value["samples"]:
            assert row.pop("row") and all(isinstance(v, list) for v in row.values()), row
        value["samples"] = []
    for v in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(v)
    if isinstance(value, dict):
        yield from value

assert int(sys.argv[2]) > 0
for n in range(1, int(sys.argv[2]) + 1):
    verb, help = open(f"{sys.argv[1]}/help.{n}").read().split("\n", 1)
    try:
        has = set(keys(json.load(open(f"{sys.argv[1]}/said.{n}"))))
    except ValueError as e:
        sys.exit(f"FAILED: heddle {verb}: not JSON: {e}")
    has -= {"schema", "command", "errors", "error", "hint"}
    documented = set(re.findall("[a-z0-9_]+", help[help.find("\nJSON:"):] if "\nJSON:" in help else ""))
    if unknown := has - documented:
        sys.exit(f"FAILED: heddle {verb} -h does not say: {sorted(unknown)}")
    print(f"heddle {verb}: {len(has)} keys")
END
}

# in_parts ROWS VERB ARG...: repeats a call that has time for one row only, with a common results
# file, until the file has all ROWS rows. No row may be measured twice. A further call must measure
# nothing and take its figures from the file.
in_parts() {
	rows=$1 verb=$2
	shift 2
	rm -f "$dir/rows"
	left=1 calls=0
	while [ "$left" -gt 0 ]; do
		[ "$calls" -lt "$rows" ] || fail "heddle $verb: no end after $calls calls"
		calls=$((calls + 1))
		check 0 "$verb" "$@" --resume "$dir/rows" --budget-s 1
		left=$(sed -n 's/^  "left": \([0-9]*\).*/\1/p' "$dir/json")
		[ $(($(wc -l <"$dir/rows") + left)) = "$rows" ] || fail "heddle $verb: $left left: $(cut -c 1-200 "$dir/rows")"
	done
	[ "$(sed 's/,"samples".*//' "$dir/rows" | sort -u | wc -l)" = "$rows" ] || fail "twice: $(cut -c 1-200 "$dir/rows")"
	cp "$dir/rows" "$dir/all-rows"
	mv "$dir/json" "$dir/last"
	check 0 "$verb" "$@" --resume "$dir/rows"
	cmp "$dir/rows" "$dir/all-rows" || fail "heddle $verb: measured again"
	cmp "$dir/json" "$dir/last" || fail "heddle $verb: other figures from the same rows"
}

# Runs a few tasks. Every output must be checked, and on the virtual GPU no ratio of times may be
# printed.
tasks() {
	[ -s "$build/kernels/nvcc/narrow.ptx" ] || [ -s "$build/kernels/clang/narrow.ptx" ] || return 0
	check 0 "bench tasks" --device cpu --tasks 40 --streams 4
	python3 - "$dir/json" <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
assert d["virtual"] and d["wrong"] == 0, d
assert d["empty"]["tasks"] == 40, d["empty"]
assert d["empty"]["per_second"] > 0 and d["empty"]["spawn_ns"] > 0, d
assert [p["threads"] for p in d["empty"]["producers"]] == [1, 2, 4, 8], d
assert 0 < d["latency"]["p50_us"] <= d["latency"]["p99_us"], d
assert [p["program"] for p in d["programs"]] == ["mandelbrot", "matmul", "filterbank"], d
for p in d["programs"]:
    assert p["checked"] == 4 * p["tasks"] == 160 and p["wrong"] == 0 and p["ms"] > 0, p
    assert [l["streams"] for l in p["launches"]] == [1, 2, 4] and "ratio" not in p, p
END
	check 0 "bench tasks" --device cpu --tasks 3 --streams 1 --program matmul --threads 256
	# The output has the requested number of tasks, also for empty tasks. Without --tasks it has
	# the default that -h states.
	for tasks in 1 200 ''; do
		check 0 "bench tasks" --device cpu --program empty ${tasks:+--tasks $tasks}
		python3 - "$dir/json" "${tasks:-2000}" <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
assert d["empty"]["tasks"] == int(sys.argv[2]) and d["programs"] == [], d
END
		"$heddle" bench tasks --device cpu --program empty ${tasks:+--tasks $tasks} >"$dir/text" ||
			fail "bench tasks --tasks $tasks"
		grep -q "^empty tasks: ${tasks:-2000}$" "$dir/text" || fail "$(cat "$dir/text")"
	done
	check 0 "bench tasks" --device cpu --program empty --stamps --leave-sms 2 --blocks-per-sm 1 --nap 200
	python3 - "$dir/json" <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
legs = d["latency"]["legs_us"]
assert sorted(legs) == ["begun", "ended", "fenced", "placed", "rest"] and legs["rest"] > 0, d
assert legs["fenced"] >= 0 and legs["ended"] >= 0 and d["programs"] == [], d
END
	# One call for each of five rows: empty tasks, their latency, three programs.
	in_parts 5 "bench tasks" --device cpu --tasks 3 --streams 1
	check 2 "bench tasks" --device cpu --threads 130
	check 2 "bench tasks" --device cpu --streams 33
}

# Measures two pairs of small kernels. Then another process takes its figures from the stored
# results.
merge() {
	pairs="--device cpu --rounds 1 --points 2 --store $dir/pairs --pairs va+transpose,histogram+histogram"
	[ -s "$build/kernels/nvcc/va.ptx" ] || [ -s "$build/kernels/clang/va.ptx" ] || return 0
	# shellcheck disable=SC2086
	check 0 "bench merge" $pairs --svg "$dir/pairs.svg"
	python3 - "$dir/json" "$dir/pairs.svg" <<'END'
import json, sys, xml.dom.minidom

d = json.load(open(sys.argv[1]))
assert d["wrong"] == 0 and d["failures"] == 0, d
names = ["va", "transpose", "histogram"]
assert [k["name"] for k in d["kernels"]] == names, d["kernels"]
assert all(k["ms"] > 0 for k in d["kernels"])
assert [k["kernel"] for k in d["overhead"]] == names, d["overhead"]
for k in d["overhead"]:
    assert abs(k["ids"] + k["occupancy"] + k["queue"] + k["choosing"] - k["total"]) < 1e-9, k
    assert k["best"] <= k["total"] and len(k["claims"]) == 6 and k["make_ms"] > 0, k
    assert k["shared_best"] <= k["shared"] and len(k["shared_claims"]) == 6, k
assert [(p["first"], p["second"]) for p in d["pairs"]] == [("va", "transpose"), ("histogram", "histogram")]
for p in d["pairs"]:
    ways = {w["way"]: w for w in p["ways"]}
    assert sum("chosen" in w for w in p["ways"]) == 1 and "chosen" in ways[p["tuned_way"]], p
    assert sum(w.startswith("merge partition") for w in ways) == 4, sorted(ways)
    for gain, way in ("streams", "streams"), ("vertical", "vertical"), ("steal", "merge steal"):
        assert abs(p[gain] * ways[way]["ms"] / p["sequential_ms"] - 1) < 1e-6, (gain, p)
    assert p["steal_best"] >= p["steal"] and p["partition"] > 0, p
assert d["summary"]["pairs"] == 2
assert len(xml.dom.minidom.parse(sys.argv[2]).getElementsByTagName("circle")) == 4
END
	# shellcheck disable=SC2086
	check 0 "bench merge" $pairs --part tuned
	grep -q '"tuned_summary"' "$dir/json" || fail "nothing tuned: $(cat "$dir/json")"
	# The overheads of two kernels and of a pair. The first call also measures each kernel
	# alone.
	in_parts 5 "bench merge" --device cpu --rounds 1 --points 2 --store "$dir/pairs" --pairs va+transpose
	check 2 "bench merge" --pairs va+nn
}

# The percentages match the printed times, and every order gives the original kernel's results.
orders() {
	[ -s "$build/kernels/nvcc/mm.ptx" ] || [ -s "$build/kernels/clang/mm.ptx" ] || return 0
	check 0 "bench preempt" --device cpu --part orders --rounds 2
	python3 - "$dir/json" <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
assert [o["kernel"] for o in d["orders"]] == ["mm 192", "mm 256", "transpose", "nn", "pf"], d["orders"]
for o in d["orders"]:
    assert o["same"] and o["plain_ms"] > 0, o
    for order in "column", "hilbert":
        percent = 100 * (o[order + "_ms"] / o["row_ms"] - 1)
        assert abs(percent - o[order + "_percent"]) < 1e-6 * max(abs(percent), 1), o
assert d["failures"] == 0, d
END
	in_parts 5 "bench preempt" --device cpu --part orders --rounds 1
}

verbs() {
	cat >"$dir/k.ptx" <<'END'
.version 7.0
.target sm_70
.address_size 64
.visible .entry put(.param .u64 p)
{
	.reg .b64 %rd<4>;
	.reg .b32 %r<6>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mad.lo.u32 %r4, %r2, %r3, %r1;
	mul.wide.u32 %rd2, %r4, 4;
	add.u64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r4;
	ret;
}
.visible .entry odd()
{
	.reg .b32 %r<3>;
	frob.s32 %r1, %r2;
	ret;
}
END
	sed 's/mul.wide.u32 %rd2,/& [/' "$dir/k.ptx" >"$dir/bad.ptx"
	check 0 version
	check 0 help
	check 0 "ptx check" "$dir/k.ptx"
	check 1 "ptx check" "$dir/bad.ptx"
	check 0 "ptx print" "$dir/k.ptx"
	check 1 "ptx print" "$dir/bad.ptx"
	check 0 "ptx preempt" "$dir/k.ptx"
	check 0 "ptx slice" "$dir/k.ptx"
	for pass in merge fuse-vertical fuse-horizontal weave; do
		check 0 "ptx $pass" -- "$dir/k.ptx" put --block 32 + "$dir/k.ptx" put --block 64
	done
	check 0 "ptx virtual" -- "$dir/k.ptx" put --grid 4 --block 32
	check 0 exec --device cpu --grid 4 --block 32 "$dir/k.ptx" put "u32[128]:zero"
	check 0 exec --device cpu --grid 4 --block 32 --as preempt "$dir/k.ptx" put "u32[128]:zero"
	"$heddle" record --json --device cpu -o "$dir/recorded" -- "$build/tests/cli/launches" tally odd \
		>"$dir/out" 2>"$dir/json" || fail "heddle record: $(cat "$dir/json")"
	is_documented record
	check 0 exec --device cpu --check "recorded:$dir/recorded"
	set -- "$dir/k.ptx" put --grid 4 --block 32 "u32[128]:zero"
	check 0 corun --device cpu --check -- "$@" + "$@"
	check 0 corun --device cpu --how streams -- "$@" + "$@"
	check 0 corun --device cpu --how weave --registers 64 --check -- "$@" + "$@"
	check 0 tune --device cpu --rounds 2 --points 1 --store "$dir/db" -- "$@" + "$@"
	printf '%s\n' 'at 0ms join a' 'at 0ms join b' 'at 1ms launch a k blocks=9' >"$dir/t.trace"
	check 0 sim --trace --policy ffs "$dir/t.trace"
	check 0 doctor
	# With --json, errors are only in the JSON output.
	for wrong in "1 ps" "1 profile" "1 status" "1 top" "1 set 1 -p low" "2 set x -p low" "2 ps --frob" \
		"1 ptx+check /nonexistent" "1 sim /nonexistent" "1 exec --grid 1 --block 1 $dir/k.ptx nosuch" \
		"2 corun -- $dir/k.ptx put --grid 4 --block 32 u32[128]:zero + $dir/k.ptx put --frob" \
		"1 tune -- $dir/k.ptx nosuch --grid 1 --block 1"; do
		# shellcheck disable=SC2086
		set -- $wrong
		got=$1 verb=$(echo "$2" | tr + ' ')
		shift 2
		HEDDLE_SOCKET=$dir/none check "$got" "$verb" "$@"
		grep -q '^ *"error": ".' "$dir/json" || fail "heddle $verb: no error in the result"
		[ ! -s "$dir/err" ] || fail "heddle $verb: $(cat "$dir/err")"
	done
	"$build/heddled" --config-root /nonexistent --socket "$HEDDLE_SOCKET" 2>"$dir/log" &
	daemon=$!
	n=0
	until "$heddle" status >/dev/null 2>&1; do
		n=$((n + 1))
		[ "$n" -lt 3000 ] || fail "no heddled"
		sleep 0.02
	done
	check 0 status
	check 0 top
	check 0 ps
	check 0 profile
	[ -x "$build/examples/mm" ] || return 0
	check 0 doctor -- "$build/examples/mm"
	check 0 profile --device cpu --store "$dir/profile.db" --runs 1 -- "$build/examples/mm" --size trivial
	"$heddle" run --device cpu -- "$build/examples/mm" --size large --repeat 1000 >/dev/null 2>&1 &
	tenant=$!
	n=0
	until "$heddle" ps --json >"$dir/json" && grep -q '"blocks"' "$dir/json"; do
		n=$((n + 1))
		[ "$n" -lt 3000 ] || fail "heddle ps never shows a launch"
		sleep 0.1
	done
	is_documented ps
	check 0 set 1 -p low
}

need_programs() {
	[ -x "$build/examples/mm" ] || {
		echo "skipped: no example programs"
		exit 77
	}
}

demo() {
	need_programs
	check 0 demo --device cpu --rounds 1 --svg "$dir/demo.svg"
	python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$dir/demo.svg"
	[ "$(grep -c '"verified": true' "$dir/json")" = 2 ] || fail "not all verified"
	! grep '"preemptions": 0,' "$dir/json" || fail "nothing was preempted"
	[ "$(grep -c '"overtook": 1,' "$dir/json")" = 2 ] || fail "high did not end first: $(cat "$dir/json")"
	[ "$(grep -c '"overtook_unmanaged": 0,' "$dir/json")" = 2 ] || fail "high ended first without heddle"
	! grep '"put_off": 0,' "$dir/json" || fail "nothing was left for later"
	# A single round always counts as noise, as -h says. The picture of a virtual GPU's run does
	# not compare times.
	[ "$(grep -c '"noise": "' "$dir/json")" = 2 ] || fail "not marked as noise: $(cat "$dir/json")"
	grep -q 'each panel has its own scale' "$dir/demo.svg" || fail "the picture does not say what it shows"
	! grep ' ms<' "$dir/demo.svg" || fail "the picture has times of no GPU"
	"$heddle" demo -h | tr -s '\n ' '  ' | grep -q "panels then have a scale each" || fail "-h does not say it"
}

# Checks one set of programs for each ratio of weights. How close the shares come to the weights
# depends on the machine, so this checks only that the figures follow their definitions.
shares() {
	python3 - "$dir/json" "$load" <<'END'
import json, sys

quiet = sys.argv[2] == "quiet"  # otherwise other load distorts the times
d = json.load(open(sys.argv[1]))
assert [s["ratio"] for s in d["shares"]] == ["1:1", "5:1", "3:2:1", "2:1"], d["shares"]
assert d["shares_left_out"] == [], d
for s in d["shares"]:
    programs = s["programs"]
    weights = [int(w) for w in s["ratio"].split(":")]
    assert [p["weight"] for p in programs] == weights, s
    assert s["set"] == "+".join(p["program"] for p in programs) and s["checked"] == 2 * len(programs), s
    assert s["share_spread"] is None and s["lost_spread"] is None and "one window" in s["noise"], s
    for key in "share", "share_sliced", "share_had":
        assert abs(sum(p[key] for p in programs) - 100) < 0.5, (key, s)
    off = max(abs(p["share"] - p["share_wanted"]) for p in programs)
    assert abs(off - s["deviation"]) < 1e-6, s
    assert not quiet or weights[0] == weights[-1] or programs[0]["share"] > programs[-1]["share"], s
    assert abs(sum(p["progress"] for p in programs) + s["lost"] - 1) < 1e-6, s
    assert all(p["alone_per_s"] > 0 and p["alone_per_s_sliced"] > 0 for p in programs), s
assert [s["name"] for s in d["shares_summary"]] == ["1:1", "2:1", "5:1", "3:2:1"], d["shares_summary"]
END
}

# Recomputes the figures of programs that ran together from the printed times.
coruns() {
	python3 - "$dir/json" <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
near = lambda a, b: abs(a - b) < 1e-6 * max(abs(a), abs(b), 1)
assert len(d["pairs"]) == 4 and [c["delay"] for c in d["delay"]] == [0, 1.2], d
for c in d["pairs"] + d["delay"]:
    low, high = c["low_alone_us"], c["high_alone_us"]
    assert near(c["ideal"], (max(low * (1 - c.get("delay", 0)), 0) + high) / high), c
    first = c["arrangements"][0]
    assert [a["name"] for a in c["arrangements"]] == ["unmanaged", "heddle"], c
    for a in c["arrangements"]:
        assert a["checked"] == 2 and near(a["high_speedup"], first["high_us"] / a["high_us"]), a
        assert near(a["antt"], (a["low_us"] / low + a["high_us"] / high) / 2), a
assert len(d["equal"]) == 4 and len(d["triplets"]) == 2, d
for c in d["equal"] + d["triplets"]:
    sizes = [p["size"] for p in c["programs"]]
    assert sizes == ["large"] + ["small"] * (len(sizes) - 1), c
    passed = ideal = 0
    for us in sorted(p["alone_us"] for p in c["programs"]):
        passed += us
        ideal += passed / us / len(sizes)
    assert near(c["antt_ideal"], ideal), c
    names = ["unmanaged", "heddle"] + ["reordered"] * (len(sizes) == 3)
    assert [a["name"] for a in c["arrangements"]] == names, c
    for a in c["arrangements"]:
        assert a["checked"] == len(sizes), a
        assert near(a["antt_gain"], c["arrangements"][0]["antt"] / a["antt"]), a
        assert near(a["of_ideal"], ideal / a["antt"]), a
# In a pair of a very long and a short program, the short one ends sooner under heddle.
assert max(a["speedup_mean"] for a in d["summary"] if a["name"] == "heddle") > 1.5, d["summary"]
END
}

# Recomputes the overheads from the printed times.
sliced() {
	python3 - "$dir/json" "$load" <<'END'
import json, math, sys

quiet = sys.argv[2] == "quiet"  # otherwise other load distorts the times
d = json.load(open(sys.argv[1]))
assert [s["program"] for s in d["slicing"]] == ["cfd", "nn"], d["slicing"]
for s in d["slicing"]:
    assert s["slices"] == int(max(s["plain_us"] / max(s["way_out_us"], 2), 1)), s
    assert not quiet or s["slices"] > 1, s
for t, key in zip(d["slicing_summary"], ("preemptible_us", "sliced_us")):
    ratios = [s[key] / s["plain_us"] for s in d["slicing"]]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) - 1
    assert abs(t["overhead_geomean"] - mean) < 1e-9 and abs(t["overhead_worst"] + 1 - max(ratios)) < 1e-9, t
END
}

# Checks the printed predictions for each program of the quick set, at sizes that were not used to
# fit the model.
predicted() {
	python3 - "$dir/json" "$load" <<'END'
import json, sys

quiet = sys.argv[2] == "quiet"  # otherwise other load distorts the times
d = json.load(open(sys.argv[1]))
near = lambda a, b: abs(a - b) < 1e-6 * max(abs(a), abs(b), 1)
assert [p["program"] for p in d["predict"]] == ["cfd", "nn"], d["predict"]
for p in d["predict"]:
    assert p["sizes_learnt"] == 3 and len(p["sizes"]) == 2, p
    errors = [s["error"] for s in p["sizes"]]
    for s in p["sizes"]:
        assert near(s["error"], abs(s["predicted_us"] - s["measured_us"]) / s["measured_us"]), s
    assert near(p["error_mean"], sum(errors) / 2) and p["error_worst"] == max(errors), p
    # allows for a noisy clock; wrong predictions would be worse
    assert not quiet or p["error_mean"] < 3, p
means = [p["error_mean"] for p in d["predict"]]
assert near(d["predict_error_mean"], sum(means) / 2) and d["predict_error_worst"] == max(means), d
END
}

# With a results file nothing is measured twice. If a kill left an incomplete line, that row is
# measured again.
resumes() {
	log=$dir/log
	part="--device cpu --quick --rounds 1 --part equal --resume $log"
	# shellcheck disable=SC2086
	check 0 "bench preempt" $part
	mv "$dir/json" "$dir/first"
	cp "$log" "$dir/whole"
	# shellcheck disable=SC2086
	check 0 "bench preempt" $part
	cmp "$dir/first" "$dir/json" || fail "measured again"
	cmp "$log" "$dir/whole" || fail "added what was there"
	head -n 3 "$dir/whole" >"$log"
	sed -n 4p "$dir/whole" | head -c 60 >>"$log"
	# shellcheck disable=SC2086
	check 0 "bench preempt" $part
	[ "$(wc -l <"$log")" = "$(wc -l <"$dir/whole")" ] || fail "not all of it: $(cat "$log")"
	head -n 3 "$dir/whole" >"$dir/three"
	head -n 3 "$log" | cmp - "$dir/three" || fail "the first three were measured again"
	printf 'no result\n' >>"$log"
	refused "line $(wc -l <"$log") is no result"
	sed '1s/"1 round/"7 rounds/' "$dir/whole" >"$log"
	refused "line 1 is of another device"
	printf precious >"$log"
	refused "line 1 is no result"
	[ "$(cat "$log")" = precious ] || fail "a file of something else was changed"
}

# Checks a pair of programs: recomputes its figures from the times of its orders.
shared() {
	python3 - "$dir/json" "$1" "$rounds" <<'END'
import json, math, sys

d = json.load(open(sys.argv[1]))
near = lambda a, b: abs(a - b) < 1e-6 * max(abs(a), abs(b), 1)
geomean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
assert d["failures"] == 0 and d["left"] == 0 and d["size"] == "small" and d["rounds"] == int(sys.argv[3]), d
assert [p["program"] for p in d["programs"]] == ["mm", "va"], d["programs"]
assert [p["class"] for p in d["programs"]] == ["high", "low"], d["programs"]
for p in d["programs"]:
    assert p["takes"]["threads"] > 0 and p["takes"]["registers"] > 0, p
    assert 0 < max(v for k, v in p["takes"].items() if k.endswith("_percent")) <= 100, p
    # Only the arrangement `workers` measures the cost of a form.
    assert near(p["form_ratio"], p["workers_us"] / p["plain_us"]) if "workers" in sys.argv[2] else "form_ratio" not in p, p
    assert p["plain_registers"] == p["takes"]["registers"] and 0 < p["workers_registers"] <= 255, p
assert near(d["registers_geomean"], geomean([p["workers_registers"] / p["plain_registers"] for p in d["programs"]])), d
if "workers" in sys.argv[2]:
    assert near(d["form_geomean"], geomean([p["form_ratio"] for p in d["programs"]])), d
(pair,) = d["pairs"]
assert (pair["first"], pair["second"], pair["class"]) == ("mm", "va", "low"), pair
alone = (pair["first_alone_us"], pair["second_alone_us"])
names = [a["name"] for a in pair["arrangements"]]
assert names == ["sequential"] + sys.argv[2].split(), names
for a in pair["arrangements"]:
    assert [o["order"] for o in a["orders"]] == ["first", "second", "together"], a
    for o in a["orders"]:
        together = (o["first_us"], o["second_us"])
        assert near(o["stp_makespan"], sum(alone) / o["makespan_us"]), (o, alone)
        assert near(o["stp"], sum(x / y for x, y in zip(alone, together))), (o, alone)
        assert near(o["antt"], sum(y / x for x, y in zip(alone, together)) / 2), (o, alone)
        assert o["makespan_us"] >= max(together) - 1e-3, o
    for key in ("stp_makespan", "stp", "antt"):
        assert near(a[key], geomean([o[key] for o in a["orders"]])), (a, key)
    # Each of three orders checks the results of both programs.
    assert a["checked"] == (0 if a["name"] == "sequential" else 6 * int(sys.argv[3])), a
sequential = pair["arrangements"][0]
assert sequential["stp_makespan"] == 1 and sequential["noise"] is None, sequential
second = {o["order"]: o for o in sequential["orders"]}["second"]
assert near(second["first_us"], alone[0] + 0.9 * alone[1]) and near(second["second_us"], alone[1]), second
# mm and va are not the paper's
assert d["warm_rounds"] == 1 and d["summary_paper"] == [] and pair["class_paper"] is None, d
assert d["summary_high"] == [] and d["summary_low"] == d["summary"], d
assert [s["name"] for s in d["summary"]] == names, d["summary"]
for s, a in zip(d["summary"], pair["arrangements"]):
    # Noisy results are counted, but do not contribute to a mean.
    noise = a["noise"] is not None
    assert s["pairs"] == (not noise) and s["noisy"] == noise, s
    if noise:
        assert s["stp_makespan_geomean"] is None and s["stp_makespan_best"] is None and s["antt_geomean"] is None, s
        continue
    assert near(s["stp_makespan_geomean"], a["stp_makespan"]), s
    assert near(s["stp_makespan_best"], a["stp_makespan"]) and near(s["antt_geomean"], a["antt"]), s
END
}

# The second program launches once the first one's kernel has run for a tenth of the time that it
# needs alone.
arrivals() {
	python3 - "$log" $((all == 13 ? 6 : 4)) <<'END'
import json, statistics, sys

rows = {o["row"]: o["samples"] for o in map(json.loads, open(sys.argv[1]))}
alone = {}
for row, s in rows.items():
    if row.startswith("alone ") and row.endswith(", sequential"):
        alone[row.split()[1].strip(",")] = statistics.median(b - a for a, b in zip(s["launch 0"], s["done 0"]))
arriving = {row: s for row, s in rows.items() if row.startswith("arriving ") and ", delay 0.100, " in row}
assert len(arriving) == int(sys.argv[2]) and {row.split()[1] for row in arriving} == {"mm", "va"}, list(rows)
for row, s in arriving.items():
    least = 0.1 * alone[row.split()[1]]
    assert all(b - a >= least for a, b in zip(s["launch 0"], s["launch 1"])), (row, s, least)
END
}

# The oracle tries every fixed division of an SM between two programs that leaves no room for
# another block. These divisions are measured and checked like the other arrangements, and the
# oracle's figures match their definition. Stored results are not measured again.
share_oracle() {
	need_programs
	log=$dir/log
	check 0 "bench share" --device cpu --of mm,va --low va --rounds "$rounds" --resume "$log" --oracle
	python3 - "$dir/json" "$log" "$rounds" <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
o, (q,) = d["oracle"], d["pairs"]
(p,) = o["pairs"]
takes = [r["takes"] for r in d["programs"]]
splits = p["splits"]
assert 1 <= len(splits) <= 7, splits
for s in splits:
    n = s["first_blocks"], s["second_blocks"]
    assert min(n) >= 1 and sum(k * t["threads"] for k, t in zip(n, takes)) <= 2048, s
    # The SM has no room for one more block of either program.
    for i in range(2):
        more = [k + (j == i) for j, k in enumerate(n)]
        regs = [max(r["workers_registers"], t["registers"]) for r, t in zip(d["programs"], takes)]
        assert more[i] > takes[i]["blocks_per_sm"] or \
            sum(k * t["threads"] for k, t in zip(more, takes)) > 2048 or \
            sum(k * t["threads"] * r for k, t, r in zip(more, takes, regs)) > 65536, (s, i)
best = max([1] + [s["stp_makespan"] for s in splits])
greedy = next(a["stp_makespan"] for a in q["arrangements"] if a["name"] == "greedy")
near = lambda a, b: abs(a - b) < 1e-4 * max(1, abs(b))
assert near(p["oracle_gain"], best - 1) and near(p["greedy_gain"], greedy - 1), p
assert (p["best"] == "sequential") == (best == 1), p
share = 100 * (greedy - 1) / (best - 1) if best >= 1.005 else None
assert p["share_percent"] is None if share is None else near(p["share_percent"], share), p
assert o["share_percent"] == p["share_percent"] and near(o["stp_makespan_geomean"], best), o
kept = [json.loads(l) for l in open(sys.argv[2])]
fixed = [k["samples"] for k in kept if ", fixed " in k["row"]]
assert len(fixed) == 3 * len(splits) and all(k["checked"] == [2 * int(sys.argv[3])] for k in fixed), kept
END
	cp "$log" "$dir/with-oracle"
	check 0 "bench share" --device cpu --of mm,va --low va --rounds "$rounds" --resume "$log" --oracle
	cmp "$log" "$dir/with-oracle" || fail "measured again"
}

# Repeats calls with too little time until everything is measured. Each call must measure something,
# and nothing may be measured twice.
shares_in_parts() {
	log=$dir/log
	# Ten rows: two programs alone, each in two arrangements, and both together in three orders
	# of each arrangement. (With several rounds, in full mode, all arrangements are measured.)
	names="workers greedy" only="--only workers,greedy" all=10
	[ "$rounds" = 1 ] || names="unmanaged workers greedy" only='' all=13
	left=1 calls=0
	while [ "$left" -gt 0 ]; do
		[ "$calls" -lt $all ] || fail "no end after $calls calls"
		calls=$((calls + 1))
		# shellcheck disable=SC2086
		check 0 "bench share" --device cpu --of mm,va --low va --rounds "$rounds" --resume "$log" $only --budget-s 1
		left=$(sed -n 's/.*"left": \([0-9]*\).*/\1/p' "$dir/json")
		[ $(($(wc -l <"$log") + left)) = $all ] || fail "$left left: $(cat "$log")"
	done
	[ "$(sed 's/,"samples".*//' "$log" | sort -u | wc -l)" = $all ] || fail "twice: $(cat "$log")"
	arrivals
	cp "$log" "$dir/whole"
	# shellcheck disable=SC2086
	check 0 "bench share" --device cpu --of mm,va --low va --rounds "$rounds" --resume "$log" $only --svg "$dir/share.svg"
	cmp "$log" "$dir/whole" || fail "measured again"
	shared "$names"
	python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$dir/share.svg"
	[ "$(grep -c '<title>greedy: ' "$dir/share.svg")" = 1 ] || fail "$(cat "$dir/share.svg")"
	check 0 "bench share" --device cpu --of mm,va --low va --rounds "$rounds" --resume "$log" --only greedy
	cmp "$log" "$dir/whole" || fail "measured again"
	python3 -c 'import json, sys; (p,) = json.load(open(sys.argv[1]))["pairs"]
assert [a["name"] for a in p["arrangements"]] == ["sequential", "greedy"], p' "$dir/json"
	check 2 "bench share" --device cpu --of mm,va --only greedy,whole-25
	grep -q "whole-25. is none of the arrangements that the other options allow: unmanaged, workers, greedy" "$dir/json" ||
		fail "$(cat "$dir/json")"
	sed '2s/"options":"[0-9]*/"options":"7/' "$dir/whole" >"$log"
	check 1 "bench share" --device cpu --of mm,va --rounds "$rounds" --resume "$log"
	grep -q "line 2 is of another device" "$dir/json" || fail "$(cat "$dir/json")"
}

# Splits by SM: the first program of a pair gets the first side, even if other options name it
# second. The best result must be one of the splits.
share_split() {
	need_programs
	# (With several rounds, in full mode, all splits are measured.)
	splits=whole-25,whole-50,whole-75,mixed-75
	[ "$rounds" != 1 ] || splits=whole-25,mixed-75
	check 0 "bench share" --device cpu --pairs va+mm --by-sm --only greedy,$splits --rounds "$rounds" --svg "$dir/share.svg"
	python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$dir/share.svg"
	python3 - "$dir/json" "$rounds" "$splits" <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
(pair,) = d["pairs"]
assert (pair["first"], pair["second"]) == ("va", "mm") and d["failures"] == 0, pair
by = {a["name"]: a for a in pair["arrangements"]}
splits = sys.argv[3].split(",")
assert list(by) == ["sequential", "greedy"] + splits, list(by)
for name in splits:
    assert by[name]["checked"] == 6 * int(sys.argv[2]) and by[name]["shrinks"] > 0, by[name]
best = pair["best_split"]
results = [s for s in splits if not by[s]["noise"]] or splits
assert best["name"] == max(results, key=lambda s: by[s]["stp_makespan"]), (best, by)
assert best["stp_makespan"] == by[best["name"]]["stp_makespan"] and best["noise"] == by[best["name"]]["noise"], best
assert best["greedy"] == by["greedy"]["stp_makespan"], best
assert abs(best["over_greedy"] - best["stp_makespan"] / best["greedy"]) < 1e-6, best
END
}

# wrong_share STATUS TEXT ARG...: heddle bench share must fail with this status and text.
wrong_share() {
	status=$1 text=$2
	shift 2
	check "$status" "bench share" --device cpu "$@"
	grep -q -e "$text" "$dir/json" || fail "not $text: $(cat "$dir/json")"
}

share() {
	need_programs
	shares_in_parts
	wrong_share 2 "'xx' is no program; the programs are bo, fd, " --of mm,xx
	wrong_share 2 "'' is no program" --of mm,
	wrong_share 2 "--low: 'm' is no program" --of mm,va --low m
	wrong_share 2 "names mm twice" --of mm,va,mm
	wrong_share 2 "a pair needs two" --of mm
	wrong_share 2 "'mm' is no pair; write the two programs with a plus, such as mm+va" --pairs mm
	wrong_share 2 "'xx' is no program" --pairs mm+xx
	wrong_share 2 "mm with itself" --pairs mm+mm
	wrong_share 2 "names va and mm twice" --pairs mm+va,va+mm
	wrong_share 2 "leave --of out" --pairs mm+va --of mm,va
	wrong_share 2 "leave --store and --predict out" --by-sm --predict
	wrong_share 1 "$dir/none: " --of mm,va --store "$dir/none"
	printf precious >"$dir/other"
	wrong_share 1 "$dir/other: " --of mm,va --store "$dir/other"
}

share_store() {
	need_programs
	# heddled writes its store when it ends.
	"$build/heddled" --config-root /nonexistent --socket "$HEDDLE_SOCKET" --set state="$dir/state" 2>"$dir/log" &
	daemon=$!
	"$heddle" run --device cpu -- "$build/examples/mm" >"$dir/out" 2>&1 || fail "$(cat "$dir/out")"
	kill "$daemon"
	wait "$daemon" || fail "heddled: $(cat "$dir/log")"
	daemon=''
	# (With several rounds, in full mode, all arrangements are measured.)
	names="greedy greedy+profile" only="--only greedy,greedy+profile"
	[ "$rounds" = 1 ] || names="unmanaged workers $names" only=
	# shellcheck disable=SC2086
	check 0 "bench share" --device cpu --of mm,va --low va --rounds "$rounds" $only --store "$dir/state/heddled.db"
	shared "$names"
	python3 - "$dir/json" <<'END'
import json, sys

d = json.load(open(sys.argv[1]))
mm, va = d["curves"]
assert (mm["program"], va["program"], va["curve"]) == ("mm", "va", []), d["curves"]
# mm was launched once. It had as many blocks on an SM as fit, and perhaps fewer when it ended.
assert mm["curve"][-1]["of_most"] == 1 and all(c["block_ns"] > 0 for c in mm["curve"]), mm
END
}

share_predict() {
	need_programs
	if ! "$build/heddled" --check-config --config-root /nonexistent --policy greedy \
		--set policy_options=pairs=unknown >"$dir/out" 2>&1; then
		check 0 "bench share" --device cpu --of mm,va --low va --rounds "$rounds" --predict
		shared "unmanaged workers greedy greedy+predict"
	else
		wrong_share 1 "greedy of this heddled has no option pairs" --of mm,va --predict
	fi
}

# refused TEXT: the command must fail with this text.
refused() {
	# shellcheck disable=SC2086
	! "$heddle" bench preempt $part >"$dir/out" 2>"$dir/err" || fail "accepted: $1"
	grep -q "$1" "$dir/err" || fail "not $1: $(cat "$dir/err")"
}

bench() {
	need_programs
	# Read the machine's load before the bench adds its own.
	load=$(python3 -c 'import os; print("quiet" if os.getloadavg()[0] <= 2 * os.cpu_count() else "busy")')
	echo "the machine is $load"
	check 0 "bench preempt" --device cpu --quick --rounds 1
	coruns
	! grep '"wrong": [1-9]' "$dir/json" || fail "wrong results"
	grep -q '"failures": 0' "$dir/json" || fail "failures"
	shares
	predicted
	sliced
	resumes
	in_parts 2 "bench preempt" --device cpu --quick --rounds 1 --part predict
	in_parts 14 "bench preempt" --device cpu --quick --rounds 1 --part slicing
	in_parts 16 "bench preempt" --device cpu --quick --rounds 1 --part spatial
}

"$what"
told_all
