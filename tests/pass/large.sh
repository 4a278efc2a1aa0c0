#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: large.sh HEDDLE branches|values
# Large kernels take time in proportion to their size. The limit counts seconds of CPU, some five times what
# each line takes, and code that compares all with all takes longer.
set -eu
heddle=$1
what=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
kernel() { # lines ahead of the entry, lines within it
	printf '.version 7.8\n.target sm_70\n.address_size 64\n'
	eval "$1"
	printf '.visible .entry k(.param .u64 p)\n{\n.reg .pred %%p<4>; .reg .b32 %%r<4>;\n'
	eval "$2"
	printf 'ret;\n}\n'
}
# shellcheck disable=SC2317 # by eval
each() { # n, program of awk that is run for each i below n
	awk -v n="$1" "BEGIN { for (i = 0; i < n; i++) { $2 } }"
}
within() { # seconds, name, arguments of heddle
	limit=$1
	name=$2
	shift 2
	# shellcheck disable=SC3045
	if ! (ulimit -t "$limit" && exec "$heddle" ptx "$@") >"$dir/out" 2>"$dir/err"; then
		echo "bad: $name: $(head -n 1 "$dir/err")"
		failed=1
	fi
}

if [ "$what" = branches ]; then
	# shellcheck disable=SC2016
	kernel : 'each 30000 "printf \"L%d: @%%p1 bra L%d;\\n\", i, n - 1 - i"' >"$dir/cross.ptx"
	within 6 "branches that cross" check "$dir/cross.ptx"
	exit $failed
fi

# shellcheck disable=SC2016
kernel 'each 5000 "printf \".shared .align 4 .b8 s%d[4];\\n\", i"' \
	'each 5000 "printf \"st.shared.u32 [s%d], 1;\\n\", i"' >"$dir/shared.ptx"
within 3 "many shared variables" weave -- "$dir/shared.ptx" k --block 128 + "$dir/shared.ptx" k --block 128

# Each addition leaves what was there before as a possibility. The ends make heddle look for what it can be.
ends='mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, %f1; shfl.sync.down.b32 %r2, %r1, 1, 31, -1;'
skips() { # program of awk
	kernel : "echo '.reg .f32 %f<4>; mov.f32 %f1, 0f40000000; mov.u32 %r1, 1; setp.eq.u32 %p1, %r1, 3;'
		each 10000 '$1'; echo '$ends'"
}
skips 'print "@%p1 add.u32 %r1, %r1, 1;"' >"$dir/guards.ptx"
skips 'printf "@%%p1 bra L%d; add.u32 %%r1, %%r1, 1; L%d:\n", i, i' >"$dir/skips.ptx"
for form in merge weave; do
	within 1 "$form: guarded additions" $form -- "$dir/guards.ptx" k --block 128 + "$dir/guards.ptx" k --block 128
	within 2 "$form: additions that are skipped" $form -- "$dir/skips.ptx" k --block 128 + "$dir/skips.ptx" k --block 128
done

# The way back from the sum to the product goes round in the loop: nothing but the copy writes %f3.
kernel : "echo '.reg .f32 %f<5>;
	L: mul.f32 %f1, %f2, 0f40000000; mov.f32 %f3, %f3; @%p1 bra L; add.f32 %f4, %f3, %f1;'" >"$dir/copy.ptx"
within 1 "a copy of itself" merge -- "$dir/copy.ptx" k --block 128 + "$dir/copy.ptx" k --block 128
exit $failed
