/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What the preemptible form costs: one of the example programs' kernels, plain and rewritten, on
 * one stream, chunk by chunk, with and without claiming ahead, with and without the relay; outputs
 * compared byte by byte. Linked once with each program (bench/overhead.sh).
 *
 * usage: overhead PTX [SIZE [SCALE]] */
#include "../examples/common.h"
#include "dev/dev.h"
#include "dev/managed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 15

static struct cu_api cu;

static void try_at(CUresult r, int line)
{
	if (r == CUDA_SUCCESS)
		return;
	fprintf(stderr, "overhead.c:%d: %s\n", line, cu_result_name(r));
	exit(1);
}
#define TRY(call) try_at((call), __LINE__)

#define FORMS 3 /* claiming ahead; not; not, and with no more registers than the plain form */

struct variant {
	unsigned form;
	uint32_t chunk;
	bool ahead, relay;
	float ms[ROUNDS];
};

static struct {
	struct ex_work w;
	CUdeviceptr memory[EX_BUFFERS];
	CUfunction plain, managed[FORMS];
	struct pass_kernel_info info;
	struct dev_shape shape;
	unsigned char params[4096];
	void *reference[EX_BUFFERS];
	CUstream stream;
	CUevent start, end;
	CUdeviceptr block, host;
	struct ctl_host *page;
	uint32_t plain_bytes, gen, workers[FORMS], per_sm[FORMS], n_sms;
} s;

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 4 << 20);

	if (!f || !text) {
		perror(path);
		exit(1);
	}
	*ret_len = fread(text, 1, (4 << 20) - 1, f);
	fclose(f);
	return text;
}

static CUfunction load(const char *ptx)
{
	CUmodule module;
	CUfunction fn;

	TRY(cu.cuModuleLoadData(&module, ptx));
	TRY(cu.cuModuleGetFunction(&fn, module, ex_program.kernel));
	return fn;
}

static CUfunction load_form(char *text, size_t len, const struct pass_options *options)
{
	static struct diag_list diags;
	struct strbuf out = {0};
	struct ptx_module *m;
	struct pass_verdict v = {0};
	struct arena a;
	CUfunction fn;

	arena_init(&a, 0);
	diag_init(&diags, &a, "kernel", text, len);
	if (ptx_parse(text, len, 0, &diags, &m) < 0 ||
		pass_preempt_with(m, ex_program.kernel, options, &diags, &v, &s.info) < 0) {
		fprintf(stderr, "%s: %s\n", ex_program.name, v.reason ? v.reason : "not rewritten");
		exit(1);
	}
	ptx_print(m, &out);
	fn = load(out.at);
	strbuf_finish(&out);
	ptx_module_free(m);
	arena_finish(&a);
	return fn;
}

static void fill_params(char *text, size_t len)
{
	static struct diag_list diags;
	uint32_t bytes, offset[EX_ARGS], size[EX_ARGS];
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, 0);
	diag_init(&diags, &a, "kernel", text, len);
	if (ptx_parse(text, len, 0, &diags, &m) < 0)
		exit(1);
	pass_param_layout(ptx_find_func(m, ex_program.kernel), &bytes, offset, size, EX_ARGS);
	s.plain_bytes = bytes;
	for (unsigned k = 0; k < s.w.args; k++) {
		if (s.w.arg[k].is_buffer)
			memcpy(s.params + offset[k], &s.memory[s.w.arg[k].buffer], 8);
		else
			memcpy(s.params + offset[k], &s.w.arg[k].word, 4);
	}
	ptx_module_free(m);
	arena_finish(&a);
}

/* Loads all forms, and lays out the parameters. */
static void load_forms(const char *path)
{
	struct pass_options options = {0};
	size_t len;
	char *text = read_file(path, &len);
	int registers;

	s.plain = load(text);
	TRY(cu.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, s.plain));
	fill_params(text, len);
	s.managed[0] = load_form(text, len, &options);
	options.no_pull_ahead = true;
	s.managed[1] = load_form(text, len, &options);
	options.max_registers = ((uint32_t)registers + 7) / 8 * 8;
	s.managed[2] = load_form(text, len, &options);
	free(text);
}

