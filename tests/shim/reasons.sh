#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: reasons.sh
# Tests the page's counts of reasons why launches are not managed (src/wire/reasons.def), with
# programs that make launches of known kinds: each launch counts once, for its own reason.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export HEDDLE_FORM_WAIT_MS=60000

# counts MODE ARG...: runs the program, whose output must be the same as without heddle. Sets $line
# to its numbers of launches by reason.
counts() {
	start "$1"
	shift
	same "$@"
	stop
	said=$(sed -n 's/^outcomes: \([0-9]*\) launches$/\1/p' "$dir/err")
	line=$(grep '^launched ' "$dir/daemon")
	echo "$*: $line"
	[ -z "$said" ] || [ "${line%%:*}" = "launched $said" ] || fail "it made $said launches"
	line=$(echo "${line#*: }" | tr ',' '\n' | sed 's/^ *//' | LC_ALL=C sort -k 2 | tr '\n' ',')
}

is() { # COUNT REASON...: exactly these counts are present
	want=
	while [ $# -gt 0 ]; do
		want="$want$1 $2
"
		shift 2
	done
	want=$(printf %s "$want" | LC_ALL=C sort -k 2 | tr '\n' ',')
	[ "$line" = "$want" ] || fail "not $want"
}

one_each='1 cooperative 1 attributes 1 captured 1 graph 1 shape 1 parameters 1 no_room 1 unknown 1 starts_whole 1 context'
counts watch outcomes 2 24 30
# shellcheck disable=SC2086
is 3 workers 2 guard_form 2 not_rewritten 2 dimensions $one_each
counts watch outcomes 5 24 30
# shellcheck disable=SC2086
is 6 workers 5 guard_form 5 not_rewritten 5 dimensions $one_each
# On a device with a single SM, one of the largest blocks fits.
device=$HEDDLE_VGPU
export HEDDLE_VGPU="$device-1,sms=1"
counts watch outcomes 2 24 30
# shellcheck disable=SC2086
is 2 workers 2 guard_form 2 not_rewritten 2 dimensions 1 few_places $one_each
export HEDDLE_VGPU="$device"
# After one measurement, launches count as too short. The other counts stay as they were.
export FAKE_MIN_NS=1000000000
counts watch outcomes 30 24 30
short=$(echo "$line" | tr ',' '\n' | sed -n 's/ short$//p')
[ "${short:-0}" -ge 20 ] || fail "of 30 short launches ${short:-0} were too short"
unset FAKE_MIN_NS
counts gate waits 100 8 1500
is 200 one_wave
export PROG_STREAMS=5
counts watch many 4 24 30
echo "$line" | grep -q '^[0-9]* channel,[0-9]* workers,$' || fail "streams without channels, and with"
unset PROG_STREAMS
# The program starts unmanaged, and its form becomes ready while it runs.
export HEDDLE_FORM_WAIT_MS=0
rm -rf "$dir/cache"
counts watch chain 100 24 30
echo "$line" | grep -q '^[0-9]* form_in_making,\([0-9]* workers,\)\{0,1\}$' || fail "forms in the making"
