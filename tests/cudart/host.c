/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The parts that nvcc puts into an object file, written by hand: a wrapper around each fatbin, a
 * constructor that registers its contents, and a host function for each kernel. The constructor
 * makes the fatbins. */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include "image/fixture.h"

#define HEAD ".version 7.8\n.target sm_80\n.address_size 64\n"

static const char first_ptx[] =
	HEAD ".visible .global .align 4 .u32 factor = 3;\n"
	     ".visible .const .align 4 .u32 offset = 0;\n"
	     ".visible .global .align 4 .b8 table[64];\n"
	     ".visible .global .attribute(.managed) .align 4 .u32 total = 100;\n"
	     ".extern .shared .align 4 .b8 pool[];\n"
	     ".visible .entry scale(.param .u64 out, .param .u64 in, .param .u32 n)\n{\n"
	     "	.reg .u64 %d<6>; .reg .u32 %r<10>; .reg .pred %p;\n"
	     "	ld.param.u64 %d1, [out]; ld.param.u64 %d2, [in]; ld.param.u32 %r1, [n];\n"
	     "	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	     "	mad.lo.u32 %r5, %r2, %r3, %r4;\n"
	     "	setp.ge.u32 %p, %r5, %r1;\n"
	     "	@%p bra DONE;\n"
	     "	mul.wide.u32 %d3, %r5, 4;\n"
	     "	add.u64 %d4, %d2, %d3; ld.global.u32 %r6, [%d4];\n"
	     "	ld.global.u32 %r7, [factor]; ld.const.u32 %r8, [offset];\n"
	     "	mad.lo.u32 %r9, %r6, %r7, %r8;\n"
	     "	add.u64 %d5, %d1, %d3; st.global.u32 [%d5], %r9;\n"
	     "DONE:\n	ret;\n}\n"
	     ".visible .entry wait_for(.param .u64 go)\n{\n"
	     "	.reg .u64 %d<2>; .reg .u32 %r<2>; .reg .pred %p;\n"
	     "	ld.param.u64 %d1, [go];\n"
	     "AGAIN:\n	ld.volatile.global.u32 %r1, [%d1];\n"
	     "	setp.eq.u32 %p, %r1, 0;\n"
	     "	@%p bra AGAIN;\n	ret;\n}\n"
	     ".visible .entry astray()\n{\n"
	     "	.reg .u64 %d<2>; .reg .u32 %r<2>;\n"
	     "	mov.u64 %d1, 64; mov.u32 %r1, 1; st.global.u32 [%d1], %r1;\n	ret;\n}\n"
	     ".visible .entry sum_shared(.param .u64 sum)\n{\n"
	     "	.reg .u64 %d<4>; .reg .u32 %r<8>; .reg .pred %p;\n"
	     "	ld.param.u64 %d1, [sum];\n"
	     "	mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x;\n"
	     "	mov.u64 %d2, pool; mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d2, %d3;\n"
	     "	st.shared.u32 [%d3], %r1;\n"
	     "	bar.sync 0;\n"
	     "	setp.ne.u32 %p, %r1, 0;\n"
	     "	@%p bra DONE;\n"
	     "	mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
	     "NEXT:\n	ld.shared.u32 %r5, [%d2]; add.u32 %r3, %r3, %r5; add.u64 %d2, %d2, 4;\n"
	     "	add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, %r2;\n"
	     "	@%p bra NEXT;\n"
	     "	st.global.u32 [%d1], %r3;\n"
	     "DONE:\n	ret;\n}\n"
	     ".visible .entry count_one()\n{\n"
	     "	.reg .u32 %r<3>;\n"
	     "	ld.global.u32 %r1, [total]; add.u32 %r2, %r1, 1; st.global.u32 [total], %r2;\n"
	     "	ret;\n}\n";

static const char second_ptx[] =
	HEAD ".visible .entry number(.param .u64 out, .param .u32 n)\n{\n"
	     "	.reg .u64 %d<4>; .reg .u32 %r<6>; .reg .pred %p;\n"
	     "	ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n];\n"
	     "	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	     "	mad.lo.u32 %r5, %r2, %r3, %r4;\n"
	     "	setp.ge.u32 %p, %r5, %r1;\n"
	     "	@%p bra DONE;\n"
	     "	mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d1, %d2; st.global.u32 [%d3], %r5;\n"
	     "DONE:\n	ret;\n}\n";

unsigned factor, offset, table[16];
unsigned *total_pointer;

static void **first, **second; /* module handles */

