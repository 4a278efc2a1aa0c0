#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: ps_top_set.sh BUILD
# ps, top and set beside programs that run: times are the launch's own, however late the first look is;
# what nobody knows is a dash; a priority that is changed counts at once; the log has a line for
# each program that joins or leaves.
set -eu
build=$1
for part in bench/where src/shim/libcuda.so.1 src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
export HEDDLE_VGPU="listed-$$"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

ask() { # PYTHON: of the list of tenants t
	"$heddle" ps --json | python3 -c "import json, sys; t = json.load(sys.stdin)['tenants']; print($1)"
}
says() { # PYTHON: it is true
	[ "$(ask "$1")" = True ]
}
on_terminal() { # COLUMNS COMMAND…: what it writes on a terminal of this width
	python3 -c 'import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
try:
    while text := os.read(fd, 65536):
        sys.stdout.write(text.decode().replace("\r", ""))
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$@"
}
long() { # NAME PRIORITY
	"$heddle" run --device cpu -p "$2" -- "$build/bench/where" --out "$dir/$1.where" --blocks 2000000 --loops 3000 \
		>"$dir/$1.out" 2>"$dir/$1.err" &
	started=$!
	pids="$pids $started"
}

start_daemon --policy hpf
# Alone, nobody watches it. The first look comes when it has run for most of its life: on a busy machine
# its kernel's form may take long, and then it is started anew and looked at later.
for nap in 0.5 2 8 32; do
	long alone normal
	sleep $nap
	seen=$(ask "(t[0]['age_ns'], t[0]['launches'][0]['ran_ns'], t[0]['launches'][0]['finished'],
		t[0]['launches'][0]['remaining_ns'], t[0]['launches'][0]['blocks'])
		if t and t[0]['launches'] and t[0]['launches'][0]['finished'] else ''")
	if [ -n "$seen" ] && python3 -c "age, ran, *_ = $seen; exit(ran <= age / 4)"; then
		break
	fi
	kill -9 "$started"
	await 60 says 'not t' || fail "a tenant that was killed stays"
done
echo "age, ran, finished, left, blocks: $seen"
python3 -c "
age, ran, finished, left, blocks = $seen
assert 0 < ran <= age, 'ran longer than it is there'
assert ran > age / 4, 'most of what it ran was not seen'
rate = ran / finished
assert 0.5 < left / (rate * (blocks - finished)) < 2, 'what is left does not follow from what is done'
" || fail "times of a launch that was looked at late"
says "t[0]['user'] == '$(id -un)' and t[0]['priority'] == 'normal'" || fail "user, priority: $(ask t)"
says "t[0]['device_name'] == 'heddle virtual GPU' and t[0]['managed'] == 1" || fail "device: $(ask t)"
for columns in 40 80; do
	on_terminal "$columns" "$heddle" ps >"$dir/ps"
	grep -q '^on heddle virtual GPU' "$dir/ps" || fail "ps: $(cat "$dir/ps")"
	grep -q '^(not shown: ' "$dir/ps" || fail "ps does not say what is missing: $(cat "$dir/ps")"
done
grep -q '^TENANT .* PREEMPTED ' "$dir/ps" || fail "ps at 80 columns: $(cat "$dir/ps")"
"$heddle" top --once | grep -q '^heddled .* 1 tenant,' || fail "top: $("$heddle" top --once)"
"$heddle" top --json | python3 -m json.tool >/dev/null || fail "top --json"

# One of low priority beside it waits. It is set above, and they change places.
long other low
await 60 says "len(t) == 2" || fail "the other is no tenant"
first=$(ask "[x['tenant'] for x in t if x['priority'] == 'normal'][0]")
other=$(ask "[x['tenant'] for x in t if x['priority'] == 'low'][0]")
of() { # TENANT KEY
	echo "[x for x in t if x['tenant'] == $1][0]['$2']"
}
await 60 says "$(of "$other" state) in ('held', 'queued')" || fail "the other does not wait: $(ask t)"
"$heddle" set "$other" -p high || fail "set"
await 60 says "$(of "$first" state) == 'preempted' and $(of "$other" state) == 'running'" ||
	fail "it counts for nothing: $(ask t)"
says "$(of "$other" priority) == 'high'" || fail "priority: $(ask t)"
[ "$("$heddle" set 999 -p low --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["errors"][0]["error"])')" = "no tenant 999" ] || fail "set: another's number"
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
await 60 says 'not t' || fail "tenants that were killed stay"
grep -q "^heddled: tenant $other joins: where, pid [0-9]*, uid $(id -u), priority low" "$dir/daemon.log" ||
	fail "no line for who joins"
grep -q "^heddled: tenant $other: where, pid [0-9]*: priority high, was low" "$dir/daemon.log" || fail "nor set"
grep -q "^heddled: tenant $other leaves: where" "$dir/daemon.log" || fail "no line for who leaves"
grep -q "^heddled: warning: refused pid .*: no such tenant" "$dir/daemon.log" || fail "nor is refused"
told=yes
