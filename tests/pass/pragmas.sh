#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Each pragma of the PTX manual, at each place in a kernel where ptxas accepts it, in each form:
# checks whether the form keeps it. A form drops a pragma that it may not have, or that would apply
# to another statement there.
#   pragmas.sh HEDDLE TASK_TOOL
# PTXAS=path: ptxas must accept each form.
set -eu
heddle=$1
tool=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
bad=0 n=0

# kernel PRAGMA PLACE SHARED: writes a kernel. PLACE: head, loop, load. SHARED: "shared" or "-".
kernel() {
	head='' loop='' load='' shared=''
	case $2 in
	head) head=".pragma \"$1\";" ;;
	loop) loop=".pragma \"$1\";" ;;
	load) load=".pragma \"$1\";" ;;
	esac
	[ "$3" = - ] || shared='.shared .align 4 .b8 s[512]; mov.u32 %r7, s; mad.lo.u32 %r7, %r3, 4, %r7;
		st.shared.u32 [%r7], %r3; bar.sync 0; ld.shared.u32 %r6, [%r7];'
	cat <<-END
		.version 9.0
		.target sm_80
		.address_size 64
		.visible .entry k(.param .u64 out)
		.maxnreg 64
		{
		$head
		.reg .pred %p<8>;
		.reg .b32 %r<32>;
		.reg .b64 %d<8>;
		mov.u32 %r1, %ctaid.x;
		mov.u32 %r2, %ntid.x;
		mov.u32 %r3, %tid.x;
		mad.lo.u32 %r4, %r1, %r2, %r3;
		mov.u32 %r5, 0;
		mov.u32 %r6, 0;
		$shared
		ld.param.u64 %d1, [out];
		mul.wide.u32 %d2, %r4, 16;
		add.u64 %d1, %d1, %d2;
		\$again:
		$loop
		$load
		ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d1];
		add.u32 %r6, %r6, %r10;
		add.u32 %r5, %r5, 1;
		setp.lt.u32 %p1, %r5, 4;
		@%p1 bra \$again;
		st.global.u32 [%d1], %r6;
		ret;
		}
	END
}

# make FORM: prints the form of the kernel.
make() {
	case $1 in
	preempt | slice) "$heddle" ptx "$1" --kernel k "$work/k.ptx" ;;
	task) "$tool" 64 0 full "$work/k.ptx" k ;;
	*) "$heddle" ptx "$1" -- "$work/k.ptx" k --block 64 + "$work/other.ptx" k --block 96 ;;
	esac >"$work/form.ptx" 2>"$work/said"
}

# row PRAGMA FORMS-THAT-KEEP-IT: checks one pragma at each place.
row() {
	for place in head loop load; do
		for with in - shared; do
			kernel "$1" $place $with >"$work/k.ptx"
			kernel nothing - shared >"$work/other.ptx"
			for form in preempt slice merge weave fuse-vertical fuse-horizontal task; do
				n=$((n + 1)) wanted=0
				case " $2 " in *" $form "*) wanted=1 ;; esac
				make $form || echo "FAIL $1 $place $form: $(head -n 1 "$work/said")"
				has=0
				! grep -q "^[^/]*\.pragma \"$1\";" "$work/form.ptx" || has=1
				[ $has = $wanted ] || {
					bad=$((bad + 1))
					echo "FAIL $1 $place $with $form: has it: $has, not $wanted"
				}
				[ "${PTXAS-}" ] || continue
				"$PTXAS" -arch=sm_80 -o /dev/null "$work/form.ptx" >"$work/said" 2>&1 || {
					bad=$((bad + 1))
					echo "FAIL ptxas of $1 $place $with $form: $(head -n 1 "$work/said")"
				}
			done
		done
	done
}

all='preempt slice merge weave fuse-vertical fuse-horizontal task'
row enable_smem_spilling 'preempt slice'
row 'used_bytes_mask 0xff' ''
row 'frequency 7' "$all"
row nounroll "$all"
echo "$n forms, $bad wrong"
[ "$bad" -eq 0 ]
