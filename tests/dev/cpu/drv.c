/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implementation of drv.h. */
#include "drv.h"

const char drv_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .global .align 4 .u32 shared_word = 7;\n"
	".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 k)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<8>;\n	.reg .b64 %d<4>;\n"
	"	mov.u32 %r0, %ctaid.x;\n	mov.u32 %r1, %ntid.x;\n	mov.u32 %r2, %tid.x;\n"
	"	mad.lo.u32 %r3, %r0, %r1, %r2;\n	ld.param.u32 %r4, [n];\n"
	"	setp.ge.u32 %q, %r3, %r4;\n	@%q bra $out;\n"
	"	ld.param.u64 %d0, [p];\n	mul.wide.u32 %d1, %r3, 4;\n"
	"	add.u64 %d2, %d0, %d1;\n	ld.global.u32 %r5, [%d2];\n"
	"	ld.param.u32 %r6, [k];\n	add.u32 %r7, %r5, %r6;\n"
	"	st.global.u32 [%d2], %r7;\n$out:\n	ret;\n}\n"
	".visible .entry note(.param .u64 log, .param .u32 id)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<4>;\n	.reg .b64 %d<4>;\n"
	"	mov.u32 %r0, %tid.x;\n	setp.ne.u32 %q, %r0, 0;\n	@%q bra $out;\n"
	"	ld.param.u64 %d0, [log];\n	atom.global.add.u32 %r1, [%d0], 1;\n"
	"	mul.wide.u32 %d1, %r1, 4;\n	add.u64 %d2, %d0, %d1;\n"
	"	ld.param.u32 %r2, [id];\n	st.global.u32 [%d2+4], %r2;\n$out:\n	ret;\n}\n"
	".visible .entry spin(.param .u64 flag)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<2>;\n	.reg .b64 %d<2>;\n"
	"	ld.param.u64 %d0, [flag];\n$again:\n	ld.volatile.global.u32 %r0, [%d0];\n"
	"	setp.eq.u32 %q, %r0, 0;\n	@%q bra $again;\n	ret;\n}\n"
	".visible .entry busy(.param .u32 n, .param .u64 out)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<6>;\n	.reg .b64 %d<2>;\n"
	"	ld.param.u32 %r0, [n];\n	mov.u32 %r1, 1;\n"
	"$again:\n	mad.lo.u32 %r1, %r1, 1664525, 1013904223;\n	sub.u32 %r0, %r0, 1;\n"
	"	setp.ne.u32 %q, %r0, 0;\n	@%q bra $again;\n"
	"	mov.u32 %r2, %tid.x;\n	setp.ne.u32 %q, %r2, 0;\n	@%q bra $out;\n"
	"	setp.eq.u32 %q, %r1, 5;\n	selp.u32 %r3, 2, 1, %q;\n"
	"	ld.param.u64 %d0, [out];\n	atom.global.add.u32 %r4, [%d0], %r3;\n"
	"$out:\n	ret;\n}\n"
	".visible .entry elapse(.param .u64 out)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<2>;\n	.reg .b64 %d<6>;\n"
	"	ld.param.u64 %d0, [out];\n	mov.u64 %d1, %clock64;\n	mov.u64 %d2, %d1;\n"
	"$again:\n	mov.u64 %d3, %clock64;\n	setp.lt.u64 %q, %d3, %d2;\n	@%q trap;\n"
	"	mov.u64 %d2, %d3;\n	sub.u64 %d4, %d3, %d1;\n	setp.lt.u64 %q, %d4, "
	"20000;\n"
	"	@%q bra $again;\n	atom.global.add.u32 %r0, [%d0], 1;\n	ret;\n}\n"
	".visible .entry whole(.param .u64 out)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<6>;\n	.reg .b64 %d<3>;\n"
	"	ld.param.u64 %d0, [out];\n	mov.u32 %r0, %envreg1;\n	mov.u32 %r1, "
	"%envreg2;\n"
	"	mov.b64 %d1, {%r1, %r0};\n	setp.eq.u64 %q, %d1, 0;\n	@%q bra $out;\n"
	"	atom.global.add.u32 %r2, [%d1+4], 1;\n	mov.u32 %r3, %nctaid.x;\n"
	"$again:\n	ld.volatile.global.u32 %r2, [%d1+4];\n	setp.ne.u32 %q, %r2, %r3;\n"
	"	@%q bra $again;\n	atom.global.add.u32 %r4, [%d0], 1;\n$out:\n	ret;\n}\n"
	".visible .entry stamp(.param .u64 out, .param .u32 n)\n{\n"
	"	.reg .pred %q;\n	.reg .b32 %r<6>;\n	.reg .b64 %d<8>;\n"
	"	mov.u64 %d0, %globaltimer;\n	ld.param.u32 %r0, [n];\n"
	"$again:\n	sub.u32 %r0, %r0, 1;\n	setp.ne.u32 %q, %r0, 0;\n	@%q bra $again;\n"
	"	mov.u64 %d1, %globaltimer;\n	mov.u32 %r1, %tid.x;\n"
	"	setp.ne.u32 %q, %r1, 0;\n	@%q bra $out;\n"
	"	mov.u32 %r2, %ctaid.x;\n	mul.wide.u32 %d2, %r2, 24;\n	ld.param.u64 %d3, "
	"[out];\n"
	"	add.u64 %d4, %d3, %d2;\n	mov.u32 %r3, %smid;\n	cvt.u64.u32 %d5, %r3;\n"
	"	st.global.u64 [%d4], %d0;\n	st.global.u64 [%d4+8], %d1;\n"
	"	st.global.u64 [%d4+16], %d5;\n$out:\n	ret;\n}\n"
	".visible .entry bad(.param .u64 p)\n{\n	.reg .b32 %r<2>;\n	.reg .b64 %d<2>;\n"
	"	ld.param.u64 %d0, [p];\n	mov.u32 %r0, 1;\n	st.global.u32 [%d0], %r0;\n"
	"	ret;\n}\n"
	".visible .entry trapped()\n{\n	trap;\n	ret;\n}\n"
	".visible .entry big(.param .u64 p)\n{\n"
	"	.shared .align 4 .b8 room[40960];\n	.reg .b32 %r<3>;\n	.reg .b64 %d<2>;\n"
	"	mov.u32 %r0, %tid.x;\n	mov.u32 %r1, room;\n	st.shared.u32 [%r1], %r0;\n"
	"	ld.param.u64 %d0, [p];\n	st.global.u32 [%d0], %r0;\n	ret;\n}\n";

