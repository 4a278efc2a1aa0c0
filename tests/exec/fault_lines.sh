#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# fault_lines.sh HEDDLE: a kernel's fault is reported with the line of the file, in its preemptible form as in
# the plain one; also where others stand in front of it, and in a function that it calls. Merged and fused
# with another kernel, with that and which kernel it is.
set -eu
heddle=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
cat >"$dir/k.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.func callee(.param .b64 to)
{
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [to];

	st.global.u32 [%rd1+1000000000], 5; // address-in-callee
	ret;
}
.visible .entry first(.param .u64 out) { ret; }

.visible .entry k(.param .u64 out, .param .u32 what)
{
	.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<6>;
	ld.param.u64 %rd1, [out]; ld.param.u32 %r3, [what];
	mov.u32 %r1, %ctaid.x;
	bar.sync 0;
	setp.ne.u32 %p1, %r1, 2;
	@%p1 bra DONE;
	setp.eq.u32 %p2, %r3, 0;
	@%p2 st.global.u32 [%rd1+1000000000], %r1; // address

	setp.eq.u32 %p2, %r3, 1;
	@%p2 ld.global.u32 %r2, [%rd1+2]; // align
	setp.eq.u32 %p2, %r3, 2;
	@%p2 trap; // trap
	setp.ne.u32 %p2, %r3, 3;
	@%p2 bra NOT;
	{
	.param .b64 to;
	st.param.b64 [to], %rd1;
	call callee, (to);
	}
NOT:
	setp.ne.u32 %p2, %r3, 4;
	@%p2 bra DONE;
	mov.u32 %r2, %smid;
	mov.u32 %r2, %pm3; // unknown
DONE:
	mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r1;
	ret;
}
END
cat >"$dir/other.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry other(.param .u64 out) { ret; }
END
what=0 bad=0

# of NAME LINE WHICH OPTION...: merged, as the first kernel and the second
of() {
	name=$1 line=$2 which=$3
	shift 3
	! "$heddle" corun --device cpu "$@" 2>"$dir/err" || {
		echo "$name, merged: no fault"
		bad=1
	}
	grep -q "thread ([0-9,]*), PTX line $line$which: " "$dir/err" || {
		echo "$name, $*: not line $line$which"
		cat "$dir/err"
		bad=1
	}
}

for name in address align trap address-in-callee unknown; do
	line=$(grep -n "// $name\$" "$dir/k.ptx" | cut -d: -f1)
	for form in plain preempt; do
		! "$heddle" exec --device cpu --as $form --grid 4 --block 32 "$dir/k.ptx" k 'u32[16]:zero' "u32:$what" \
			2>"$dir/err" || {
			echo "$name, $form: no fault"
			bad=1
		}
		grep -q "thread ([0-9,]*), PTX line $line: " "$dir/err" || {
			echo "$name, $form: not line $line"
			cat "$dir/err"
			bad=1
		}
	done
	for how in merge vertical horizontal; do
		set -- "$dir/k.ptx" k --grid 4 --block 48 'u32[16]:zero' "u32:$what"
		of "$name" "$line" "" --how $how -- "$@"
		of "$name" "$line" " of kernel 1" --how $how -- "$@" + "$dir/other.ptx" other --grid 9 --block 64 'u32[1]:zero'
		of "$name" "$line" " of kernel 2" --how $how -- "$dir/other.ptx" other --grid 9 --block 64 'u32[1]:zero' + "$@"
	done
	of "$name" "$line" " of kernel 2" --schedule apart --own 2 -- "$dir/other.ptx" other --grid 9 --block 64 'u32[1]:zero' + "$@"
	what=$((what + 1))
done
[ "$bad" = 0 ] || exit 1
echo "5 faults, each in its line"
