/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prepares kernel specifications on a device. Most device memory is freed only when the process
 * ends, because a command runs its kernels and exits. */
#include "job/job_kernel.h"
#include "base/text.h"
#include "host/client.h"
#include "host/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 256

const struct host_words job_words = {
	.numbered = true,
	.help = "--help-others",
	.steal = "--how merge --schedule steal",
	.mixed = "--schedule mixed",
	.streams = "--how streams",
	.vertical = "--how vertical",
	.plain = "--how sequential and --how streams run any kernels",
	.time = "--compile-s",
	.ptx = "the files",
};

int job_host_failed(const struct cli *c, const struct host_fault *f)
{
	struct strbuf text = {0}, hint = {0};
	int r;

	host_explain(f, NULL, &job_words, &text, &hint);
	r = cli_error(c, hint.len ? hint.at : NULL, "%s", text.at ? text.at : "out of memory");
	strbuf_finish(&text);
	strbuf_finish(&hint);
	return r;
}

int job_cu_failed(const struct cli *c, CUresult r, const char *what)
{
	struct host_fault f;

	host_cu_failed(&f, r, what);
	return job_host_failed(c, &f);
}

int job_out_of_memory(const struct cli *c)
{
	return cli_error(c, NULL, "out of memory");
}

/* ---- loading the module ---- */

/* Copies the recorded parameters. put_addresses later replaces the addresses in them. */
static int take_recorded(struct job_kernel *k, uint32_t bytes)
{
	const struct record *r = k->spec->record;

	if (bytes != r->param_bytes)
		return cli_error(k->c, "this is a bug in heddle: please report it with the file",
			"%s: kernel '%s' has %u bytes of parameters, %u were recorded",
			k->spec->file, k->spec->kernel, bytes, r->param_bytes);
	memcpy(k->params, r->params, bytes);
	return CLI_OK;
}

static int check_args(struct job_kernel *k, const struct ptx_func *f, size_t room)
{
	uint32_t bytes, sizes[MAX_PARAMS];
	size_t n = f->params.len, n_args = k->spec->n_args;

	if (!k->spec->record && n != n_args)
		return cli_error(k->c, NULL, "kernel '%s' takes %s, %u %s given", k->spec->kernel,
			COUNTED(n, "argument"), k->spec->n_args,
			k->spec->n_args == 1 ? "is" : "are");
	k->offsets = ARENA_ARRAY(&k->arena, uint32_t, MAX_PARAMS);
	k->buffers = ARENA_ARRAY(&k->arena, CUdeviceptr, n_args + 1);
	k->initial = ARENA_ARRAY(&k->arena, CUdeviceptr, n_args + 1);
	if (!k->offsets || !k->buffers || !k->initial)
		return job_out_of_memory(k->c);
	if (n > MAX_PARAMS || pass_param_layout(f, &bytes, k->offsets, sizes, MAX_PARAMS))
		return cli_error(k->c, NULL, "kernel '%s' has parameters of unknown layout",
			k->spec->kernel);
	k->params = arena_zalloc(&k->arena, bytes + room);
	if (!k->params)
		return job_out_of_memory(k->c);
	k->own_bytes = bytes;
	if (k->spec->record)
		return take_recorded(k, bytes);
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
	return CLI_OK;
}

int job_ptx_read(struct cli *c, struct arena *a, const struct spec *spec, struct cli_kernel *ret)
{
	const struct record *r = spec->record;

	return r ? cli_kernel_parse(c, a, spec->file, r->ptx, r->ptx_len, spec->kernel, ret)
		 : cli_kernel_read(c, a, spec->file, spec->kernel, ret);
}

int job_kernel_read(struct cli *c, const struct spec *spec, size_t room, struct job_kernel *k)
{
	int r;

	*k = (struct job_kernel){.c = c, .spec = spec};
	arena_init(&k->arena, 0);
	r = job_ptx_read(c, &k->arena, spec, &k->src);
	if (r != CLI_OK)
		return r;
	k->entry = k->src.f->sym->name;
	return check_args(k, k->src.f, room);
}

void job_kernel_finish(struct job_kernel *k)
{
	cli_kernel_finish(&k->src);
	arena_finish(&k->arena);
}

/* ---- opening the device ---- */

enum dev_kind job_device_kind(const struct cli *c)
{
	const char *device = cli_value(c, "device");
	enum dev_kind kind = DEV_AUTO;

