/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One kernel specification on one device. The program owns the device for as long as it runs; each
 * step says what failed in terms of the specification. */
#include "cli/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct cli *c;
	const struct spec *spec;
	const struct job_options *o;
	struct arena arena;
	struct diag_list diags;
	char *text;
	size_t len;
	struct ptx_module *module;
	struct pass_kernel_info info;
	struct pass_verdict verdict;
	bool managed; /* transformed: managed or guard */
	struct strbuf image;
	struct cu_api cu;
	CUmodule loaded;
	CUfunction fn, closer;
	CUdeviceptr control;
	uint32_t gen;
	CUdeviceptr *buffers; /* for each argument; 0: a scalar */
	uint8_t *params;
	uint32_t own_bytes; /* of the kernel's own parameters */
};

static int cu_failed(struct job *j, CUresult r, const char *what)
{
	const char *name = cu_result_name(r), *text = cu_result_text(r);

	return cli_error(
		j->c, NULL, "%s: %s (%s)", what, text ? text : "unknown error", name ? name : "?");
}
#define TRY(call, what)                                \
	do {                                           \
		CUresult r_ = (call);                  \
		if (r_ != CUDA_SUCCESS)                \
			return cu_failed(j, r_, what); \
	} while (0)

/* ---- the module ---- */

static int out_of_memory(struct job *j)
{
	return cli_error(j->c, NULL, "out of memory");
}

static int no_kernel(struct job *j)
{
	struct strbuf names = {0};
	int r;

	for (size_t i = 0; i < j->module->items.len; i++) {
		const struct ptx_item *it = &j->module->items.at[i];

		if (it->kind == PTX_ITEM_FUNC && it->func->is_entry)
			strbuf_printf(&names, "%s%s", names.len ? ", " : "", it->func->sym->name);
	}
	r = cli_error(j->c, names.len ? names.at : "the file holds no kernels",
		"%s has no kernel '%s'", j->spec->file, j->spec->kernel);
	strbuf_finish(&names);
	return r;
}

static int check_args(struct job *j, const struct ptx_func *f)
{
	uint32_t bytes, offsets[256], sizes[256];
	size_t n = f->params.len;

	if (n != j->spec->n_args)
		return cli_error(j->c, NULL, "kernel '%s' takes %zu arguments, %u are given",
			j->spec->kernel, n, j->spec->n_args);
	if (n > ARRAY_LEN(sizes) || pass_param_layout(f, &bytes, offsets, sizes, ARRAY_LEN(sizes)))
		return cli_error(j->c, NULL, "kernel '%s' has parameters of unknown layout",
			j->spec->kernel);
	j->params = arena_zalloc(&j->arena, bytes + sizeof(struct ctl_args) + 16);
	if (!j->params)
		return out_of_memory(j);
	for (size_t i = 0; i < n; i++) {
		const struct spec_arg *arg = &j->spec->args[i];
		uint64_t have = arg->is_buffer ? 8 : arg->bytes;

		if (have != sizes[i])
			return cli_error(j->c,
				"buffers are passed as 8-byte addresses; structures "
				"are written hex:BYTES",
				"argument %zu, '%s', has %" PRIu64
				" bytes, the kernel's parameter %u",
				i + 1, arg->text, have, sizes[i]);
		if (!arg->is_buffer)
			memcpy(j->params + offsets[i], arg->value, arg->bytes);
	}
	j->own_bytes = bytes;
	j->info.param_bytes = j->info.arg_offset = bytes;
	return CLI_OK;
}

static int transform(struct job *j)
{
	int r = pass_preempt(j->module, j->spec->kernel, &j->diags, &j->verdict, &j->info);

	if (r == 0 && j->info.one_dimensional && (j->spec->block[1] > 1 || j->spec->block[2] > 1)) {
		/* The rewritten module is dropped: the text is loaded as it is. */
		j->verdict = (struct pass_verdict){PASS_HELD,
			"its rewritten form holds for blocks of one dimension only", 0, 0};
		j->info.param_bytes = j->info.arg_offset = j->own_bytes;
	} else if (r == 0) {
		j->managed = true;
	} else if (r != -ENOTSUP) {
		cli_show_diags(&j->diags);
		return cli_error(j->c, "this is a bug in heddle: please report it with the file",
			"%s: kernel '%s' could not be rewritten", j->spec->file, j->spec->kernel);
	}
	return CLI_OK;
}

