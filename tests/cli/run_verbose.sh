#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: run_verbose.sh BUILD BESIDE_SHIM
# Tests the reports of heddle run: with -v, how many launches were managed and why others were not,
# however the program ends; programs into which the shim cannot be loaded; a priority that is not
# granted. Runs on the virtual GPU.
set -eu
build=$1
beside_shim=$2
for part in heddled examples/cfd examples/mm src/shim/libcuda.so.1 src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
export HEDDLE_VGPU="watched-$$"
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

# field NAME FILE: prints a field of the JSON report that follows the program's own output.
field() {
	[ -e "$2.fields" ] || sed -n '/^{/,/^}/p' "$2" | python3 -c '
import json, sys
tenants = json.load(sys.stdin)["tenants"]
print("tenants", len(tenants))
for key, value in tenants[0].items():
    print(key, value)' >"$2.fields"
	sed -n "s/^$1 //p" "$2.fields"
}
watch() { # NAME OPTION...
	name=$1
	shift
	"$heddle" run -v --json --device cpu "$@" >"$dir/$name.out" 2>"$dir/$name.err"
}

start_daemon --policy hpf
export TMPDIR="$dir/t"
mkdir "$TMPDIR"
# heddled's log must have the same numbers as the report.
agrees() { # NAME: of a program that ran once under watch; sets launches to the sum over all kinds
	launches=0
	for fate in managed guard gated plain opaque unseen; do
		launches=$((launches + $(field $fate "$dir/$1.err")))
	done
	pid=$(field pid "$dir/$1.err")
	await 60 grep -q "leaves: .*, pid $pid: $launches launch[es]*, " "$dir/daemon.log" ||
		fail "$1: $launches launches; heddled: $(grep "leaves: .* $pid:" "$dir/daemon.log")"
}

# A long low-priority program is preempted by a short high-priority one. The report includes both
# launches and preemptions.
preempted() {
	watch low -p low -- "$examples/cfd" --size large --scale 0.3 --until "$dir/low.end" &
	low=$!
	await 60 grep -q "correct" "$dir/low.out" || fail "the low program does not begin"
	watch high -p high -- "$examples/mm" --size small --until "$dir/high.end" &
	high=$!
	await 60 has_event preempt || fail "nothing is preempted"
	await 60 grep -q "mm small 2: .*correct" "$dir/high.out" || fail "the high program does not go on"
	: >"$dir/high.end"
	wait "$high" || fail "the high program: $?"
	: >"$dir/low.end"
	wait "$low" || fail "the low program: $?"
	for name in low high; do
		[ "$(field tenants "$dir/$name.err")" = 1 ] || fail "$name: $(cat "$dir/$name.err")"
		[ "$(field priority "$dir/$name.err")" = $name ] || fail "$name: priority"
		[ "$(field ended "$dir/$name.err")" = True ] || fail "$name: its end was not noticed"
		[ "$(field opaque "$dir/$name.err")" = 0 ] || fail "$name: $(cat "$dir/$name.err")"
		[ "$(field unseen "$dir/$name.err")" = 0 ] || fail "$name: $(cat "$dir/$name.err")"
		[ "$(field spanned_ns "$dir/$name.err")" -gt 0 ] || fail "$name: took no time"
		[ "$(field managed "$dir/$name.err")" = "$(grep -c ' [0-9]*: .*correct' "$dir/$name.out")" ] ||
			fail "$name: $(cat "$dir/$name.out" "$dir/$name.err")"
	done
	[ "$(field preemptions "$dir/low.err")" -gt 0 ] || fail "low was not preempted: $(cat "$dir/low.err")"
	[ "$(field waited_ns "$dir/low.err")" -gt 0 ] || fail "low lost no time: $(cat "$dir/low.err")"
	agrees low
	agrees high
}

# Kernels loaded without the shim are counted separately.
past() {
	cat >"$dir/k.ptx" <<'END'
.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	st.global.u64 [%rd1], %rd1;
	ret;
}
END
	watch past -- "$beside_shim" "$dir/k.ptx" k || fail "past: $(cat "$dir/past.err")"
	[ "$(field unseen "$dir/past.err")" = 3 ] || fail "past: $(cat "$dir/past.err")"
	[ "$(field opaque "$dir/past.err")" = 0 ] || fail "past: $(cat "$dir/past.err")"
	agrees past
}