void drv_begin(struct drv_test *t, const char *options)
{
	char text[300];

	snprintf(text, sizeof(text), "test-%d%s%s", (int)getpid(), options ? "," : "",
		options ? options : "");
	setenv("HEDDLE_VGPU", text, 0);
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&t->ctx, 0));
	OK(cuCtxSetCurrent(t->ctx));
	OK(cuModuleLoadData(&t->mod, drv_ptx));
}

void drv_end(struct drv_test *t)
{
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuCtxSetCurrent(NULL));
}

CUfunction drv_fn(struct drv_test *t, const char *name)
{
	CUfunction fn = NULL;

	OK(cuModuleGetFunction(&fn, t->mod, name));
	return fn;
}

CUdeviceptr drv_words(size_t n)
{
	CUdeviceptr p = 0;

	OK(cuMemAlloc(&p, n * 4));
	OK(cuMemsetD32(p, 0, n));
	OK(cuCtxSynchronize());
	return p;
}

uint32_t *drv_mapped(size_t n)
{
	void *p = NULL;

	OK(cuMemHostAlloc(&p, n * 4, CU_MEMHOSTALLOC_DEVICEMAP));
	memset(p, 0, n * 4);
	return p;
}

uint32_t drv_read(CUdeviceptr p)
{
	uint32_t v = 0;

	OK(cuMemcpyDtoH(&v, p, 4));
	return v;
}

CUresult drv_note(struct drv_test *t, CUstream s, CUdeviceptr log, uint32_t id)
{
	void *params[] = {&log, &id};

	return cuLaunchKernel(drv_fn(t, "note"), 1, 1, 1, 32, 1, 1, 0, s, params, NULL);
}

CUresult drv_busy(struct drv_test *t, CUstream s, unsigned blocks, unsigned threads, uint32_t n,
	CUdeviceptr out)
{
	void *params[] = {&n, &out};

	return cuLaunchKernel(drv_fn(t, "busy"), blocks, 1, 1, threads, 1, 1, 0, s, params, NULL);
}

double drv_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int drv_setup(void **state)
{
	static struct drv_test t;

	drv_begin(&t, "workers=2");
	*state = &t;
	return 0;
}

int drv_teardown(void **state)
{
	drv_end(*state);
	return 0;
}