static int prepare_module(struct job *j)
{
	const struct ptx_func *f;
	int r = cli_read_file(j->c, j->spec->file, &j->text, &j->len);

	if (r != CLI_OK)
		return r;
	diag_init(&j->diags, &j->arena, j->spec->file, j->text, j->len);
	if (ptx_parse(j->text, j->len, 0, &j->diags, &j->module))
		return out_of_memory(j);
	if (j->diags.errors) {
		cli_show_diags(&j->diags);
		return CLI_FAILED;
	}
	f = ptx_find_func(j->module, j->spec->kernel);
	if (!f || !f->is_entry)
		return no_kernel(j);
	r = check_args(j, f); /* against the program's own parameters, before ours is added */
	if (r == CLI_OK && j->o->preempt)
		r = transform(j);
	if (r == CLI_OK && j->o->steering.first && !j->managed)
		r = cli_error(j->c, j->verdict.reason,
			"kernel '%s' has no preemptible form: it cannot begin at block %" PRIu64,
			j->spec->kernel, j->o->steering.first);
	if (r != CLI_OK)
		return r;
	if (j->managed)
		ptx_print(j->module, &j->image);
	else
		strbuf_add(&j->image, j->text, j->len);
	return j->image.failed ? out_of_memory(j) : CLI_OK;
}

/* ---- the device ---- */

static int open_device(struct job *j, struct job_result *res)
{
	CUdevice device;
	CUcontext ctx;

	if (dev_open(j->o->device, NULL, &j->cu))
		return cli_error(j->c, "heddle doctor says what this machine has",
			"no device: the driver library could not be opened");
	TRY(j->cu.cuInit(0), "the device did not start");
	TRY(j->cu.cuDeviceGet(&device, 0), "no device");
	TRY(j->cu.cuDeviceGetName(res->device_name, sizeof(res->device_name), device),
		"device name");
	TRY(j->cu.cuDevicePrimaryCtxRetain(&ctx, device), "no context on the device");
	TRY(j->cu.cuCtxSetCurrent(ctx), "no context on the device");
	return CLI_OK;
}

static int load_module(struct job *j)
{
	static char log[8192];
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	CUresult r;

	log[0] = 0;
	r = j->cu.cuModuleLoadDataEx(&j->loaded, j->image.at, ARRAY_LEN(options), options, values);
	if (r != CUDA_SUCCESS) {
		log[sizeof(log) - 1] = 0;
		return cli_error(j->c, log[0] ? log : NULL, "%s: the device refused it: %s",
			j->spec->file, cu_result_name(r));
	}
	TRY(j->cu.cuModuleGetFunction(&j->fn, j->loaded, j->spec->kernel), "kernel");
	if (j->spec->shared_bytes > 48 << 10)
		TRY(j->cu.cuFuncSetAttribute(j->fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
			    (int)j->spec->shared_bytes),
			"--shared");
	if (j->managed)
		TRY(dev_control_create(&j->cu, &j->control), "control block");
	if (j->managed && j->info.tier == PASS_GUARD) {
		CUmodule closer;

		TRY(j->cu.cuModuleLoadData(&closer, pass_closer_ptx()), "closing kernel");
		TRY(j->cu.cuModuleGetFunction(&j->closer, closer, CTL_CLOSER), "closing kernel");
	}
	return CLI_OK;
}

/* The buffers' initial contents, also between repeats: each run starts from the same memory. */
static int fill_buffers(struct job *j)
{
	uint32_t bytes, offsets[256], sizes[256];
	const struct ptx_func *f = ptx_find_func(j->module, j->spec->kernel);
	struct strbuf err = {0};
	int r = CLI_OK;

	pass_param_layout(f, &bytes, offsets, sizes, ARRAY_LEN(sizes));
	for (unsigned i = 0; r == CLI_OK && i < j->spec->n_args; i++) {
		const struct spec_arg *arg = &j->spec->args[i];
		uint8_t *host;

		if (!arg->is_buffer)
			continue;
		if (!j->buffers[i])
			TRY(j->cu.cuMemAlloc(&j->buffers[i], arg->bytes), arg->text);
		memcpy(j->params + offsets[i], &j->buffers[i], 8);
		host = malloc(arg->bytes);
		if (!host)
			return out_of_memory(j);
		if (spec_fill(arg, host, &err))
			r = cli_error(j->c, NULL, "%s", err.at ? err.at : "out of memory");
		else if (j->cu.cuMemcpyHtoD(j->buffers[i], host, arg->bytes) != CUDA_SUCCESS)
			r = cli_error(j->c, NULL, "argument '%s' could not be copied", arg->text);
		free(host);
	}
	strbuf_finish(&err);
	return r;
}