	if (device)
		dev_kind_parse(device, &kind);
	return kind;
}

int job_device_open(const struct cli *c, enum dev_kind kind, struct host_device *d)
{
	const char *device = cli_value(c, "device");
	/* For "tenant", load the library that the loader of any program would find. */
	const char *driver = device && !strcmp(device, "tenant") ? "libcuda.so.1" : NULL;
	struct host_fault f;
	char *path = NULL;
	int r;

	if (dev_open(kind, driver, &d->cu))
		return cli_error(c, "heddle doctor says what this machine has",
			"no device: the driver library could not be opened");
	d->ordinal = 0; /* index among the visible devices (front/device.c) */
	JOB_TRY(c, d->cu.cuInit(0), "the device did not start");
	if (cli_find_part(ASSEMBLER_PART, "src/" ASSEMBLER_PART, &path) < 0)
		path = NULL;
	r = host_device_open(d, path ? path : "", &f);
	free(path);
	if (r < 0)
		return job_host_failed(c, &f);
	JOB_TRY(c, d->cu.cuCtxSetCurrent(d->context), "no context on the device");
	return CLI_OK;
}

static bool holds_addresses(const struct job_kernel *k, unsigned i)
{
	const struct record *r = k->spec->record;

	return r && r->regions[i].pointer_at != RECORD_NO_POINTER;
}

static int find_variables(struct job_kernel *k, const struct cu_api *cu, CUmodule module)
{
	for (unsigned i = 0; i < k->spec->n_args; i++) {
		const struct spec_arg *arg = &k->spec->args[i];
		size_t bytes;

		if (!arg->variable)
			continue;
		JOB_TRY(k->c, cu->cuModuleGetGlobal(&k->buffers[i], &bytes, module, arg->variable),
			arg->text);
		if (bytes != arg->bytes)
			return cli_error(k->c, NULL,
				"%s: %s has %zu bytes here, %" PRIu64 " were recorded",
				k->spec->file, arg->text, bytes, arg->bytes);
	}
	/* Initial contents that contain addresses refer to the previous module. They are freed
	 * here, and the next fill makes them again. */
	for (unsigned i = 0; i < k->spec->n_args; i++)
		if (holds_addresses(k, i) && k->initial[i]) {
			JOB_TRY(k->c, cu->cuMemFree(k->initial[i]), k->spec->args[i].text);
			k->initial[i] = 0;
		}
	return CLI_OK;
}

static uint64_t device_limit(const struct host_device *d, CUdevice_attribute which)
{
	return host_attribute(&d->cu, d->device, which);
}

/* Compares a shape with the limits of the device and of the kernel. The driver refuses a launch
 * beyond a limit, too, but its error does not name the limit. */
