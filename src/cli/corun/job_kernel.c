/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Specifications made ready for a device. Device memory is freed with the process: a command runs
 * its kernels and ends. */
#include "cli/corun/job_kernel.h"
#include "cli/ptx_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 256

int job_cu_failed(const struct cli *c, CUresult r, const char *what)
{
	const char *name = cu_result_name(r), *text = cu_result_text(r);

	return cli_error(
		c, NULL, "%s: %s (%s)", what, text ? text : "unknown error", name ? name : "?");
}

int job_out_of_memory(const struct cli *c)
{
	return cli_error(c, NULL, "out of memory");
}

/* ---- the module ---- */

static int no_kernel(struct job_kernel *k)
{
	struct strbuf names = {0};
	int r;

	for (size_t i = 0; i < k->module->items.len; i++) {
		const struct ptx_item *it = &k->module->items.at[i];

		if (it->kind == PTX_ITEM_FUNC && it->func->is_entry)
			strbuf_printf(&names, "%s%s", names.len ? ", " : "", it->func->sym->name);
	}
	r = cli_error(k->c, names.len ? names.at : "the file holds no kernels",
		"%s has no kernel '%s'", k->spec->file, k->spec->kernel);
	strbuf_finish(&names);
	return r;
}

static int check_args(struct job_kernel *k, const struct ptx_func *f, size_t room)
{
	uint32_t bytes, sizes[MAX_PARAMS];
	size_t n = f->params.len;

	if (n != k->spec->n_args)
		return cli_error(k->c, NULL, "kernel '%s' takes %zu arguments, %u are given",
			k->spec->kernel, n, k->spec->n_args);
	k->offsets = ARENA_ARRAY(&k->arena, uint32_t, MAX_PARAMS);
	k->buffers = ARENA_ARRAY(&k->arena, CUdeviceptr, n + 1);
	k->initial = ARENA_ARRAY(&k->arena, CUdeviceptr, n + 1);
	if (!k->offsets || !k->buffers || !k->initial)
		return job_out_of_memory(k->c);
	if (n > MAX_PARAMS || pass_param_layout(f, &bytes, k->offsets, sizes, MAX_PARAMS))
		return cli_error(k->c, NULL, "kernel '%s' has parameters of unknown layout",
			k->spec->kernel);
	k->params = arena_zalloc(&k->arena, bytes + room);
	if (!k->params)
		return job_out_of_memory(k->c);
	for (size_t i = 0; i < n; i++) {
		const struct spec_arg *arg = &k->spec->args[i];
		uint64_t have = arg->is_buffer ? 8 : arg->bytes;

		if (have != sizes[i])
			return cli_error(k->c,
				"buffers are passed as 8-byte addresses; structures "
				"are written hex:BYTES",
				"argument %zu, '%s', has %" PRIu64
				" bytes, the kernel's parameter %u",
				i + 1, arg->text, have, sizes[i]);
		if (!arg->is_buffer)
			memcpy(k->params + k->offsets[i], arg->value, arg->bytes);
	}
	k->own_bytes = bytes;
	return CLI_OK;
}

int job_kernel_read(struct cli *c, const struct spec *spec, size_t room, struct job_kernel *k)
{
	const struct ptx_func *f;
	int r;

	*k = (struct job_kernel){.c = c, .spec = spec};
	arena_init(&k->arena, 0);
	r = cli_ptx_text(c, spec->file, spec->kernel, &k->text, &k->len);
	if (r != CLI_OK)
		return r;
	diag_init(&k->diags, &k->arena, spec->file, k->text, k->len);
	if (ptx_parse(k->text, k->len, 0, &k->diags, &k->module))
		return job_out_of_memory(c);
	if (k->diags.errors) {
		cli_show_diags(&k->diags);
		return CLI_FAILED;
	}
	f = ptx_find_func(k->module, spec->kernel);
	return f && f->is_entry ? check_args(k, f, room) : no_kernel(k);
}

void job_kernel_finish(struct job_kernel *k)
{
	free(k->text);
	ptx_module_free(k->module);
	arena_finish(&k->arena);
}

/* ---- the device ---- */

/* Without it, all is compiled here. */
static void find_assembler(struct job_device *d)
{
	char *path = NULL;

	if (cli_find_part(ASSEMBLER_PART, "src/" ASSEMBLER_PART, &path) < 0)
		path = NULL;
	assembler_init(&d->assembler, &d->cu, path ? path : "", ASSEMBLER_LIMIT_S);
	free(path);
}

int job_device_open(const struct cli *c, enum dev_kind kind, struct job_device *d)
{
	CUcontext ctx;

	if (dev_open(kind, NULL, &d->cu))
		return cli_error(c, "heddle doctor says what this machine has",
			"no device: the driver library could not be opened");
	JOB_TRY(c, d->cu.cuInit(0), "the device did not start");
	JOB_TRY(c, d->cu.cuDeviceGet(&d->device, 0), "no device");
	JOB_TRY(c, d->cu.cuDeviceGetName(d->name, sizeof(d->name), d->device), "device name");
	JOB_TRY(c, d->cu.cuDevicePrimaryCtxRetain(&ctx, d->device), "no context on the device");
	JOB_TRY(c, d->cu.cuCtxSetCurrent(ctx), "no context on the device");
	find_assembler(d);
	return CLI_OK;
}

