#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Kernels with module variables: their forms are cached, and work in a start with other addresses of
# the variables. A form whose variables no longer exist is made anew.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

forms() { # lists the cached forms with inode numbers: a form made anew has another inode
	(cd "$dir/cache/heddle" && grep -l hd_vars -- * | xargs ls -i)
}

# forge FILE SCRIPT: edits the file after its header with sed, and corrects the digest
forge() {
	tail -c +49 "$1" | LC_ALL=C sed "$2" >"$dir/body"
	[ "$(($(wc -c <"$dir/body") + 48))" -eq "$(wc -c <"$1")" ] || fail "the length is another"
	{
		head -c 16 "$1"
		for byte in $(sha256sum <"$dir/body" | cut -c -64 | sed 's/../& /g'); do
			# shellcheck disable=SC2059
			printf "\\$(printf %o "0x$byte")"
		done
		cat "$dir/body"
	} >"$dir/forged"
	cp "$dir/forged" "$1"
}

# Move the variables to other addresses in the second run; without that, the test would show
# nothing.
export PROG_ADDRESSES=1
managed watch globals 4 24 30
grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "launches went plain"
first=$(forms)
[ "$(echo "$first" | wc -l)" -ge 3 ] || fail "forms were not kept: $first"
# The forms load the addresses of variables from an array (hd_vars) in constant memory. They read
# the program's constants at global addresses.
texts=$(cat "$dir"/cache/heddle/* | grep -a '\.const\.\|\[hd_vars')
[ -n "$texts" ] || fail "nothing reads the array"
! echo "$texts" | grep -av '	ld\.const\.b64 %hd_var_[0-9]*, \[hd_vars+[0-9]*\];$' || fail "in an odd way"
grep -aq 'and\.b64 %hd_var_[0-9]*, %hd_var_[0-9]*, -16;' "$dir"/cache/heddle/* || fail "nobody knows how they are aligned"
grep at "$dir/err" >"$dir/at"
PROG_ADDRESSES=500
managed watch globals 4 24 30
grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "launches went plain"
for var in counter table; do
	grep -q "^$var at " "$dir/at" || fail "where is $var?"
	! grep -qxF "$(grep "^$var at" "$dir/at")" "$dir/err" || fail "$var lies where it was"
done
[ "$(forms)" = "$first" ] || fail "forms were made anew: $first, then $(forms)"

# made_anew EDIT: changes the lists of variables that contain `counter`. The forms with these lists
# are then unusable, and the shim must make them anew.
made_anew() {
	while read -r file; do
		forge "$dir/cache/heddle/$file" "$1"
	done <"$dir/counting"
	changed=$(forms)
	managed watch globals 4 24 30
	grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "launches went plain"
	[ "$(forms)" != "$changed" ] || fail "the forms were not made anew"
}

# First the list names a variable that does not exist, then it has no end.
(cd "$dir/cache/heddle" && grep -l counter -- *) >"$dir/counting"
made_anew 's/counter/gonegon/'
made_anew 's/counter\x00/counter_/'
