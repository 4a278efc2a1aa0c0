#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: policies.sh BUILD-FOLDER
# Each kind of bad policy must lead to one line that names the policy and the error. Files that
# cannot be loaded are tested with heddled and heddle sim; policies that end the process only with
# heddle sim (tests/daemon/test_policies.c tests these with heddled).
set -eu
build=$1
so=$build/tests/sched
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
umask 022
failed=0

cat >"$dir/trace" <<'END'
device sms=4
at 0ms join A
at 1ms launch A k blocks=80 wps=2 block=100us
END

# expect NAME TEXT STATUS OUTPUT: the command must fail with exactly one line, which contains TEXT.
expect() {
	if [ "$3" = 0 ] || [ "$(grep -c ^heddle "$4")" != 1 ] || ! grep -qF -- "$2" "$4"; then
		echo "$1: status $3, and not one line with '$2':"
		cat "$4"
		failed=1
	fi
}

# refused FILE TEXT
refused() {
	status=0
	timeout 20 "$build/heddle" sim --policy "$1" "$dir/trace" >"$dir/out" 2>&1 || status=$?
	expect "sim $1" "$2" "$status" "$dir/out"
	status=0
	timeout 20 "$build/heddled" --config-root "$dir" --socket "$dir/s" --policy "$1" --log error \
		>"$dir/out" 2>&1 || status=$?
	expect "heddled $1" "$2" "$status" "$dir/out"
	if [ -e "$dir/s.policy" ]; then
		echo "$1: heddled left its note"
		failed=1
	fi
}

# with NAME OFFSET BYTES: writes a copy of the object with these bytes (printf escapes) at the
# offset.
with() {
	cp "$so/policy_bad.so" "$dir/$1.so"
	printf '%b' "$3" | dd of="$dir/$1.so" bs=1 seek="$2" conv=notrunc 2>/dev/null
	chmod 755 "$dir/$1.so"
}

bytes=$(wc -c <"$so/policy_bad.so")
for n in 0 3 17 63 64 100 1000 $((bytes / 8)) $((bytes / 4)) $((bytes / 2)) $((bytes - 1)); do
	head -c "$n" "$so/policy_bad.so" >"$dir/cut$n.so"
	refused "$dir/cut$n.so" "cut$n.so: it cannot be loaded: it is "
done
with arm 18 '\0267\0000'
with i386 4 '\0001'
with riscv 18 '\0363\0000'
case $(uname -m) in
x86_64) refused "$dir/arm.so" 'it is built for AArch64' ;;
esac
refused "$dir/i386.so" 'it is built for'
refused "$dir/riscv.so" 'it is built for RISC-V'
with object 16 '\0001'
refused "$dir/object.so" 'it is no shared object'
echo 'int main;' >"$dir/text.so"
refused "$dir/text.so" 'it is no shared object'
cp "$so/policy_abi.so" "$so/policy_size.so" "$so/policy_entry.so" "$so/policy_missing.so" "$dir/"
refused "$dir/policy_abi.so" 'made for ABI 77'
refused "$dir/policy_size.so" 'its table has 16 bytes'
refused "$dir/policy_entry.so" 'it exports no heddle_policy()'
refused "$dir/policy_missing.so" 'undefined symbol: bad_nowhere'
refused "$dir/none.so" 'No such file'
refused "$dir" 'not a regular file'

cp "$so/policy_bad.so" "$dir/bad.so"
# ends OPTIONS TEXT: with these options the policy crashes, exits or hangs. heddle sim must end with
# an error that begins with TEXT.
ends() {
	status=0
	timeout 20 "$build/heddle" sim --policy "$dir/bad.so" --policy-options "$1" "$dir/trace" \
		>"$dir/out" 2>&1 || status=$?
	expect "sim with $1" "heddle sim: error: policy bad: $2" "$status" "$dir/out"
}
ends crash 'decide has crashed: segmentation fault, at 1.000 ms of the trace'
ends abort 'decide has aborted, at 1.000 ms of the trace'
ends overflow 'decide has crashed: segmentation fault, at 1.000 ms'
ends exit 'decide has called exit, at 1.000 ms'
ends _exit 'decide has called _exit, at 1.000 ms'
ends _Exit 'decide has called _exit, at 1.000 ms'
ends quick_exit 'decide has called exit, at 1.000 ms'
ends hang 'decide has not returned for a second, at 1.000 ms of the trace'
for way in 'crash/has crashed' 'exit/has called exit' '_exit/has called _exit'; do
	ends "create=${way%/*}" "create ${way#*/}"
	status=0
	BAD_LOAD=${way%/*} timeout 20 "$build/heddle" sim --policy "$dir/bad.so" "$dir/trace" \
		>"$dir/out" 2>&1 || status=$?
	expect "sim, loading ${way%/*}" "policy bad.so: loading it ${way#*/}" "$status" "$dir/out"
done
ends create=hang 'create has not returned for a second'
exit "$failed"
