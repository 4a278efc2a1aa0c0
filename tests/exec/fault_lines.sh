#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: fault_lines.sh HEDDLE
# A fault's report names the line of the file and the program's block, in the preemptible form as
# in the plain one; also if other kernels precede it in the file, and in a called function. For a
# merged, fused or woven kernel, it also says so and says which of the kernels faulted. This holds
# even if the kernel reads only some of its block ids, so that a form does not compute the others.
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

# of NAME LINE WHICH OPTION...: the fault of a merged launch must name this line and kernel.
of() {
	name=$1 line=$2 which=$3
	shift 3
	! "$heddle" corun --device cpu "$@" 2>"$dir/err" || {
		echo "$name, merged: no fault"
		bad=1
	}
	grep -q "block (2,0,0), thread ([0-9]*,0,0), PTX line $line$which: " "$dir/err" || {
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
		grep -q "block (2,0,0), thread ([0-9]*,0,0), PTX line $line: " "$dir/err" || {
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

cat >"$dir/ids.ptx" <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry all(.param .u64 out, .param .u32 x, .param .u32 y, .param .u32 z)
{
	.reg .b32 %r<8>; .reg .pred %p;
	ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y]; ld.param.u32 %r3, [z];
	mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z; mov.u32 %r7, %tid.x;
	setp.eq.u32 %p, %r1, %r4; setp.eq.and.u32 %p, %r2, %r5, %p; setp.eq.and.u32 %p, %r3, %r6, %p;
	setp.eq.and.u32 %p, %r7, 37, %p;
	@%p trap; // all
	ret;
}
.visible .entry only_x(.param .u64 out) // of the blocks with x = 2, the first one after 10 others
{
	.reg .b64 %d1; .reg .b32 %r<8>; .reg .pred %p;
	ld.param.u64 %d1, [out];
	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
	setp.eq.u32 %p, %r2, 37;
	@%p atom.global.add.u32 %r3, [%d1], 1;
	setp.ge.and.u32 %p, %r3, 10, %p;
	setp.eq.and.u32 %p, %r1, 2, %p;
	@%p trap; // only_x
	ret;
}
.visible .entry none(.param .u64 out) // the block after 13 others
{
	.reg .b64 %d1; .reg .b32 %r<8>; .reg .pred %p;
	ld.param.u64 %d1, [out];
	mov.u32 %r2, %tid.x;
	setp.eq.u32 %p, %r2, 37;
	@%p atom.global.add.u32 %r3, [%d1], 1;
	setp.eq.and.u32 %p, %r3, 13, %p;
	@%p trap; // none
	ret;
}
END
# names BLOCK KERNEL WHICH COMMAND...: the command's fault must be in this block, in thread 37 of
# the kernel, and in the kernel's marked line.
names() {
	block=$1 line=$(grep -n "// $2\$" "$dir/ids.ptx" | cut -d: -f1) which=$3
	shift 3
	! "$heddle" "$@" 2>"$dir/err" || { echo "$*: no fault"; bad=1; }
	grep -q "block ($block), thread (37,0,0), PTX line $line$which: " "$dir/err" || {
		echo "$*: not block ($block)"
		cat "$dir/err"
		bad=1
	}
}

other="$dir/other.ptx other --grid 9 --block 64 u32[1]:zero" some='[0-4],[0-4],0'
while read -r grid block x y z; do
	ids="u32[1]:zero u32:$x u32:$y u32:$z"
	for as in plain preempt 'preempt --chunk 5 --workers 1' 'preempt --chunk 3 --workers 2 --pull-ahead'; do
		# shellcheck disable=SC2086 # split into words
		names "$block" all "" exec --device cpu --as $as --grid "$grid" --block 64 "$dir/ids.ptx" all $ids
	done
	for how in merge vertical horizontal weave; do
		# shellcheck disable=SC2086 # split into words
		names "$block" all " of kernel 2" corun --device cpu --how $how -- $other + "$dir/ids.ptx" all \
			--grid "$grid" --block 48 $ids
	done
done <<'END'
12 7,0,0 7 0 0
4,3 2,1,0 2 1 0
5,4,3 4,3,2 4 3 2
1,1,9 0,0,8 0 0 8
END
# A slice that starts at block 5 of a grid of 4,3. It is launched as users launch slices in programs
# of their own.
"$heddle" ptx slice "$dir/ids.ptx" >"$dir/slice.ptx"
! "$heddle" exec --device cpu --grid 3 --block 64 "$dir/slice.ptx" all 'u32[1]:zero' u32:2 u32:1 u32:0 \
	hex:05000000040000000300000001000000 2>"$dir/err" || bad=1
grep -q 'block (2,1,0), thread (37,0,0)' "$dir/err" || {
	echo "a slice's block is not named"
	bad=1
}
# One worker runs the blocks in order.
export HEDDLE_VGPU="fault-lines-$$,sms=1"
for chunk in 1 4 7 25; do
	as="preempt --workers 1 --chunk $chunk"
	# shellcheck disable=SC2086 # split into words
	names 2,2,0 only_x "" exec --device cpu --as $as --grid 5,5 --block 64 "$dir/ids.ptx" only_x 'u32[1]:zero'
	# shellcheck disable=SC2086 # split into words
	names 3,2,0 none "" exec --device cpu --as $as --grid 5,5 --block 64 "$dir/ids.ptx" none 'u32[1]:zero'
	# shellcheck disable=SC2086 # split into words
	names 3,0,1 none "" exec --device cpu --as $as --grid 5,2,3 --block 64 "$dir/ids.ptx" none 'u32[1]:zero'
done
unset HEDDLE_VGPU
for how in merge vertical horizontal weave; do
	for kernel in only_x none; do
		[ $kernel = none ] || some='2,[0-4],0'
		# shellcheck disable=SC2086 # split into words
		names "$some" $kernel " of kernel 2" corun --device cpu --how $how -- $other + "$dir/ids.ptx" $kernel \
			--grid 5,5 --block 48 'u32[1]:zero'
		some='[0-4],[0-4],0'
	done
done
[ "$bad" = 0 ] || exit 1
echo "each fault in its line and its block"