int job_room(const struct cli *c, const struct cu_api *cu, CUfunction fn, uint32_t shared_bytes)
{
	int static_bytes = 0;

	JOB_TRY(c, cu->cuFuncGetAttribute(&static_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fn),
		"kernel");
	if (shared_bytes && (uint64_t)shared_bytes + (uint32_t)static_bytes > 48 << 10)
		JOB_TRY(c,
			cu->cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				(int)shared_bytes),
			"--shared");
	return CLI_OK;
}

int job_load(const struct cli *c, const struct cu_api *cu, const char *file, const char *ptx,
	const char *entry, uint32_t shared_bytes, CUmodule *ret_module, CUfunction *ret_fn)
{
	static char log[8192];
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	CUmodule module;
	CUfunction fn;
	CUresult r;

	log[0] = 0;
	r = cu->cuModuleLoadDataEx(&module, ptx, ARRAY_LEN(options), options, values);
	if (r != CUDA_SUCCESS) {
		log[sizeof(log) - 1] = 0;
		return cli_error(c, log[0] ? log : NULL, "%s: the device refused it: %s", file,
			cu_result_name(r));
	}
	JOB_TRY(c, cu->cuModuleGetFunction(&fn, module, entry), "kernel");
	*ret_module = module;
	*ret_fn = fn;
	return job_room(c, cu, fn, shared_bytes);
}

/* What a buffer begins with, in device memory. */
static int make_initial(struct job_kernel *k, const struct cu_api *cu, unsigned i)
{
	const struct spec_arg *arg = &k->spec->args[i];
	struct strbuf err = {0};
	uint8_t *host = malloc(arg->bytes);
	int r = CLI_OK;

	if (!host)
		return cli_error(k->c, NULL, "out of memory for '%s'", arg->text);
	if (spec_fill(arg, host, &err))
		r = cli_error(k->c, NULL, "%s", err.at ? err.at : "out of memory");
	strbuf_finish(&err);
	if (r == CLI_OK && cu->cuMemAlloc(&k->initial[i], arg->bytes) != CUDA_SUCCESS)
		r = cli_error(k->c, NULL, "no device memory for '%s'", arg->text);
	if (r == CLI_OK && cu->cuMemcpyHtoD(k->initial[i], host, arg->bytes) != CUDA_SUCCESS)
		r = cli_error(k->c, NULL, "'%s' could not be copied", arg->text);
	free(host);
	return r;
}

int job_kernel_fill(struct job_kernel *k, const struct cu_api *cu)
{
	for (unsigned i = 0; i < k->spec->n_args; i++) {
		const struct spec_arg *arg = &k->spec->args[i];
		int r;

		if (!arg->is_buffer)
			continue;
		if (!k->buffers[i])
			JOB_TRY(k->c, cu->cuMemAlloc(&k->buffers[i], arg->bytes), arg->text);
		if (arg->init == SPEC_ZERO) {
			JOB_TRY(k->c, cu->cuMemsetD8(k->buffers[i], 0, arg->bytes), arg->text);
		} else {
			r = k->initial[i] ? CLI_OK : make_initial(k, cu, i);
			if (r != CLI_OK)
				return r;
			JOB_TRY(k->c, cu->cuMemcpyDtoD(k->buffers[i], k->initial[i], arg->bytes),
				arg->text);
		}
		memcpy(k->params + k->offsets[i], &k->buffers[i], sizeof(CUdeviceptr));
	}
	/* Streams of the caller's own do not wait for these copies. */
	JOB_TRY(k->c, cu->cuCtxSynchronize(), "filling buffers");
	return CLI_OK;
}

CUresult job_kernel_launch(
	const struct job_kernel *k, const struct cu_api *cu, CUfunction fn, CUstream stream)
{
	const struct spec *s = k->spec;
	size_t bytes = k->own_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, k->params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};

	return cu->cuLaunchKernel(fn, s->grid[0], s->grid[1], s->grid[2], s->block[0], s->block[1],
		s->block[2], s->shared_bytes, stream, NULL, bytes ? extra : NULL);
}

void job_kernel_shape(const struct spec *spec, struct dev_shape *ret)
{
	memcpy(ret->grid, spec->grid, sizeof(ret->grid));
	memcpy(ret->block, spec->block, sizeof(ret->block));
	ret->shared_bytes = spec->shared_bytes;
}

/* ---- what it wrote ---- */

static int write_file(const struct job_kernel *k, const struct spec_arg *arg, const void *data)
{
	FILE *f = fopen(arg->out_path, "wb");
	bool ok;

	if (!f)
		return cli_error(k->c, NULL, "%s: %s", arg->out_path, strerror(errno));
	ok = fwrite(data, 1, arg->bytes, f) == arg->bytes;
	if (fclose(f) || !ok)
		return cli_error(k->c, NULL, "%s: %s", arg->out_path, strerror(errno));
	return CLI_OK;
}

int job_kernel_write(struct job_kernel *k, const struct cu_api *cu)
{
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < k->spec->n_args; i++) {
		const struct spec_arg *arg = &k->spec->args[i];
		void *host;

		if (!arg->is_buffer || !arg->out_path)
			continue;
		host = malloc(arg->bytes);
		if (!host)
			return job_out_of_memory(k->c);
		if (cu->cuMemcpyDtoH(host, k->buffers[i], arg->bytes) != CUDA_SUCCESS)
			r = cli_error(
				k->c, NULL, "argument '%s' could not be copied back", arg->text);
		else if (!strcmp(arg->out_path, "-"))
			spec_print(arg, host, &k->c->out);
		else
			r = write_file(k, arg, host);
		free(host);
	}
	return r;
}
