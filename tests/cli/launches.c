/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: launches WHAT...: a driver API program with a kernel for each way in which a launch can
 * depend on memory: templates, module variables, structures with pointers, pointers in memory, and
 * more memory than a recording holds. Also has launches that cannot be recorded. */
#include "dev/cu_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES 4096
#define HALF_BYTES   (33u << 20)
#define LARGE_BYTES  (80u << 20)

#define INDEX "mov.u32 %r1, %tid.x;\ncvt.u64.u32 %rd9, %r1;\n"
#define HEAD                   \
	"{\n"                  \
	".reg .b64 %rd<10>;\n" \
	".reg .b32 %r<10>;\n"  \
	".reg .f32 %f<4>;\n"   \
	".reg .f64 %fd<4>;\n"  \
	".reg .pred %p<2>;\n"

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .global .u32 total = 5;\n"
	".visible .const .u32 factor = 3;\n"
	".visible .global .u32 unused = 1;\n"
	/* template<class T> void scale(T *p, int n): p[i] += p[i] */
	".visible .entry _Z5scaleIfEvPT_i(.param .u64 p, .param .u32 n)\n" HEAD INDEX
	"ld.param.u64 %rd1, [p];\n"
	"shl.b64 %rd9, %rd9, 2;\n"
	"add.u64 %rd1, %rd1, %rd9;\n"
	"ld.global.f32 %f1, [%rd1];\n"
	"add.f32 %f1, %f1, %f1;\n"
	"st.global.f32 [%rd1], %f1;\n"
	"ret;\n}\n"
	".visible .entry _Z5scaleIdEvPT_i(.param .u64 p, .param .u32 n)\n" HEAD INDEX
	"ld.param.u64 %rd1, [p];\n"
	"shl.b64 %rd9, %rd9, 3;\n"
	"add.u64 %rd1, %rd1, %rd9;\n"
	"ld.global.f64 %fd1, [%rd1];\n"
	"add.f64 %fd1, %fd1, %fd1;\n"
	"st.global.f64 [%rd1], %fd1;\n"
	"ret;\n}\n"
	/* *p = total * factor, which is also the new total */
	".visible .entry tally(.param .u64 p)\n" HEAD "ld.param.u64 %rd1, [p];\n"
	"ld.global.u32 %r1, [total];\n"
	"ld.const.u32 %r2, [factor];\n"
	"mul.lo.u32 %r1, %r1, %r2;\n"
	"st.global.u32 [total], %r1;\n"
	"st.global.u32 [%rd1], %r1;\n"
	"ret;\n}\n"
	/* struct {int n; int *from, *to;} s: s.to[i] = s.from[i] + s.n */
	".visible .entry spread(.param .align 8 .b8 s[24])\n" HEAD INDEX "ld.param.u32 %r2, [s];\n"
	"ld.param.u64 %rd1, [s+8];\n"
	"ld.param.u64 %rd2, [s+16];\n"
	"shl.b64 %rd9, %rd9, 2;\n"
	"add.u64 %rd1, %rd1, %rd9;\n"
	"add.u64 %rd2, %rd2, %rd9;\n"
	"ld.global.u32 %r3, [%rd1];\n"
	"add.u32 %r3, %r3, %r2;\n"
	"st.global.u32 [%rd2], %r3;\n"
	"ret;\n}\n"
	/* ++**p; p[1] = *p + 1 */
	".visible .entry chase(.param .u64 p)\n" HEAD "ld.param.u64 %rd1, [p];\n"
	"ld.global.u64 %rd2, [%rd1];\n"
	"ld.global.u32 %r1, [%rd2];\n"
	"add.u32 %r1, %r1, 1;\n"
	"st.global.u32 [%rd2], %r1;\n"
	"add.u64 %rd2, %rd2, 4;\n"
	"st.global.u64 [%rd1+8], %rd2;\n"
	"ret;\n}\n"
	/* *p = number of SMs */
	".visible .entry count(.param .u64 p)\n" HEAD "ld.param.u64 %rd1, [p];\n"
	"mov.u32 %r1, %nsmid;\n"
	"st.global.u32 [%rd1+8], %r1;\n"
	"ret;\n}\n"
	/* if (threadIdx.x == 5) *p = the texture's value at 0; the virtual GPU has no textures */
	".visible .entry sample(.param .u64 p)\n" HEAD INDEX "ld.param.u64 %rd1, [p];\n"
	"mov.b64 %rd2, 0;\n"
	"setp.ne.u32 %p1, %r1, 5;\n"
	"@%p1 ret;\n"
	"mov.b32 %r1, 0;\n"
	"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f1}, [%rd2, {%r1}];\n"
	"st.global.f32 [%rd1], %f1;\n"
	"ret;\n}\n"
	/* *q = *p */
	".visible .entry copy(.param .u64 p, .param .u64 q)\n" HEAD "ld.param.u64 %rd1, [p];\n"
	"ld.param.u64 %rd2, [q];\n"
	"ld.global.u32 %r1, [%rd1];\n"
	"st.global.u32 [%rd2], %r1;\n"
	"ret;\n}\n"
	".visible .entry fail(.param .u64 p)\n{\ntrap;\n}\n";

