/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: waiting
 * Finds the driver calls that do not return while a kernel runs in another, non-blocking stream of
 * the same context. Also finds whether a launch by another thread in a third stream is delayed,
 * too. If a kernel waits for its host, such a call never returns, so heddle must not make one
 * unless the program makes it. Prints a line for each call, in the order of the table. The kernel
 * ends when the host tells it to, or after ten seconds. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "gpu.h"

#define WAITS_MS 300 /* a call that has not returned after this time waits for the kernel */
#define BYTES    ((size_t)1 << 16)
#define PTX                                                                              \
	".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 word;\n"   \
	".visible .entry spin(.param .u64 p)\n{\n.reg .b64 %a, %t, %u;\n.reg .b32 %v;\n" \
	".reg .pred %q;\nld.param.u64 %a, [p];\nmov.u64 %t, %globaltimer;\n"             \
	"add.u64 %t, %t, 10000000000;\n"                                                 \
	"$again:\nld.volatile.global.u32 %v, [%a];\nsetp.ne.u32 %q, %v, 0;\n@%q ret;\n"  \
	"mov.u64 %u, %globaltimer;\nsetp.lt.u64 %q, %u, %t;\n@%q bra $again;\nret;\n}\n" \
	".visible .entry add(.param .u64 p)\n{\n.reg .b64 %a;\nld.param.u64 %a, [p];\n"  \
	"red.global.add.u32 [%a], 1;\nret;\n}\n"                                         \
	".visible .entry locals(.param .u64 p)\n{\n.local .align 4 .b8 room[4096];\n"    \
	".reg .b64 %a, %b;\n.reg .b32 %v;\nld.param.u64 %a, [p];\nmov.u64 %b, room;\n"   \
	"and.b64 %a, %a, 1020;\nadd.u64 %b, %b, %a;\nst.local.u32 [%b], 1;\n"            \
	"ld.local.u32 %v, [room];\nret;\n}\n"

static CUcontext ctx;
static CUstream third, made;
static CUmodule mod;
static CUlibrary lib, by_function, by_kernel, by_variable, unplaced;
static CUkernel kernel, of_function, of_kernel;
static CUfunction add, of_module, of_library, first, locals;
static CUdeviceptr memory, freed;
static void *host;

/* ---- the calls: each uses the objects that earlier calls created ---- */

static CUresult load_module(void)
{
	return cuModuleLoadData(&mod, PTX);
}

static CUresult get_function(void)
{
	return cuModuleGetFunction(&of_module, mod, "add");
}

static CUresult launch_of(CUfunction fn)
{
	void *params[] = {&memory};

	return cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, third, params, NULL);
}

static CUresult launch_first(void)
{
	return launch_of(of_module);
}

static CUresult load_library(void)
{
	return cuLibraryLoadData(&lib, PTX, NULL, NULL, 0, NULL, NULL, 0);
}

/* Uses libraries that have not been loaded into the context yet. */

static CUresult attribute_of_kernel(void)
{
	int regs;

	return cuKernelGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, of_function, 0);
}

static CUresult first_function(void)
{
	return cuKernelGetFunction(&first, of_function);
}

static CUresult load_first_function(void)
{
	return cuFuncLoad(first);
}

static CUresult launch_first_function(void)
{
	return launch_of(first);
}

static CUresult launch_kernel(void)
{
	return launch_of((CUfunction)of_kernel);
}

static CUresult get_variable(void)
{
	CUdeviceptr at;
	size_t bytes;

	return cuLibraryGetGlobal(&at, &bytes, by_variable, "word");
}

static CUresult unload_unplaced(void)
{
	return cuLibraryUnload(unplaced);
}

static CUresult unload_by_function(void)
{
	return cuLibraryUnload(by_function);
}

static CUresult get_kernel(void)
{
	return cuLibraryGetKernel(&kernel, lib, "add");
}

static CUresult get_module(void)
{
	CUmodule ignored;

	return cuLibraryGetModule(&ignored, lib);
}

static CUresult kernel_function(void)
{
	return cuKernelGetFunction(&of_library, kernel);
}

static CUresult load_function(void)
{
	return cuFuncLoad(of_library);
}

static CUresult launch_library(void)
{
	return launch_of(of_library);
}

static CUresult launch_locals(void)
{
	CUresult r = cuModuleGetFunction(&locals, mod, "locals");

	return r == CUDA_SUCCESS ? launch_of(locals) : r;
}

static CUresult set_attribute(void)
{
	return cuFuncSetAttribute(
		of_module, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000);
}

static CUresult allocate(void)
{
	return cuMemAlloc(&freed, BYTES);
}

static CUresult allocate_host(void)
{
	return cuMemHostAlloc(&host, BYTES, CU_MEMHOSTALLOC_DEVICEMAP);
}

static CUresult copy(void)
{
	unsigned one = 1;

	return cuMemcpyHtoD(memory, &one, sizeof(one));
}

static CUresult set(void)
{
	return cuMemsetD32(memory, 0, 1);
}

static CUresult make_stream(void)
{
	return cuStreamCreate(&made, CU_STREAM_NON_BLOCKING);
}

static CUresult end_stream(void)
{
	return cuStreamDestroy(made);
}

static CUresult free_it(void)
{
	return cuMemFree(freed);
}