static void open_device(void)
{
	CUcontext ctx;
	CUdevice device;
	int n;

	if (dev_open(DEV_CUDA, NULL, &cu) < 0) {
		fprintf(stderr, "overhead: no GPU\n");
		exit(77);
	}
	TRY(cu.cuInit(0));
	TRY(cu.cuDeviceGet(&device, 0));
	TRY(cu.cuDevicePrimaryCtxRetain(&ctx, device));
	TRY(cu.cuCtxSetCurrent(ctx));
	TRY(cu.cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
	s.n_sms = (uint32_t)n;
	TRY(cu.cuStreamCreate(&s.stream, 1));
	TRY(cu.cuEventCreate(&s.start, 0));
	TRY(cu.cuEventCreate(&s.end, 0));
	TRY(dev_control_create(&cu, &s.block));
	TRY(cu.cuMemHostAlloc((void **)&s.page, sizeof(*s.page), 2));
	TRY(cu.cuMemHostGetDevicePointer(&s.host, s.page, 0));
	memset(s.page, 0, sizeof(*s.page));
	memset(s.page->quota, CTL_NO_QUOTA, sizeof(s.page->quota));
	s.page->seq = 1;
}

static void upload(void)
{
	for (unsigned k = 0; k < s.w.buffers; k++) {
		TRY(cu.cuMemAlloc(&s.memory[k], s.w.buffer[k].bytes));
		TRY(cu.cuMemcpyHtoD(s.memory[k], s.w.buffer[k].host, s.w.buffer[k].bytes));
	}
}

static void reset_outputs(void)
{
	for (unsigned k = 0; k < s.w.buffers; k++)
		if (s.w.buffer[k].out)
			TRY(cu.cuMemsetD8(s.memory[k], 0xff, s.w.buffer[k].bytes));
	TRY(cu.cuCtxSynchronize());
}

/* Number of buffers that differ from the plain form's. */
static unsigned compare_outputs(void)
{
	unsigned wrong = 0;

	for (unsigned k = 0; k < s.w.buffers; k++) {
		size_t bytes = s.w.buffer[k].bytes;

		if (!s.w.buffer[k].out)
			continue;
		TRY(cu.cuMemcpyDtoH(s.w.buffer[k].host, s.memory[k], bytes));
		if (!s.reference[k]) {
			s.reference[k] = malloc(bytes);
			memcpy(s.reference[k], s.w.buffer[k].host, bytes);
		}
		wrong += memcmp(s.reference[k], s.w.buffer[k].host, bytes) != 0;
	}
	return wrong;
}

static void launch(CUfunction fn, const uint32_t grid[3], size_t bytes)
{
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, s.params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};

	TRY(cu.cuLaunchKernel(
		fn, grid[0], grid[1], grid[2], s.w.block, 1, 1, 0, s.stream, NULL, extra));
}

static float run_once(const struct variant *v)
{
	float ms;

	TRY(cu.cuEventRecord(s.start, s.stream));
	if (v->chunk == 0) {
		launch(s.plain, s.w.grid, s.plain_bytes);
	} else {
		struct dev_steering st = {.chunk = v->chunk, .pull_ahead = v->ahead};
		uint32_t grid[3] = {s.workers[v->form], 1, 1};
		struct ctl_args args;

		dev_fill_args(&s.shape, &s.info, s.block, v->relay ? s.host : 0, s.gen,
			s.workers[v->form], &st, &args);
		memcpy(s.params + s.info.arg_offset, &args, sizeof(args));
		launch(s.managed[v->form], grid, s.info.param_bytes);
		s.gen++;
		TRY(cu.cuStreamWaitValue32(
			s.stream, s.block + offsetof(struct ctl_block, gate), s.gen, 0));
	}
	TRY(cu.cuEventRecord(s.end, s.stream));
	TRY(cu.cuEventSynchronize(s.end));
	TRY(cu.cuEventElapsedTime(&ms, s.start, s.end));
	return ms;
}