static CUmodule mod;

static void check(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, (int)r);
	exit(1);
}
#define DO(call) check(call, #call)

static CUfunction kernel(const char *name)
{
	CUfunction fn;

	DO(cuModuleGetFunction(&fn, mod, name));
	return fn;
}

/* Allocates a buffer whose words are 0x40000000: an integer as an int, and 2.0 as a float. */
static CUdeviceptr buffer(size_t bytes)
{
	CUdeviceptr d;

	DO(cuMemAlloc(&d, bytes));
	DO(cuMemsetD32(d, 0x40000000, bytes / 4));
	return d;
}

static void launch(const char *name, unsigned threads, CUstream stream, void **params)
{
	DO(cuLaunchKernel(kernel(name), 1, 1, 1, threads, 1, 1, 0, stream, params, NULL));
	if (stream == NULL && strcmp(name, "fail") != 0)
		DO(cuCtxSynchronize());
}

static void set(const char *variable, unsigned value)
{
	CUdeviceptr at;
	size_t bytes;

	DO(cuModuleGetGlobal(&at, &bytes, mod, variable));
	DO(cuMemcpyHtoD(at, &value, sizeof(value)));
}

static void do_scale(void)
{
	CUdeviceptr p = buffer(BUFFER_BYTES);
	int n = 32;
	void *params[] = {&p, &n};

	for (int i = 0; i < 2; i++) {
		launch("_Z5scaleIfEvPT_i", 32, NULL, params);
		launch("_Z5scaleIdEvPT_i", 32, NULL, params);
	}
}

static void do_tally(void)
{
	CUdeviceptr p = buffer(BUFFER_BYTES);
	void *params[] = {&p};
	unsigned left;

	set("total", 40);
	set("factor", 7);
	for (int i = 0; i < 3; i++)
		launch("tally", 1, NULL, params);
	DO(cuMemcpyDtoH(&left, p, sizeof(left)));
	printf("tally %u\n", left);
}

/* Both pointers in the structure point into one allocation. */
static void do_spread(void)
{
	CUdeviceptr p = buffer(BUFFER_BYTES);
	struct {
		int n;
		CUdeviceptr from, to;
	} s = {9, p + 64, p + 2048};
	void *params[] = {&s};

	launch("spread", 64, NULL, params);
}

static void do_chase(void)
{
	CUdeviceptr p = buffer(BUFFER_BYTES), q = buffer(BUFFER_BYTES), inside = q + 16;
	void *params[] = {&p};

	DO(cuMemcpyHtoD(p + 24, &inside, sizeof(inside)));
	p += 24;
	launch("chase", 1, NULL, params);
}

static void do_count(void)
{
	CUdeviceptr p = buffer(BUFFER_BYTES);
	void *params[] = {&p};

	launch("count", 1, NULL, params);
}

/* The memory before the launch and after it is together more than a recording holds. */
static void do_half(void)
{
	CUdeviceptr p = buffer(HALF_BYTES);
	void *params[] = {&p};

	launch("count", 1, NULL, params);
}

static void do_large(void)
{
	CUdeviceptr p = buffer(LARGE_BYTES), q = buffer(BUFFER_BYTES);
	void *params[] = {&p, &q};

	launch("copy", 1, NULL, params);
}

static void do_fail(void)
{
	CUdeviceptr p = buffer(BUFFER_BYTES);
	void *params[] = {&p};

	launch("fail", 1, NULL, params);
	printf("fail %d\n", (int)cuCtxSynchronize());
}

static void do_odd(void)
{
	CUdeviceptr p = buffer(BUFFER_BYTES), q = buffer(BUFFER_BYTES);
	void *params[] = {&p, &q};
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	DO(cuStreamCreate(&s, 1));
	DO(cuLaunchCooperativeKernel(kernel("copy"), 1, 1, 1, 32, 1, 1, 0, s, params));
	DO(cuStreamSynchronize(s));
	launch("sample", 1, s, params);
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch("tally", 1, s, params);
	DO(cuStreamEndCapture(s, &graph));
	DO(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 2; i++)
		DO(cuGraphLaunch(exec, s));
	DO(cuStreamSynchronize(s));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} known[] = {{"scale", do_scale}, {"tally", do_tally}, {"spread", do_spread},
		{"chase", do_chase}, {"count", do_count}, {"half", do_half}, {"large", do_large},
		{"fail", do_fail}, {"odd", do_odd}};
	CUcontext ctx;

	DO(cuInit(0));
	DO(cuDevicePrimaryCtxRetain(&ctx, 0));
	DO(cuCtxSetCurrent(ctx));
	DO(cuModuleLoadData(&mod, ptx));
	for (int i = 1; i < argc; i++)
		for (unsigned k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (!strcmp(argv[i], known[k].name))
				known[k].run();
	return 0;
}
