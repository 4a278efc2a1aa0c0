/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The scenario "outcomes": makes launches for every reason why heddle manages or does not manage a
 * launch (src/wire/reasons.def), and waits for each. Prints the number of launches to stderr. */
#include "code.h"
#include "prog.h"

#include <stdio.h>

static unsigned launches;

/* Prints whether the launch succeeded, which must be the same natively and under heddle. */
static void launched(const char *what, CUresult r)
{
	launches++;
	printf("%s: %d\n", what, r);
	DO(cuCtxSynchronize());
}

static void with_attribute(void **p)
{
	CUlaunchAttribute cooperative = {
		.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	CUlaunchConfig c = {8, 1, 1, THREADS, 1, 1, 0, NULL, &cooperative, 1};

	launched("attribute", cuLaunchKernelEx(&c, mix, p, NULL));
}

static void captured(CUdeviceptr a, CUdeviceptr b)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	do_mix(mix, a, b, s);
	launches++;
	DO(cuStreamEndCapture(s, &graph));
	DO(cuGraphInstantiate(&exec, graph, 0));
	launched("graph", cuGraphLaunch(exec, s));
	DO(cuGraphExecDestroy(exec));
	DO(cuGraphDestroy(graph));
}

static void in_other_context(void)
{
	CUcontext own;
	CUdeviceptr a, b;
	CUfunction fn;
	CUdevice dev;

	DO(cuCtxGetDevice(&dev));
	DO(cuCtxCreate(&own, 0, dev));
	fn = kernel_of(PTX_HEAD PTX_MIX("elsewhere"), "elsewhere");
	a = buffer(n, 1);
	b = buffer(n, 2);
	do_mix(fn, a, b, NULL);
	launches++;
	digest("elsewhere", b, n);
	DO(cuCtxDestroy(own));
	DO(cuCtxSetCurrent(ctx));
}

/* Launches as many blocks as fit at once; all wait for each other. */
static void whole_grid(void)
{
	CUfunction fn = kernel_of(PTX_HEAD PTX_MEET, "meet");
	CUdeviceptr at = buffer(1, 0), out;
	unsigned turns = 3;
	void *p[] = {&at, &out, &turns};
	int n_sms, per_sm;

	DO(cuDeviceGetAttribute(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	DO(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, fn, 32, 0));
	out = buffer((unsigned)(n_sms * per_sm), 3);
	DO(cuMemsetD32(at, 0, 1));
	launched("whole",
		cuLaunchKernel(fn, (unsigned)(n_sms * per_sm), 1, 1, 32, 1, 1, 0, NULL, p, NULL));
	digest("whole", out, (unsigned)(n_sms * per_sm));
}

/* Blocks with so much shared memory that only one fits on an SM. */
static void large_blocks(void **p)
{
	const unsigned bytes = 200 << 10;

	DO(cuFuncSetAttribute(mix, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes));
	launched("large", cuLaunchKernel(mix, blocks, 1, 1, THREADS, 1, 1, bytes, NULL, p, NULL));
}

void outcomes(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2), c = buffer(n, 3);
	CUfunction old = kernel_of(PTX_OLD, "old"), half = kernel_of(PTX_HEAD PTX_HALF, "half");
	CUfunction early = kernel_of(PTX_HEAD PTX_EARLY, "early");
	void *p[] = {&a, &b, &n, &loops}, *one[] = {&c};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, p, NULL};

	for (unsigned i = 0; i < rounds; i++) {
		launched("mix", cuLaunchKernel(mix, blocks, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
		launched("early",
			cuLaunchKernel(early, blocks, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
		launched("old", cuLaunchKernel(old, blocks, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
		launched("half", cuLaunchKernel(half, blocks, 1, 1, 64, 2, 1, 0, NULL, one, NULL));
	}
	digest("outcomes", b, n);
	launched("cooperative", cuLaunchCooperativeKernel(mix, 8, 1, 1, THREADS, 1, 1, 0, NULL, p));
	with_attribute(p);
	captured(a, b);
	launched("empty", cuLaunchKernel(mix, 0, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
	launched("twice", cuLaunchKernel(mix, 8, 1, 1, THREADS, 1, 1, 0, NULL, p, extra));
	launched("threads", cuLaunchKernel(mix, 8, 1, 1, 2048, 1, 1, 0, NULL, p, NULL));
	launched("none", cuLaunchKernel(NULL, 8, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
	whole_grid();
	large_blocks(p);
	in_other_context();
	fprintf(stderr, "outcomes: %u launches\n", launches);
}