static CUresult free_host(void)
{
	return cuMemFreeHost(host);
}

static CUresult unload_library(void)
{
	return cuLibraryUnload(lib);
}

static CUresult unload_module(void)
{
	return cuModuleUnload(mod);
}

static const struct call {
	const char *name;
	CUresult (*fn)(void);
} calls[] = {
	{"cuModuleLoadData", load_module},
	{"cuModuleGetFunction", get_function},
	{"first-cuLaunchKernel", launch_first},
	{"cuLibraryLoadData", load_library},
	{"cuKernelGetAttribute", attribute_of_kernel},
	{"first-cuKernelGetFunction", first_function},
	{"first-cuFuncLoad", load_first_function},
	{"first-cuLaunchKernel-of-that-function", launch_first_function},
	{"first-cuLaunchKernel-of-a-CUkernel", launch_kernel},
	{"first-cuLibraryGetGlobal", get_variable},
	{"cuLibraryUnload-of-one-not-placed", unload_unplaced},
	{"cuLibraryUnload-of-one-placed", unload_by_function},
	{"cuLibraryGetKernel", get_kernel},
	{"cuLibraryGetModule", get_module},
	{"cuKernelGetFunction", kernel_function},
	{"cuFuncLoad", load_function},
	{"first-cuLaunchKernel-of-a-library", launch_library},
	{"cuLaunchKernel-with-more-local-memory", launch_locals},
	{"cuFuncSetAttribute", set_attribute},
	{"cuMemAlloc", allocate},
	{"cuMemHostAlloc", allocate_host},
	{"cuMemcpyHtoD", copy},
	{"cuMemsetD32", set},
	{"cuStreamCreate", make_stream},
	{"cuStreamDestroy", end_stream},
	{"cuMemFree", free_it},
	{"cuMemFreeHost", free_host},
	{"cuLibraryUnload", unload_library},
	{"cuModuleUnload", unload_module},
};

/* ---- each call, made while a kernel runs ---- */

struct asked { /* data of a separate thread */
	CUresult (*fn)(void);
	CUresult result;
	pthread_t thread;
	atomic_bool done;
};

static void *ask(void *arg)
{
	struct asked *a = arg;

	must(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	a->result = a->fn();
	atomic_store(&a->done, true);
	return NULL;
}

static bool begin(struct asked *a, CUresult (*fn)(void))
{
	*a = (struct asked){.fn = fn};
	return pthread_create(&a->thread, NULL, ask, a) == 0;
}

static bool returns(const struct asked *a)
{
	for (unsigned ms = 0; ms < WAITS_MS && !atomic_load(&a->done); ms++)
		usleep(1000);
	return atomic_load(&a->done);
}

static CUresult launch_elsewhere(void)
{
	return launch_of(add);
}

static bool beside(
	const struct call *c, CUfunction spin, CUstream stream, unsigned *flag, CUdeviceptr flag_at)
{
	void *params[] = {&flag_at};
	struct asked call, launch;
	bool goes_on, launched = true;

	__atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
	must(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL), "cuLaunchKernel");
	usleep(10000);
	if (!begin(&call, c->fn))
		return false;
	goes_on = returns(&call);
	if (!goes_on) {
		if (!begin(&launch, launch_elsewhere))
			return false;
		launched = returns(&launch);
	}
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	pthread_join(call.thread, NULL);
	if (!goes_on)
		pthread_join(launch.thread, NULL);
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	if (call.result != CUDA_SUCCESS)
		printf("%s: error %d\n", c->name, call.result);
	else
		printf("%s: %s\n", c->name,
			goes_on    ? "goes on"
			: launched ? "waits; another thread's launch goes on"
				   : "waits; another thread's launch waits, too");
	fflush(stdout);
	return true;
}

int main(void)
{
	CUlibrary *libraries[] = {&by_function, &by_kernel, &by_variable, &unplaced};
	CUdeviceptr flag_at;
	CUfunction spin;
	CUmodule own;
	CUstream stream;
	struct gpu g;
	void *flag;

	gpu_open(&g, PTX, NULL, "add");
	add = g.kernel;
	must(cuCtxGetCurrent(&ctx), "cuCtxGetCurrent");
	must(cuModuleLoadData(&own, PTX), "cuModuleLoadData");
	must(cuModuleGetFunction(&spin, own, "spin"), "cuModuleGetFunction");
	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cuMemAlloc(&memory, BYTES), "cuMemAlloc");
	must(cuMemHostAlloc(&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "cuMemHostAlloc");
	must(cuMemHostGetDevicePointer(&flag_at, flag, 0), "cuMemHostGetDevicePointer");
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
		must(cuLibraryLoadData(libraries[i], PTX, NULL, NULL, 0, NULL, NULL, 0),
			"cuLibraryLoadData");
	must(cuLibraryGetKernel(&of_function, by_function, "add"), "cuLibraryGetKernel");
	must(cuLibraryGetKernel(&of_kernel, by_kernel, "add"), "cuLibraryGetKernel");
	must(launch_elsewhere(), "cuLaunchKernel"); /* loads the kernel */
	must(cuCtxSynchronize(), "cuCtxSynchronize");
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (!beside(&calls[i], spin, stream, flag, flag_at))
			return 1;
	}
	return 0;
}