static int by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static void print_registers(void)
{
	int n;

	TRY(cu.cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, s.plain));
	printf("%s: grid %ux%ux%u of %u, %d registers", ex_program.name, s.w.grid[0], s.w.grid[1],
		s.w.grid[2], s.w.block, n);
	for (unsigned k = 0; k < FORMS; k++) {
		TRY(cu.cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, s.managed[k]));
		printf(" -> %d (%u per SM)", n, s.per_sm[k]);
	}
	printf("\n");
}

/* Yields now and then, and is resumed: the result must be the same. */
static void check_yields(void)
{
	uint64_t total = dev_total_blocks(&s.shape);
	struct dev_steering st = {
		.chunk = 2, .pull_ahead = true, .yield_every = (uint32_t)(total / 7 + 1)};
	struct dev_managed_stats stats;

	reset_outputs();
	TRY(dev_managed_run(&cu, s.managed[0], NULL, &s.info, &s.shape, s.params, &st, s.block,
		&s.gen, &stats));
	printf("  yields: %u launches, %s\n", stats.launches,
		compare_outputs() ? "WRONG" : "right");
}

int main(int argc, char **argv)
{
	static struct variant v[] = {{0}, {0, 1, true}, {0, 4, true}, {0, 8, true}, {0, 16, true},
		{1, 1}, {1, 4}, {1, 8}, {1, 16}, {2, 1}, {2, 4}, {2, 8}, {2, 16}, {2, 32},
		{0, 8, true, true}, {2, 1, false, true}, {2, 2, false, true}, {2, 4, false, true},
		{2, 8, false, true}};
	const char *size = argc > 2 ? argv[2] : "small";

	if (argc < 2) {
		fprintf(stderr, "usage: overhead PTX [SIZE [SCALE]]\n");
		return 2;
	}
	s.w.size = ex_find_size(ex_program.name, "gpu", size);
	s.w.scale = argc > 3 ? atof(argv[3]) : 1.0;
	s.w.seed = 1;
	if (!s.w.size)
		return 2;
	ex_program.build(&s.w);
	open_device();
	upload();
	load_forms(argv[1]);
	s.shape = (struct dev_shape){{s.w.grid[0], s.w.grid[1], s.w.grid[2]}, {s.w.block, 1, 1}, 0};
	for (unsigned k = 0; k < FORMS; k++)
		TRY(dev_workers(&cu, s.managed[k], &s.shape, s.n_sms, &s.per_sm[k], &s.workers[k]));
	print_registers();
	for (int round = -1; round < ROUNDS; round++)
		for (size_t k = 0; k < ARRAY_LEN(v); k++) {
			if (round < 0)
				reset_outputs();
			v[k].ms[MAX(round, 0)] = run_once(&v[k]);
			if (round < 0 && compare_outputs())
				printf("  variant %zu is WRONG\n", k);
		}
	for (size_t k = 0; k < ARRAY_LEN(v); k++) {
		qsort(v[k].ms, ROUNDS, sizeof(float), by_size);
		printf("  form %u chunk %u%s%s: %.4f ms (%.4f to %.4f) %+.2f %%\n", v[k].form,
			v[k].chunk, v[k].ahead ? " ahead" : "", v[k].relay ? " relay" : "",
			v[k].ms[ROUNDS / 2], v[k].ms[0], v[k].ms[ROUNDS - 1],
			100.0 * (v[k].ms[ROUNDS / 2] / v[0].ms[ROUNDS / 2] - 1.0));
	}
	check_yields();
	return 0;
}