static CUresult launch_plain(struct job *j)
{
	const struct spec *s = j->spec;
	size_t bytes = j->info.param_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, j->params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};

	return j->cu.cuLaunchKernel(j->fn, s->grid[0], s->grid[1], s->grid[2], s->block[0],
		s->block[1], s->block[2], s->shared_bytes, NULL, NULL, bytes ? extra : NULL);
}

static int launch_timed(struct job *j, struct job_result *res, float *ret_ms)
{
	struct dev_shape shape = {.shared_bytes = j->spec->shared_bytes};
	CUevent start, stop;
	CUresult r;

	memcpy(shape.grid, j->spec->grid, sizeof(shape.grid));
	memcpy(shape.block, j->spec->block, sizeof(shape.block));
	TRY(j->cu.cuEventCreate(&start, 0), "event");
	TRY(j->cu.cuEventCreate(&stop, 0), "event");
	TRY(j->cu.cuEventRecord(start, NULL), "event");
	r = j->managed ? dev_managed_run(&j->cu, j->fn, j->closer, &j->info, &shape, j->params,
				 &j->o->steering, j->control, &j->gen, &res->stats)
		       : launch_plain(j);
	if (r == CUDA_SUCCESS)
		r = j->cu.cuEventRecord(stop, NULL);
	if (r == CUDA_SUCCESS)
		r = j->cu.cuCtxSynchronize();
	if (r != CUDA_SUCCESS)
		return cu_failed(j, r, j->spec->kernel);
	TRY(j->cu.cuEventElapsedTime(ret_ms, start, stop), "event");
	j->cu.cuEventDestroy(start);
	j->cu.cuEventDestroy(stop);
	return CLI_OK;
}

static int write_file(struct job *j, const struct spec_arg *arg, const void *data)
{
	FILE *f = fopen(arg->out_path, "wb");
	bool ok;

	if (!f)
		return cli_error(j->c, NULL, "%s: %s", arg->out_path, strerror(errno));
	ok = fwrite(data, 1, arg->bytes, f) == arg->bytes;
	if (fclose(f) || !ok)
		return cli_error(j->c, NULL, "%s: %s", arg->out_path, strerror(errno));
	return CLI_OK;
}

static int write_buffers(struct job *j)
{
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < j->spec->n_args; i++) {
		const struct spec_arg *arg = &j->spec->args[i];
		void *host;

		if (!arg->is_buffer || !arg->out_path)
			continue;
		host = malloc(arg->bytes);
		if (!host)
			return out_of_memory(j);
		if (j->cu.cuMemcpyDtoH(host, j->buffers[i], arg->bytes) != CUDA_SUCCESS)
			r = cli_error(
				j->c, NULL, "argument '%s' could not be copied back", arg->text);
		else if (!strcmp(arg->out_path, "-"))
			spec_print(arg, host, &j->c->out);
		else
			r = write_file(j, arg, host);
		free(host);
	}
	return r;
}

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static int run_all(struct job *j, struct job_result *res)
{
	unsigned n = MAX(j->o->repeat, 1u);
	float *ms = ARENA_ARRAY(&j->arena, float, n);
	int r = prepare_module(j);

	j->buffers = ARENA_ARRAY(&j->arena, CUdeviceptr, j->spec->n_args + 1);
	if (!ms || !j->buffers)
		return out_of_memory(j);
	if (r == CLI_OK)
		r = open_device(j, res);
	if (r == CLI_OK)
		r = load_module(j);
	for (unsigned i = 0; r == CLI_OK && i < n; i++) {
		r = fill_buffers(j);
		if (r == CLI_OK)
			r = launch_timed(j, res, &ms[i]);
	}
	if (r == CLI_OK)
		r = write_buffers(j);
	if (r == CLI_OK) {
		qsort(ms, n, sizeof(*ms), by_value);
		res->ms = ms[n / 2];
		res->tier = j->managed ? j->info.tier : PASS_HELD;
	}
	return r;
}

int job_run(
	struct cli *c, const struct spec *spec, const struct job_options *o, struct job_result *ret)
{
	struct job j = {.c = c, .spec = spec, .o = o};
	struct job_result res = {.ms = -1};
	int r;

	arena_init(&j.arena, 0);
	r = run_all(&j, &res);
	if (r == CLI_OK) {
		res.reason = j.verdict.reason ? arena_strndup(spec->arena, j.verdict.reason,
							strlen(j.verdict.reason))
					      : NULL;
		*ret = res;
	}
	free(j.text);
	strbuf_finish(&j.image);
	ptx_module_free(j.module);
	arena_finish(&j.arena);
	return r;
}