/* ---- host functions of kernels ---- */

/* The address of a host function identifies the kernel; the runtime takes it as an object
 * pointer. */
static const void *address(void (*fn)(void))
{
	return (const void *)(uintptr_t)fn;
}

static void launch(void (*fn)(void), void **args)
{
	struct rt_dim3 grid, block;
	size_t shared;
	CUstream stream;

	if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess)
		cudaLaunchKernel(address(fn), grid, block, args, shared, stream);
}

void scale(unsigned *out, const unsigned *in, unsigned n)
{
	void *args[] = {&out, &in, &n};

	launch((void (*)(void))scale, args);
}

/* Launches as code from CUDA 13's nvcc does: by the kernel's handle, which it looks up once. */
void number(unsigned *out, unsigned n)
{
	static CUkernel kernel;
	void *args[] = {&out, &n};
	struct rt_dim3 grid, block;
	size_t shared;
	CUstream stream;

	if (!kernel)
		__cudaGetKernel(&kernel, address((void (*)(void))number));
	if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess)
		__cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

void wait_for(const unsigned *go)
{
	void *args[] = {&go};

	launch((void (*)(void))wait_for, args);
}

void astray(void)
{
	void *args[1] = {NULL};

	launch(astray, args);
}

void sum_shared(unsigned *sum)
{
	void *args[] = {&sum};

	launch((void (*)(void))sum_shared, args);
}

void count_one(void)
{
	void *args[1] = {NULL};

	launch(count_one, args);
}

unsigned *total(void)
{
	static char is_inited;

	if (!is_inited)
		is_inited = __cudaInitModule(first);
	return total_pointer;
}

/* ---- registration with the runtime ---- */

struct wrapper {
	int magic, version;
	const void *data;
	void *more;
};

static void unregister_all(void)
{
	__cudaUnregisterFatBinary(second);
	__cudaUnregisterFatBinary(first);
}

static void **open_fatbin(struct wrapper *w, struct strbuf *box, const char *ptx, bool compressed)
{
	struct fixture_entry e = {.kind = IMAGE_PTX,
		.arch = 80,
		.packing = compressed ? IMAGE_LZ4 : IMAGE_PLAIN,
		.text = ptx};

	fixture_container(box, &e, 1);
	*w = (struct wrapper){0x466243b1, 1, box->at, NULL};
	return __cudaRegisterFatBinary(w);
}

static void add_kernel(void **handle, void (*fn)(void), const char *name)
{
	__cudaRegisterFunction(
		handle, address(fn), (char *)name, name, -1, NULL, NULL, NULL, NULL, NULL);
}

static void add_variable(void **handle, void *host, const char *name, size_t bytes, int constant)
{
	__cudaRegisterVar(handle, host, (char *)name, name, 0, bytes, constant, 0);
}

__attribute__((constructor)) static void register_all(void)
{
	static struct wrapper wrappers[2];
	static struct strbuf boxes[2];

	first = open_fatbin(&wrappers[0], &boxes[0], first_ptx, false);
	add_kernel(first, (void (*)(void))scale, "scale");
	add_kernel(first, (void (*)(void))wait_for, "wait_for");
	add_kernel(first, astray, "astray");
	add_kernel(first, (void (*)(void))sum_shared, "sum_shared");
	add_kernel(first, count_one, "count_one");
	add_variable(first, &factor, "factor", sizeof(factor), 0);
	add_variable(first, &offset, "offset", sizeof(offset), 1);
	add_variable(first, table, "table", sizeof(table), 0);
	__cudaRegisterManagedVar(
		first, (void **)&total_pointer, "total", "total", 0, sizeof(unsigned), 0, 0);
	__cudaRegisterFatBinaryEnd(first);
	second = open_fatbin(&wrappers[1], &boxes[1], second_ptx, true);
	add_kernel(second, (void (*)(void))number, "number");
	__cudaRegisterFatBinaryEnd(second);
	atexit(unregister_all);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} groups[] = {
		{"errors", run_errors},
		{"devices", run_devices},
		{"two", run_two},
		{"memory", run_memory},
		{"copies", run_copies},
		{"symbols", run_symbols},
		{"streams", run_streams},
		{"kernels", run_kernels},
		{"graphs", run_graphs},
		{"threads", run_threads},
		{"faults", run_faults},
	};

	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		if (argc == 2 && !strcmp(argv[1], groups[i].name))
			return groups[i].run();
	print_error("usage: %s GROUP\n", argv[0]);
	return 2;
}
