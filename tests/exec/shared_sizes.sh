#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Special registers that hold the size of a block's shared memory, the place of its reserved part,
# and the launch's id: each form must either give the plain kernel's value, or be refused with the
# register's name.
#   shared_sizes.sh HEDDLE TASK_TOOL DEVICE
set -eu
heddle=$1
tool=$2
device=$3
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-sizes-$$"*' EXIT INT TERM
export HEDDLE_VGPU="sizes-$$"
bad=0 same=0 refused=0

fail() {
	echo "FAIL $*"
	bad=$((bad + 1))
}

# kernel REGISTER STATIC: writes a kernel whose threads each store the register.
kernel() {
	cat >"$work/k.ptx" <<-END
		.version 8.1
		.target sm_90
		.address_size 64
		.extern .shared .align 16 .b8 dynamic[];
		.visible .entry k(.param .u64 out)
		{
		.shared .align 4 .b8 s[$2];
		.reg .b32 %r<12>;
		.reg .b64 %d<4>;
		mov.u32 %r1, %ctaid.x;
		mov.u32 %r2, %ntid.x;
		mov.u32 %r3, %tid.x;
		mad.lo.u32 %r1, %r1, %r2, %r3;
		and.b32 %r3, %r3, 3;
		mov.u32 %r4, s;
		add.u32 %r4, %r4, %r3;
		mov.u32 %r5, dynamic;
		add.u32 %r5, %r5, %r3;
		st.shared.u8 [%r4], %r1;
		st.shared.u8 [%r5], %r1;
		bar.sync 0;
		ld.shared.u8 %r6, [%r4];
		mov.u32 %r7, $1;
		ld.param.u64 %d1, [out];
		mul.wide.u32 %d2, %r1, 4;
		add.s64 %d1, %d1, %d2;
		st.global.u32 [%d1], %r7;
		ret;
		}
	END
}

# says STATUS REGISTER WHAT: heddle must have refused the form, with a message that names the
# register.
says() {
	if [ "$1" != 0 ] && grep -qF "reads $2," "$work/said" || grep -qF "($2)" "$work/said"; then
		refused=$((refused + 1))
	else
		fail "$3: $(tail -n 1 "$work/said")"
	fi
}

plain() {
	shared=$1
	shift
	"$heddle" exec --device "$device" --grid 6 --block 64 --shared "$shared" "$@" >"$work/said" 2>&1
}

# forms REGISTER SHARED: checks each form of the kernel.
forms() {
	ok=1
	plain "$2" "$work/k.ptx" k "u32[384]:zero>$work/plain" || ok=
	for options in "" "--yield-every 1" "--chunk 2 --yield-every 2"; do
		rm -f "$work/form"
		# shellcheck disable=SC2086
		if plain "$2" --as preempt $options "$work/k.ptx" k "u32[384]:zero>$work/form"; then
			cmp -s "$work/plain" "$work/form" || fail "$1 preempt $options: differs"
			same=$((same + 1))
		elif [ "$ok" ]; then
			says 1 "$1" "$1 preempt $options"
		fi
	done
	status=0
	"$heddle" ptx preempt --kernel k "$work/k.ptx" >"$work/form.ptx" 2>"$work/said" || status=$?
	[ $status = 0 ] || says $status "$1" "$1 preempt"
	status=0
	"$heddle" ptx slice --kernel k "$work/k.ptx" >"$work/form.ptx" 2>"$work/said" || status=$?
	if [ $status != 0 ]; then
		says $status "$1" "$1 slice"
	elif plain "$2" "$work/form.ptx" k "u32[384]:zero>$work/form" hex:00000000060000000100000001000000; then
		cmp -s "$work/plain" "$work/form" || fail "$1 sliced: differs"
		same=$((same + 1))
	fi
	for how in merge vertical horizontal weave; do
		status=0
		"$heddle" corun --device "$device" --how $how --check -- "$work/k.ptx" k --grid 6 --block 64 --shared "$2" \
			'u32[384]:zero' + "$work/k.ptx" k --grid 5 --block 96 --shared 96 'u32[480]:zero' \
			>"$work/said" 2>&1 || status=$?
		if [ $status = 0 ]; then
			same=$((same + 1))
		elif [ "$ok" ] || grep -qF "$1" "$work/said"; then
			says $status "$1" "$1 $how"
		fi
	done
	status=0
	"$tool" 64 0 full "$work/k.ptx" k >"$work/form.ptx" 2>"$work/said" || status=$?
	case $1-$status in
	%dynamic_smem_size-0) ;; # rt-tasks tests this one
	*) says $status "$1" "$1 task" ;;
	esac
}

for register in %dynamic_smem_size %total_smem_size %aggr_smem_size %reserved_smem_offset_begin \
	%reserved_smem_offset_end %reserved_smem_offset_cap %reserved_smem_offset_0 %reserved_smem_offset_1; do
	for static in 4 244; do
		kernel $register $static
		forms $register $((static * 3))
	done
done
echo "$same the same, $refused refused, $bad wrong"
[ "$bad" -eq 0 ] && [ "$same" -gt 60 ] && [ "$refused" -gt 50 ]