static int check_shape(const struct job_kernel *k, const struct host_device *d, CUfunction fn)
{
	const struct host_shape *s = &k->spec->shape;
	const struct {
		const char *what, *unit;
		uint64_t value;
		CUdevice_attribute limit;
	} rows[] = {
		{"--block", "threads in x", s->block[0], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
		{"--block", "threads in y", s->block[1], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
		{"--block", "threads in z", s->block[2], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
		{"--block", "threads", (uint64_t)s->block[0] * s->block[1] * s->block[2],
			CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
		{"--grid", "blocks in x", s->grid[0], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
		{"--grid", "blocks in y", s->grid[1], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
		{"--grid", "blocks in z", s->grid[2], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
	};
	uint64_t limit;
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (k->by_workers && !strcmp(rows[i].what, "--grid"))
			continue;
		limit = device_limit(d, rows[i].limit);
		if (limit && rows[i].value > limit)
			return cli_error(k->c, NULL,
				"%s: %" PRIu64 " %s: this device allows %" PRIu64, rows[i].what,
				rows[i].value, rows[i].unit, limit);
	}
	if (d->cu.cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fn) ==
			CUDA_SUCCESS &&
		n > 0 && rows[3].value > (uint64_t)n)
		return cli_error(k->c, NULL,
			"--block: %" PRIu64 " threads: kernel '%s' allows %d on this device",
			rows[3].value, k->spec->kernel, n);
	limit = device_limit(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	if (d->cu.cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fn) == CUDA_SUCCESS &&
		limit && (uint64_t)n + s->shared_bytes > limit)
		return cli_error(k->c, NULL,
			"--shared: %u bytes, and %d of variables of kernel '%s': this device "
			"allows "
			"%" PRIu64,
			s->shared_bytes, n, k->spec->kernel, limit);
	return CLI_OK;
}

int job_kernel_load(struct job_kernel *k, const struct host_device *d, const char *ptx,
	CUmodule *ret_module, CUfunction *ret_fn)
{
	const struct spec *s = k->spec;
	struct host_fault f;

	int r;

	if (host_load(d, s->file, ptx, k->entry, ret_module, ret_fn, &f) < 0)
		return job_host_failed(k->c, &f);
	r = check_shape(k, d, *ret_fn);
	if (r != CLI_OK)
		return r;
	if (host_room(d, *ret_fn, s->shape.shared_bytes, &f) < 0)
		return job_host_failed(k->c, &f);
	return find_variables(k, &d->cu, *ret_module);
}

/* Replaces addresses in a buffer's recorded contents with the addresses of this process's
 * buffers. */
static void relocate_addresses(const struct job_kernel *k, unsigned i, uint8_t *at)
{
	const struct record_region *g = &k->spec->record->regions[i];

	for (uint64_t w = g->pointer_at; w + 8 <= g->bytes; w += 8) {
		uint64_t word;

		memcpy(&word, at + w, sizeof(word));
		word = record_relocate(k->spec->record, k->buffers, word);
		memcpy(at + w, &word, sizeof(word));
	}
}

/* Makes a buffer's initial contents in device memory. */
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
	else if (holds_addresses(k, i))
		relocate_addresses(k, i, host);
	strbuf_finish(&err);
	if (r == CLI_OK && cu->cuMemAlloc(&k->initial[i], arg->bytes) != CUDA_SUCCESS)
		r = cli_error(k->c, NULL, "no device memory for '%s'", arg->text);
	if (r == CLI_OK && cu->cuMemcpyHtoD(k->initial[i], host, arg->bytes) != CUDA_SUCCESS)
		r = cli_error(k->c, NULL, "'%s' could not be copied", arg->text);
	free(host);
	return r;
}

/* Writes the addresses of the buffers into the parameters. */
static void put_addresses(struct job_kernel *k)
{
	const struct record *r = k->spec->record;

	for (uint32_t i = 0; r && i < r->n_pointers; i++) {
		const struct record_pointer *p = &r->pointers[i];
		CUdeviceptr at = k->buffers[p->region] + p->offset;

		memcpy(k->params + p->at, &at, sizeof(at));
	}
	for (unsigned i = 0; !r && i < k->spec->n_args; i++)
		if (k->spec->args[i].is_buffer)
			memcpy(k->params + k->offsets[i], &k->buffers[i], sizeof(CUdeviceptr));
}

int job_kernel_fill(struct job_kernel *k, const struct cu_api *cu)
{
	/* Allocate all buffers before filling any, because their contents may include each other's
	 * addresses. */
	for (unsigned i = 0; i < k->spec->n_args; i++) {
		const struct spec_arg *arg = &k->spec->args[i];

		if (arg->is_buffer && !k->buffers[i])
			JOB_TRY(k->c, cu->cuMemAlloc(&k->buffers[i], arg->bytes), arg->text);
	}
	for (unsigned i = 0; i < k->spec->n_args; i++) {
		const struct spec_arg *arg = &k->spec->args[i];
		int r;

		if (!arg->is_buffer)
			continue;
		if (arg->init == SPEC_ZERO) {
			JOB_TRY(k->c, cu->cuMemsetD8(k->buffers[i], 0, arg->bytes), arg->text);
		} else {
			r = k->initial[i] ? CLI_OK : make_initial(k, cu, i);
			if (r != CLI_OK)
				return r;
			JOB_TRY(k->c, cu->cuMemcpyDtoD(k->buffers[i], k->initial[i], arg->bytes),
				arg->text);
		}
	}
	put_addresses(k);
	/* Wait for the copies, because non-blocking streams of the caller do not. */
	JOB_TRY(k->c, cu->cuCtxSynchronize(), "filling buffers");
	return CLI_OK;
}

/* ---- writing the results ---- */

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
			r = cli_write_file(k->c, arg->out_path, NULL,
				&(struct strbuf){.at = host, .len = arg->bytes});
		free(host);
	}
	return r;
}
