#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: unknown_instructions.sh HEDDLE
# An instruction that the virtual GPU cannot execute ends the launch with an error that names the
# instruction and its line; it is never skipped.
set -eu
heddle=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
n=0 bad=0
while IFS= read -r instruction; do
	n=$((n + 1))
	cat >"$dir/k.ptx" <<-END
		.version 8.0
		.target sm_90
		.address_size 64
		.visible .entry k(.param .u64 out)
		{
			.reg .b32 %r<12>; .reg .b64 %rd<6>; .reg .f32 %f<12>; .reg .pred %p<2>; .reg .f64 %fd<6>; .reg .b16 %h<4>;
			.shared .align 16 .b8 sh[256];
			ld.param.u64 %rd1, [out];
			mov.u64 %rd2, sh;
			$instruction
			st.global.u32 [%rd1], %r1;
			ret;
		}
	END
	status=0
	"$heddle" exec --device cpu "$dir/k.ptx" k --grid 1 --block 32 'u32[64]:zero' \
		>"$dir/out" 2>"$dir/err" || status=$?
	if [ "$status" -ne 1 ] || ! grep -q CUDA_ERROR_ILLEGAL_INSTRUCTION "$dir/err" ||
		! grep -qF "PTX line 10: this instruction is not known to the virtual GPU: $instruction" \
			"$dir/err"; then
		echo "status $status: $instruction"
		cat "$dir/err"
		bad=$((bad + 1))
	fi
done <<-'END'
	mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};
	mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8};
	mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%r1,%r2}, {%r3}, {%r4}, {%r5,%r6};
	mov.u32 %r1, %pm3;
	wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {%r1}, [%rd2];
	wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rz {%fd1,%fd2}, {%fd3}, {%fd4}, {%fd1,%fd2};
	wgmma.fence.sync.aligned;
	setmaxnreg.inc.sync.aligned.u32 40;
	txq.width.b32 %r1, [%rd1];
	sured.b.add.1d.u32.trap [%rd1, {%r2}], %r1;
	cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%rd2], [%rd1, {%r1}], [%rd2];
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%rd2], [%rd1], 16, [%rd2], %h1;
	cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%rd2], 16, %h1;
	cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%rd2], 16;
	red.async.relaxed.cluster.global.add.u32 [%rd1], %r1;
	multimem.ld_reduce.global.add.u32 %r1, [%rd1];
	frobnicate.u32 %r1, %r2;
	cvt.rn.satfinite.f16.f64 %h1, %fd1;
	cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;
	add.sat.u16x2 %r1, %r2, %r3;
	cvt.frobnicate.u32.u16 %r1, %r2;
	add.sat.u32 %r1, %r2, %r3;
	add.frobnicate.f32 %f1, %f2, %f3;
	setp.eq.frobnicate.u32 %p1, %r1, %r2;
	mad.lo.sat.s32 %r1, %r2, %r3, %r4;
	max.xorsign.abs.f32 %f1, %f2, %f3, %f4;
	min.s32 %r1, %r2, %r3, %r4;
END
# Tests calls of functions that the module only declares, on several lines each, as nvcc writes
# them.
while read -r name message; do
	n=$((n + 1))
	cat >"$dir/k.ptx" <<-END
		.version 8.0
		.target sm_90
		.address_size 64
		.extern .func (.param .b64 r) $name(.param .b64 a);
		.visible .entry k(.param .u64 out)
		{
			{ .param .b64 retval0; .param .b64 param0; st.param.b64 [param0], 1;
			call.uni (retval0),
			$name,
			(
			param0
			);
			}
			ret;
		}
	END
	if "$heddle" exec --device cpu "$dir/k.ptx" k --grid 1 --block 32 'u32[64]:zero' >"$dir/out" 2>"$dir/err" ||
		! grep -q CUDA_ERROR_ILLEGAL_INSTRUCTION "$dir/err" ||
		! grep -qF "PTX line 8: $message: call.uni (retval0), $name, ( param0 );" "$dir/err"; then
		echo "call of $name"
		cat "$dir/err"
		bad=$((bad + 1))
	fi
done <<-'END'
	elsewhere the module has no function elsewhere, and the virtual GPU does not know it
	__cudaCDP2GetParameterBufferV2 kernels that launch kernels (__cudaCDP2GetParameterBufferV2) run on a GPU only, not on the virtual GPU
	__cudaCDP2LaunchDeviceV2 kernels that launch kernels (__cudaCDP2LaunchDeviceV2) run on a GPU only, not on the virtual GPU
	cudaGetParameterBufferV2 kernels that launch kernels (cudaGetParameterBufferV2) run on a GPU only, not on the virtual GPU
	cudaLaunchDeviceV2 kernels that launch kernels (cudaLaunchDeviceV2) run on a GPU only, not on the virtual GPU
	cudaDeviceSynchronize kernels that launch kernels (cudaDeviceSynchronize) run on a GPU only, not on the virtual GPU
END
echo "$n instructions, $bad not refused as they should be"
[ "$bad" -eq 0 ]
