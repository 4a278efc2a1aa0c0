#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Pretends failures, to test the reporting: each is reported with its seed, later programs still
# run, and the first failing program is shrunk as far as possible. Failures of the plain form are
# reported as such.
#   smaller.sh GEN
set -eu
gen=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

fail() {
	echo "FAIL: $*"
	cat "$work/said"
	exit 1
}

# pretend VERDICT WHAT COUNT TRIES: runs COUNT programs. Each program that contains "popc.b32" must
# have this verdict, and the others must have run.
pretend() {
	want=$("$gen" --print --count "$3" | awk '/entry/ { n++ } /popc.b32/ { k[n] = 1 }
		END { print length(k) }')
	[ "$want" -gt 0 ] || fail "none of $3 programs holds it"
	if "$gen" --count "$3" --pretend "$2:popc.b32" --limit 2 --shrink "$4" --keep "$work" --judge \
		>"$work/said"; then
		[ "$2" = native ] || fail "$2 went unnoticed"
	else
		[ "$2" != native ] || fail "what is wrong natively counts"
	fi
	grep -q " $want $1," "$work/said" || fail "not $want times $1"
	! grep -q 'not run' "$work/said" || fail "programs were left out"
}

pretend HANGS hangs 20 0
pretend 'wrong natively' native 30 0
pretend DIFFERS differs 30 200
file=$(sed -n 's/.*smaller after.*: //p' "$work/said")
grep -q popc.b32 "$file" || fail "what made it fail is gone"
sed '1,/mov.u32 %acc/d; /st.global.u32 \[%own\]/,$d' "$file" >"$work/body"
[ "$(wc -l <"$work/body")" -le 8 ] || fail "not small: $(cat "$work/body")"
grep -q 'grid 1,1,1 --block 1,1,1' "$file" || fail "not small in shape"
