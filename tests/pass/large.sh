#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: large.sh HEDDLE branches|values|limits [TASK_TOOL]
# The time for large kernels must be proportional to their size. Each check limits the CPU time to
# about five times what it takes; code that compares every pair exceeds this.
set -eu
heddle=$1
what=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
kernel() { # lines before the entry, lines within it
	printf '.version 7.8\n.target sm_70\n.address_size 64\n'
	eval "$1"
	printf '.visible .entry k(.param .u64 p)\n{\n.reg .pred %%p<4>; .reg .b32 %%r<4>;\n'
	eval "$2"
	printf 'ret;\n}\n'
}
# shellcheck disable=SC2317 # called by eval
each() { # n, awk program to run for each i below n
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

# Within 2 s of CPU time and 1 GiB, each pass must make a form of a kernel of this size, or refuse
# it and name the limit. SAYS is that limit, or "" if a form is expected.
each_pass() { # file, says
	for form in preempt slice merge fuse-vertical fuse-horizontal weave task check; do
		case $form in
		task) set -- "$1" "$2" "$tool" 64 0 full "$1" k ;;
		check) set -- "$1" "$2" "$heddle" ptx check "$1" ;;
		preempt | slice) set -- "$1" "$2" "$heddle" ptx $form --kernel k "$1" ;;
		*) set -- "$1" "$2" "$heddle" ptx $form -- "$1" k --block 64 + "$1" k --block 64 ;;
		esac
		status=0
		# shellcheck disable=SC3045
		(shift 2 && ulimit -t 2 && ulimit -v 1048576 && exec "$@") >"$dir/out" 2>"$dir/err" || status=$?
		case $form-$status in
		check-0) [ -z "$2" ] || grep -q "$2" "$dir/out" || status=bad ;;
		*-0) [ -z "$2" ] || status=made ;;
		slice-*) grep -q "$2\|may be in a later slice" "$dir/err" || status=bad ;;
		*) if [ -z "$2" ] || ! grep -q "$2" "$dir/err"; then status=bad; fi ;;
		esac
		case $status in bad | made)
			echo "bad: $form of $(basename "$1"): $status: $(head -n 1 "$dir/err")"
			failed=1
			;;
		esac
	done
}

switches() { # number of brx.idx, number of targets of each
	printf '.version 7.8\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n'
	printf '.reg .pred %%p<4>; .reg .b32 %%r<4>;\nmov.u32 %%r1, %%tid.x;\nsetp.eq.u32 %%p1, %%r1, 3;\nT: .branchtargets '
	awk -v n="$1" -v t="$2" 'BEGIN {
		for (i = 0; i < t; i++) printf "%sL%d", i ? ", " : "", i % n
		print ";"
		for (i = 0; i < n; i++) printf "L%d: add.u32 %%r1, %%r1, %d;\n@%%p1 brx.idx %%r1, T;\n", i, i
		print "ret;\n}" }'
}

chain() { # number of functions
	printf '.version 7.8\n.target sm_70\n.address_size 64\n'
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++) {
			printf ".func f%d(.param .b32 a) { .reg .b32 %%r<3>; ld.param.u32 %%r1, [a]; ", i
			if (i) printf "{ .param .b32 q; st.param.b32 [q], %%r1; call f%d, (q); } ret; }\n", i - 1
			else print "mov.u32 %r2, %ctaid.x; ret; }"
		}
		print ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, %tid.x;"
		printf "{ .param .b32 q; st.param.b32 [q], %%r1; call f%d, (q); }\nret;\n}\n", n - 1 }'
}

shared() { # number of variables
	# shellcheck disable=SC2016
	kernel "each $1 'printf \".shared .align 1 .b8 s%d[2];\\n\", i'" \
		"each $1 'printf \"st.shared.u8 [s%d], 1;\\n\", i'"
}

if [ "$what" = limits ]; then
	tool=$3
	switches 1000 1000 >"$dir/switches.ptx"
	each_pass "$dir/switches.ptx" 'targets of brx.idx: heddle takes at most 20000'
	switches 5000 4 >"$dir/many.ptx"
	each_pass "$dir/many.ptx" 'brx.idx: heddle takes at most 1000'
	chain 20000 >"$dir/chain.ptx"
	each_pass "$dir/chain.ptx" 'functions: heddle takes at most 2000'
	shared 20000 >"$dir/shared.ptx"
	each_pass "$dir/shared.ptx" 'shared variables: heddle takes at most 8192'
	for shape in "1000 20" "141 141"; do
		# shellcheck disable=SC2086
		switches $shape >"$dir/switches.ptx"
		each_pass "$dir/switches.ptx" ''
	done
	chain 1000 >"$dir/chain.ptx"
	each_pass "$dir/chain.ptx" ''
	exit $failed
fi

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

# Each addition adds a possible value to those before it. The instructions in $ends make heddle
# look for these values.
ends='mul.f32 %f2, %f1, %f1; add.f32 %f3, %f2, %f1; shfl.sync.down.b32 %r2, %r1, 1, 31, -1;'
skips() { # an awk program
	kernel : "echo '.reg .f32 %f<4>; mov.f32 %f1, 0f40000000; mov.u32 %r1, 1; setp.eq.u32 %p1, %r1, 3;'
		each 10000 '$1'; echo '$ends'"
}
skips 'print "@%p1 add.u32 %r1, %r1, 1;"' >"$dir/guards.ptx"
skips 'printf "@%%p1 bra L%d; add.u32 %%r1, %%r1, 1; L%d:\n", i, i' >"$dir/skips.ptx"
for form in merge weave; do
	within 1 "$form: guarded additions" $form -- "$dir/guards.ptx" k --block 128 + "$dir/guards.ptx" k --block 128
	within 2 "$form: additions that are skipped" $form -- "$dir/skips.ptx" k --block 128 + "$dir/skips.ptx" k --block 128
done

# The search from the sum back to the product runs in a cycle: only the copy itself writes %f3.
kernel : "echo '.reg .f32 %f<5>;
	L: mul.f32 %f1, %f2, 0f40000000; mov.f32 %f3, %f3; @%p1 bra L; add.f32 %f4, %f3, %f1;'" >"$dir/copy.ptx"
within 1 "a copy of itself" merge -- "$dir/copy.ptx" k --block 128 + "$dir/copy.ptx" k --block 128
exit $failed
