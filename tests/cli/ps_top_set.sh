#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: ps_top_set.sh BUILD
# Tests ps, top and set beside running programs. The times shown are those of the launch, however
# late the first query comes. Unknown values are dashes. A changed priority takes effect at once.
# The log has a line for each program that joins or leaves.
set -eu
build=$1
for part in bench/where src/shim/libcuda.so.1 src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
# One worker thread is enough: the programs only need to stay running.
export HEDDLE_VGPU="listed-$$,workers=1"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

ask() { # PYTHON: prints an expression over the list of tenants t
	"$heddle" ps --json | python3 -c "import json, sys; t = json.load(sys.stdin)['tenants']; print($1)"
}
comes_to() { # PYTHON: fails unless the expression becomes true within 60 s
	python3 -c "import json, subprocess, sys, time
for _ in range(600):
    t = json.loads(subprocess.run([sys.argv[1], 'ps', '--json'], stdout=subprocess.PIPE).stdout)['tenants']
    if $1:
        sys.exit(0)
    time.sleep(0.1)
sys.exit(1)" "$heddle" 2>/dev/null
}
# looks_at_one: checks the output about the only program once it has run for at least a quarter of
# its life. Exits with status 2 if it has not run for so long yet.
looks_at_one() {
	python3 - "$heddle" "$(id -un)" <<'END'
import fcntl, json, os, pty, struct, subprocess, sys, termios

heddle, user = sys.argv[1:]

def says(*args):
    return subprocess.run([heddle, *args], stdout=subprocess.PIPE, check=True).stdout.decode()

def on_terminal(columns, *args):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(heddle, [heddle, *args])
    said = ""
    try:
        while text := os.read(fd, 65536):
            said += text.decode().replace("\r", "")
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said
    return said.splitlines()

tenants = json.loads(says("ps", "--json"))["tenants"]
if not tenants or not tenants[0]["launches"] or not tenants[0]["launches"][0]["finished"]:
    sys.exit(2)
(t,) = tenants
age, (ran, finished, left, blocks) = t["age_ns"], [
    t["launches"][0][key] for key in ("ran_ns", "finished", "remaining_ns", "blocks")]
print(f"age {age}, ran {ran}, finished {finished}, left {left}, blocks {blocks}")
if ran <= age / 4:
    sys.exit(2)
assert 0 < ran <= age, "ran longer than it is there"
rate = ran / finished
assert 0.5 < left / (rate * (blocks - finished)) < 2, "what is left does not follow from what is done"
assert (t["user"], t["priority"]) == (user, "normal"), t
assert (t["device_name"], t["managed"]) == ("heddle virtual GPU", 1), t
try:
    os.openpty()
    has_terminals = True
except OSError:
    has_terminals = False
    print("no pseudo-terminals: widths and keys are not tried")
if has_terminals:
    for columns in 40, 80:
        lines = on_terminal(columns, "ps")
        assert any(l.startswith("on heddle virtual GPU") for l in lines), lines
        assert any(l.startswith("(not shown: ") for l in lines), ("ps does not say what is missing", lines)
    assert any(l.startswith("TENANT ") and " PREEMPTED " in l for l in lines), ("ps at 80 columns", lines)
    assert "where" in says("ps") and "TENANT" in "".join(on_terminal(40, "ps"))
    # In a list longer than the screen, down and End reach the last line; h lists the keys.
    for key in (b"jjjjj", b"\x1bOB" * 5, b"\x1bOF"):
        pid, fd = pty.fork()
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 4, 60, 0, 0))
            os.environ["TERM"] = "xterm"
            os.execv(heddle, [heddle, "top", "--every-ms", "600000"])
        said = ""
        for wanted, then in (("lines: up, down", key), ("json", b"h"), ("update at once", b"xq")):
            while wanted not in said:
                said += os.read(fd, 65536).decode()
            os.write(fd, then)
        try:
            while os.read(fd, 65536):
                pass
        except OSError:
            pass
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said
top = says("top", "--once")
assert top.startswith("heddled ") and " 1 tenant," in top.splitlines()[0], top
json.loads(says("top", "--json"))
END
}
long() { # NAME PRIORITY
	"$heddle" run --device cpu -p "$2" -- "$build/bench/where" --out "$dir/$1.where" --blocks 2000000 --loops 3000 \
		>"$dir/$1.out" 2>"$dir/$1.err" &
	started=$!
	pids="$pids $started"
}

start_daemon --policy hpf
# The first query about a tenant comes when it has run for most of its life so far. On a busy
# machine its kernel's form may take long to compile. Then the program is restarted and queried
# later.
for nap in 0.5 2 8 32; do
	long alone normal
	sleep $nap
	status=0
	looks_at_one || status=$?
	[ "$status" = 2 ] || break
	kill -9 "$started"
	comes_to 'not t' || fail "a tenant that was killed stays"
done
[ "$status" = 0 ] || fail "a launch that was looked at late: see above"

# A low-priority program beside it waits. When its priority is raised, the two change roles.
long other low
comes_to "len(t) == 2" || fail "the other is no tenant"
ask "*[x['tenant'] for p in ('normal', 'low') for x in t if x['priority'] == p]" >"$dir/both"
read -r first other <"$dir/both"
of() { # TENANT KEY
	echo "[x for x in t if x['tenant'] == $1][0]['$2']"
}
comes_to "$(of "$other" state) in ('held', 'queued')" || fail "the other does not wait: $(ask t)"
"$heddle" set "$other" -p high || fail "set"
comes_to "$(of "$first" state) == 'preempted' and $(of "$other" state) == 'running'" ||
	fail "it counts for nothing: $(ask t)"
[ "$(ask "$(of "$other" priority)")" = high ] || fail "priority: $(ask t)"
"$heddle" set 999 -p low --json >"$dir/set.json" || :
grep -q '"error": "no tenant 999"' "$dir/set.json" || fail "set: another's number"
status=0
"$heddle" set "$other" -p urgent 2>/dev/null || status=$?
[ $status = 2 ] || fail "set -p urgent: $status"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$dir"
	chmod 666 "$HEDDLE_SOCKET"
	if setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$heddle"; then
		status=0
		setpriv --reuid=65534 --regid=65534 --clear-groups "$heddle" set "$other" -p low \
			2>"$dir/set.err" || status=$?
		[ $status = 1 ] || fail "set by another user: $status"
		grep -q 'not for this user to give' "$dir/set.err" || fail "set: $(cat "$dir/set.err")"
	fi
fi

# shellcheck disable=SC2086
kill -9 $pids 2>/dev/null || :
comes_to 'not t' || fail "tenants that were killed stay"
grep -q "^heddled: tenant $other joins: where, pid [0-9]*, uid $(id -u), priority low" "$dir/daemon.log" ||
	fail "no line for who joins"
grep -q "^heddled: tenant $other: where, pid [0-9]*: priority high, was low" "$dir/daemon.log" || fail "nor set"
grep -q "^heddled: tenant $other leaves: where" "$dir/daemon.log" || fail "no line for who leaves"
grep -q "^heddled: warning: refused pid .*: no such tenant" "$dir/daemon.log" || fail "nor is refused"
told=yes