# heddle run exits with the program's status and always prints its report.
ends_so() {
	status=0
	watch killed -- sh -c '"$0" --size small >&2; kill -9 $$' "$examples/mm" || status=$?
	[ "$status" = 137 ] || fail "killed: status $status"
	[ "$(field managed "$dir/killed.err")" = 1 ] || fail "killed: $(cat "$dir/killed.err")"
	status=0
	watch seven -- sh -c 'exit 7' || status=$?
	[ "$status" = 7 ] || fail "status $status, not 7"
	status=0
	watch nowhere -- "$dir/nowhere" || status=$?
	[ "$status" = 127 ] || fail "status $status, not 127"
	# heddle forwards signals to the program.
	"$heddle" run -v --device cpu -- sh -c 'trap "exit 9" TERM; echo ready; for _ in $(seq 600); do sleep 0.1; done' \
		>"$dir/told.out" 2>"$dir/told.err" &
	sent=$!
	await 60 grep -q ready "$dir/told.out" || fail "sh does not begin"
	kill -TERM "$sent"
	status=0
	wait "$sent" || status=$?
	[ "$status" = 9 ] || fail "a signal was not passed on: status $status"
	"$heddle" run -v --device cpu -- "$examples/mm" --size small >"$dir/text.out" 2>"$dir/text.err"
	grep -q '^  launches   1: 1 managed$' "$dir/text.err" || fail "as text: $(cat "$dir/text.err")"
}

# If heddle can find out why a program is not a tenant, the report says it.
no_tenant() { # CASE WHY PROGRAM...: CASE is the base name of the output files
	case=$1 why=$2
	shift 2
	"$heddle" run -v --device cpu -- "$@" >"$dir/$case.out" 2>"$dir/$case.err" || fail "$*: status $?"
	grep -q "^heddle run: $1 did not become a tenant: .*$why" "$dir/$case.err" || fail "$*: $(cat "$dir/$case.err")"
}
# heddle checks the program at least once per second.
cleared() {
	no_tenant cleared 'environment was cleared' env -i sleep 1.5
}
no_launch() {
	no_tenant no_call 'no driver call' sh -c :
	no_tenant no_launch 'launched no kernel$' python3 -c 'import ctypes; ctypes.CDLL("libcuda.so.1").cuInit(0)'
	HEDDLE_SOCKET=$dir/nothing no_tenant no_heddled 'heddled does not run' "$examples/mm" --size trivial
	watch why -- sh -c :
	sed -n '/^{/,/^}/p' "$dir/why.err" | grep -q '"why": "no driver call' || fail "as JSON: $(cat "$dir/why.err")"
}
own_driver() {
	mkdir "$dir/own-driver"
	cp "$build/src/dev/cpu/libcuda.so.1" "$dir/own-driver"
	no_tenant own_driver "it loaded $dir/own-driver/libcuda.so.1 in place" python3 -c \
		'import ctypes, sys, time; ctypes.CDLL(sys.argv[1]); time.sleep(1.5)' "$dir/own-driver/libcuda.so.1"
}
is_full() {
	no_tenant full 'heddled refused this program: too many tenants: max_tenants .* the limit$' "$examples/mm" --size trivial
}

# Programs into which the shim cannot be loaded.
reach() { # WORD OPTION...: linker options; WORD: expected in the warning, or "none" for no warning
	word=$1
	shift
	cc "$dir/main.c" -o "$dir/main" "$@" 2>/dev/null || {
		echo "not linked here: $*"
		return
	}
	status=0
	"$heddle" run --device cpu -- "$dir/main" 2>"$dir/main.err" || status=$?
	[ "$status" = 3 ] || fail "$*: status $status"
	if [ "$word" = none ]; then
		[ ! -s "$dir/main.err" ] || fail "$*: $(cat "$dir/main.err")"
	else
		[ "$(wc -l <"$dir/main.err")" = 1 ] || fail "$*: $(cat "$dir/main.err")"
		grep -q "runs without heddle: .*$word" "$dir/main.err" || fail "$*: $(cat "$dir/main.err")"
	fi
}
cannot_be_reached() {
	echo 'int main(void) { return 3; }' >"$dir/main.c"
	command -v cc >/dev/null || return 0
	reach none -O0
	reach statically -static
	reach statically -static-pie
	: >"$dir/libcuda.so.1"
	reach RPATH -Wl,--disable-new-dtags,-rpath,"\$ORIGIN"
	reach none -Wl,--enable-new-dtags,-rpath,"\$ORIGIN"
	reach none -Wl,--disable-new-dtags,-rpath,/nonexistent
	rm "$dir/libcuda.so.1"
	reach none -O0
	# One of the program's libraries has an RPATH that leads to another libcuda.so.1. In the
	# first cases this library is the first object that needs the driver.
	mkdir "$dir/own"
	cc -shared -fPIC -Wl,-soname,libcuda.so.1 -x c /dev/null -o "$dir/own/libcuda.so.1"
	with_library() { # C-TEXT OPTION...: builds libmine.so with these linker options
		echo "$1" >"$dir/mine.c"
		shift
		cc -shared -fPIC "$dir/mine.c" -o "$dir/libmine.so" -Wl,--no-as-needed "$@"
	}
	mine="-Wl,--no-as-needed,--enable-new-dtags,-rpath,$dir $dir/libmine.so"
	rpath=-Wl,--disable-new-dtags,-rpath,\$ORIGIN/own
	runpath=-Wl,--enable-new-dtags,-rpath,\$ORIGIN/own
	driver=$dir/own/libcuda.so.1
	with_library 'int mine;' "$rpath" "$driver"
	# shellcheck disable=SC2086
	reach "libmine.so's RPATH leads to $driver" $mine
	with_library 'int mine;' "$runpath" "$driver"
	# shellcheck disable=SC2086
	reach none $mine
	with_library 'int mine;' "$rpath"
	# shellcheck disable=SC2086
	reach none $mine
	with_library 'const char *driver(void) { return "libcuda.so.1"; }' "$rpath"
	# shellcheck disable=SC2086
	reach "libmine.so's RPATH leads to $driver" $mine
	# Here the program itself needs the driver, and before the library does.
	with_library 'int mine;' "$rpath" "$driver"
	# shellcheck disable=SC2086
	reach none -Wl,--no-as-needed "$driver" $mine
	# libdeep.so is needed only by libmine.so, so the loader finds it by libmine.so's RPATH.
	# libdeep.so's RPATH leads to the driver.
	cc -shared -fPIC "$dir/mine.c" -o "$dir/own/libdeep.so" -Wl,--no-as-needed "$driver"
	with_library 'int mine;' "$rpath" "$dir/own/libdeep.so" -Wl,-rpath-link,"$dir/own"
	# shellcheck disable=SC2086
	reach "libmine.so's RPATH leads to $driver" $mine
	printf '#!%s/main\n' "$dir" >"$dir/script"
	chmod +x "$dir/script"
	cc -static "$dir/main.c" -o "$dir/main" && {
		"$heddle" run --device cpu -- "$dir/script" 2>"$dir/main.err" || :
		grep -q 'script runs without heddle' "$dir/main.err" || fail "script: $(cat "$dir/main.err")"
	}
}

