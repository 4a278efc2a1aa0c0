/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches two handwritten PTX kernels. The comparison kernel handles 16 bytes for each thread and
 * step, and the remainder byte by byte. */
#include "job/gauge.h"

#include "base/base.h"

#define BLOCKS  1024u
#define THREADS 256u

static const char ptx[] =
	".version 6.0\n.target sm_70\n.address_size 64\n"
	".visible .entry differ(.param .u64 pa, .param .u64 pb, .param .u64 bytes, .param .u64 "
	"pr)\n"
	"{\n"
	".reg .b64 %a; .reg .b64 %b; .reg .b64 %n; .reg .b64 %r; .reg .b64 %i; .reg .b64 %s;\n"
	".reg .b64 %t<4>; .reg .b64 %d<4>; .reg .b32 %w<4>; .reg .pred %p;\n"
	"ld.param.u64 %a, [pa];\nld.param.u64 %b, [pb];\n"
	"ld.param.u64 %n, [bytes];\nld.param.u64 %r, [pr];\n"
	"mov.u32 %w0, %tid.x;\nmov.u32 %w1, %ctaid.x;\nmov.u32 %w2, %ntid.x;\n"
	"mov.u32 %w3, %nctaid.x;\n"
	"mad.lo.u32 %w0, %w1, %w2, %w0;\nmul.lo.u32 %w3, %w2, %w3;\n"
	"cvt.u64.u32 %i, %w0;\nshl.b64 %i, %i, 4;\n"
	"cvt.u64.u32 %s, %w3;\nshl.b64 %s, %s, 4;\n"
	"and.b64 %d0, %n, -16;\nmov.u64 %d3, 0;\n"
	"$more:\n"
	"setp.ge.u64 %p, %i, %d0;\n@%p bra $rest;\n"
	"add.u64 %d1, %a, %i;\nadd.u64 %d2, %b, %i;\n"
	"ld.global.v2.u64 {%t0, %t1}, [%d1];\nld.global.v2.u64 {%t2, %t3}, [%d2];\n"
	"xor.b64 %t0, %t0, %t2;\nxor.b64 %t1, %t1, %t3;\n"
	"or.b64 %t0, %t0, %t1;\nor.b64 %d3, %d3, %t0;\n"
	"add.u64 %i, %i, %s;\nbra $more;\n"
	"$rest:\n"
	"cvt.u64.u32 %i, %w0;\nadd.u64 %i, %i, %d0;\n"
	"setp.ge.u64 %p, %i, %n;\n@%p bra $said;\n"
	"add.u64 %d1, %a, %i;\nadd.u64 %d2, %b, %i;\n"
	"ld.global.u8 %t0, [%d1];\nld.global.u8 %t1, [%d2];\n"
	"xor.b64 %t0, %t0, %t1;\nor.b64 %d3, %d3, %t0;\n"
	"$said:\n"
	"setp.eq.u64 %p, %d3, 0;\n@%p bra $end;\n"
	"mov.u64 %t0, 1;\nst.global.u64 [%r], %t0;\n"
	"$end:\nret;\n}\n"
	".visible .entry clock(.param .u64 pr)\n"
	"{\n"
	".reg .b64 %r; .reg .b64 %from; .reg .b64 %to; .reg .b64 %c0; .reg .b64 %c1; .reg .pred "
	"%p;\n"
	"ld.param.u64 %r, [pr];\n"
	"mov.u64 %from, %globaltimer;\nmov.u64 %c0, %clock64;\n"
	"$wait:\n"
	"mov.u64 %to, %globaltimer;\nmov.u64 %c1, %clock64;\n"
	"sub.u64 %to, %to, %from;\n"
	"setp.lt.u64 %p, %to, 200000;\n@%p bra $wait;\n"
	"sub.u64 %c1, %c1, %c0;\n"
	"st.global.u64 [%r], %to;\nst.global.u64 [%r+8], %c1;\nret;\n}\n";

CUresult gauge_open(const struct cu_api *cu, struct gauge *ret)
{
	struct gauge g;
	CUmodule module;
	CUresult r = cu->cuModuleLoadData(&module, ptx);

	if (r == CUDA_SUCCESS)
		r = cu->cuModuleGetFunction(&g.differ, module, "differ");
	if (r == CUDA_SUCCESS)
		r = cu->cuModuleGetFunction(&g.clock, module, "clock");
	if (r == CUDA_SUCCESS)
		r = cu->cuMemAlloc(&g.words, 16);
	if (r == CUDA_SUCCESS)
		*ret = g;
	return r;
}

CUresult gauge_same(const struct cu_api *cu, const struct gauge *g, CUdeviceptr a, CUdeviceptr b,
	uint64_t bytes, bool *ret_same)
{
	CUdeviceptr words = g->words;
	void *params[] = {&a, &b, &bytes, &words};
	uint64_t steps = bytes / 16 / THREADS + 1, differs;
	CUresult r = cu->cuMemsetD8(words, 0, sizeof(differs));

	if (r == CUDA_SUCCESS)
		r = cu->cuLaunchKernel(g->differ, (unsigned)MIN(steps, BLOCKS), 1, 1, THREADS, 1, 1,
			0, NULL, params, NULL);
	if (r == CUDA_SUCCESS)
		r = cu->cuMemcpyDtoH(&differs, words, sizeof(differs));
	if (r == CUDA_SUCCESS)
		*ret_same = !differs;
	return r;
}

CUresult gauge_mhz(const struct cu_api *cu, const struct gauge *g, double *ret_mhz)
{
	CUdeviceptr at = g->words;
	void *params[] = {&at};
	uint64_t words[2]; /* elapsed nanoseconds and clock cycles */
	CUresult r = cu->cuLaunchKernel(g->clock, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);

	if (r == CUDA_SUCCESS)
		r = cu->cuMemcpyDtoH(words, at, sizeof(words));
	if (r == CUDA_SUCCESS)
		*ret_mhz = words[0] ? (double)words[1] * 1e3 / (double)words[0] : 0;
	return r;
}