# The default policy does not support weights.
no_weights() {
	"$heddle" run -w 3 --device cpu -- true 2>"$dir/weight.err" || fail "-w 3: $?"
	[ "$(cat "$dir/weight.err")" = \
		"heddle run: warning: heddled's policy hpf ignores weights: heddled --policy ffs uses them" ] ||
		fail "a weight without effect: $(cat "$dir/weight.err")"
}

as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
# Cases that need a second user.
other_user() {
	if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
		echo "not root: rights and setuid were not looked at"
		return 0
	fi

	chmod 755 "$dir"
	chmod 666 "$HEDDLE_SOCKET"
	as_nobody test -x "$heddle" || {
		echo "nobody may not enter the build: rights and setuid were not looked at"
		return 0
	}
	as_nobody "$heddle" run -p high --device cpu -- true 2>"$dir/rights.err" || fail "nobody: $?"
	[ "$(cat "$dir/rights.err")" = \
		"heddle run: warning: heddled does not grant this user priority high, but normal" ] ||
		fail "not granted: $(cat "$dir/rights.err")"
	as_nobody "$heddle" run -w 5 --device cpu -- true 2>"$dir/rights.err" || fail "nobody: $?"
	grep -q 'weight 5, but 1$' "$dir/rights.err" || fail "not granted: $(cat "$dir/rights.err")"
	as_nobody "$heddle" run -p low --device cpu -- true 2>"$dir/rights.err" || fail "nobody: $?"
	[ ! -s "$dir/rights.err" ] || fail "granted: $(cat "$dir/rights.err")"
	chmod 600 "$HEDDLE_SOCKET"
	as_nobody env HOME=/nonexistent TMPDIR=/tmp "$heddle" run -v --device cpu -- "$examples/mm" --size trivial \
		>"$dir/rights.out" 2>"$dir/rights.err" || fail "nobody: $?"
	[ "$(grep -c 'heddled.s own user, and the members of that group' "$dir/rights.err")" = 2 ] ||
		fail "why nobody may not is not said: $(cat "$dir/rights.err")"
	chmod 666 "$HEDDLE_SOCKET"
	cp "$(command -v env)" "$dir/setuid"
	chmod u+s "$dir/setuid"
	as_nobody "$heddle" run --device cpu -- "$dir/setuid" true 2>"$dir/setuid.err" || fail "setuid: $?"
	grep -q 'setuid' "$dir/setuid.err" || fail "setuid: $(cat "$dir/setuid.err")"
}

# The cases mostly wait, so they run in parallel, each in a subshell.
mkdir -p "$dir/full/etc/heddle"
printf '[heddled]\nmax_tenants = 0\n' >"$dir/full/etc/heddle/heddled.conf"
"$heddled" --config-root "$dir/full" --socket "$dir/full/sock" 2>"$dir/full.log" &
pids="$pids $!"
HEDDLE_SOCKET=$dir/full/sock await 60 "$heddle" status >"$dir/full.status" || fail "the second heddled does not come up"
told=yes
cases=
for case in preempted past ends_so cleared no_launch own_driver is_full cannot_be_reached; do
	(
		[ $case != is_full ] || export HEDDLE_SOCKET="$dir/full/sock"
		$case
	) &
	cases="$cases $case=$!"
	pids="$pids $!"
done
for case in $cases; do
	wait "${case#*=}" || fail "case ${case%=*}, see above"
done
rmdir "$TMPDIR" || fail "something is left of a report"
no_weights
other_user
