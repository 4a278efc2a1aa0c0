/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Opens the device, loads texts on it, and prepares kernels for forms. A kernel in a form is
 * extracted from its module, and its code names no module variables. So there is only one copy of
 * the variables, whether the kernel runs unmodified or in a form. The form has an array of the
 * variables' addresses, which is filled after loading (host/outside.h). */
#include "host/corun.h"
#include "host/outside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN_MAX 256 /* no load needs a larger alignment */

/* ---- the device ---- */

int host_device_open(struct host_device *d, const char *assembler, struct host_fault *f)
{
	const struct cu_api *cu = &d->cu;
	int n, registers, version;

	HOST_TRY(f, cu->cuDeviceGet(&d->device, d->ordinal), "the device");
	HOST_TRY(f, cu->cuDeviceGetName(d->name, sizeof(d->name), d->device), "the device's name");
	HOST_TRY(f, cu->cuDriverGetVersion(&version), "the driver's version");
	HOST_TRY(f,
		cu->cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d->device),
		"the device's SMs");
	HOST_TRY(f,
		cu->cuDeviceGetAttribute(&registers,
			CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, d->device),
		"the device's registers");
	snprintf(d->driver, sizeof(d->driver), "%d", version);
	d->n_sms = (uint32_t)n;
	d->registers = (uint32_t)registers;
	HOST_TRY(f, cu->cuDevicePrimaryCtxRetain(&d->context, d->device), "the primary context");
	assembler_init(&d->assembler, cu, assembler, ASSEMBLER_LIMIT_S);
	return 0;
}

/* ---- loading PTX on the device ---- */

int host_assemble(struct host_device *d, const struct strbuf *text, const char *what,
	double *ret_ms, struct host_fault *f)
{
	enum assembled r = ASSEMBLED_DIED;

	for (unsigned tries = 0; tries < 2 && r == ASSEMBLED_DIED; tries++)
		r = assemble(&d->assembler, d->device, text->at, text->len, NULL, ret_ms);
	if (r != ASSEMBLED_DIED && r != ASSEMBLED_LATE)
		return 0;
	host_fail(f, r == ASSEMBLED_DIED ? HOST_CRASHED : HOST_LATE, -1, what);
	f->number[0] = d->assembler.limit_s;
	return host_errno(f);
}

int host_load(const struct host_device *d, const char *what, const char *text, const char *entry,
	CUmodule *ret_module, CUfunction *ret_fn, struct host_fault *f)
{
	char log[sizeof(f->log)] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	CUmodule module;
	CUresult r = d->cu.cuModuleLoadDataEx(&module, text, ARRAY_LEN(options), options, values);

	if (r != CUDA_SUCCESS) {
		host_fail(f, HOST_TEXT, -1, what);
		f->result = r;
		memcpy(f->log, log, sizeof(log) - 1);
		return host_errno(f);
	}
	r = d->cu.cuModuleGetFunction(ret_fn, module, entry);
	if (r != CUDA_SUCCESS) {
		d->cu.cuModuleUnload(module);
		return host_cu_failed(f, r, what);
	}
	*ret_module = module;
	return 0;
}

int host_room(
	const struct host_device *d, CUfunction fn, uint32_t shared_bytes, struct host_fault *f)
{
	int static_bytes = 0;

	HOST_TRY(f,
		d->cu.cuFuncGetAttribute(&static_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, fn),
		"static shared memory");
	if (shared_bytes && (uint64_t)shared_bytes + (uint32_t)static_bytes > 48 << 10)
		HOST_TRY(f,
			d->cu.cuFuncSetAttribute(fn,
				CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes),
			"dynamic shared memory");
	return 0;
}

CUresult host_launch(const struct cu_api *cu, CUfunction fn, const struct host_shape *shape,
	const void *params, size_t bytes, CUstream stream)
{
	const uint32_t *g = shape->grid, *b = shape->block;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)(uintptr_t)params,
		CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};

	return cu->cuLaunchKernel(fn, g[0], g[1], g[2], b[0], b[1], b[2], shape->shared_bytes,
		stream, NULL, bytes ? extra : NULL);
}

/* ---- kernels ---- */

/* Restores the source positions of statements, because messages need them and extraction loses
 * them. */
static void keep_places(struct ptx_module *alone, const struct ptx_module *m)
{
	for (size_t i = 0; i < alone->items.len; i++) {
		const struct ptx_item *it = &alone->items.at[i];
		const struct ptx_func *of =
			it->kind == PTX_ITEM_FUNC ? ptx_find_func(m, it->func->sym->name) : NULL;

		if (!of || of->body.len != it->func->body.len)
			continue;
		for (size_t s = 0; s < of->body.len; s++) {
			it->func->body.at[s].line = of->body.at[s].line;
			it->func->body.at[s].col = of->body.at[s].col;
		}
	}
}

/* Extracts the kernel, and computes the digest of the result. So the digest does not depend on the
 * rest of the module. */
static int take_out(struct host_kernel *k, const struct ptx_module *m, struct host_fault *f)
{
	struct strbuf text = {0};
	int r = ptx_extract(m, k->entry, true, &k->alone);

	if (r < 0)
		return host_fail(f, HOST_MEMORY, -1, NULL);
	keep_places(k->alone, m);
	ptx_print(k->alone, &text);
	if (!text.failed)
		sha256(text.at, text.len, k->digest);
	r = text.failed ? host_fail(f, HOST_MEMORY, -1, NULL) : 0;
	strbuf_finish(&text);
	return r;
}

struct locating {
	const struct host_device *d;
	struct host_kernel *k;
};

static int locate_vars(void *user, struct host_outside *vars, size_t n)
{
	const struct locating *l = user;
	struct host_kernel *k = l->k;

	k->vars = ARENA_ARRAY(k->arena, uint64_t, n);
	if (!k->vars)
		return -ENOMEM;
	k->n_vars = n;
	for (size_t i = 0; i < n; i++) {
		CUdeviceptr at;
		size_t bytes;

		if (l->d->cu.cuModuleGetGlobal(&at, &bytes, k->module, vars[i].name) !=
			CUDA_SUCCESS) {
			k->no_vars = arena_printf(k->arena,
				"the driver does not tell where this module variable is: %s",
				vars[i].name);
			return k->no_vars ? -ENXIO : -ENOMEM;
		}
		k->vars[i] = at + vars[i].offset;
		vars[i].align = MIN(k->vars[i] & -k->vars[i], (uint64_t)ALIGN_MAX);
		if (!vars[i].align)
			vars[i].align = ALIGN_MAX;
	}
	return 0;
}

static int leave_vars(const struct host_device *d, struct host_kernel *k, struct host_fault *f)
{
	struct diag_list *diags = ARENA_NEW(k->arena, struct diag_list);
	struct locating l = {d, k};
	int r = -ENOMEM;

	if (diags) {
		diag_init(diags, k->arena, k->name, NULL, 0);
		r = host_leave_outside(k->alone, diags, locate_vars, &l);
	}
	if (r == -ENOMEM)
		return host_fail(f, HOST_MEMORY, -1, NULL);
	if (r < 0 && !k->no_vars)
		k->no_vars = r == -EINVAL ? "its module variables are more than heddle can take: "
					    "this is a bug in heddle"
					  : "module variables are too many, or oddly used";
	return 0;
}

int host_kernel_open(const struct host_device *d, const struct ptx_module *m, struct host_kernel *k,
	struct host_fault *f)
{
	int r = take_out(k, m, f);

	if (r == 0)
		r = leave_vars(d, k, f);
	if (r < 0)
		return r;
	HOST_TRY(f,
		d->cu.cuFuncGetAttribute(
			&k->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, k->fn),
		k->name);
	return 0;
}

void host_kernel_close(struct host_kernel *k)
{
	ptx_module_free(k->alone);
	k->alone = NULL;
}

int host_kernel_fill_vars(const struct host_device *d, const struct host_kernel *k, unsigned which,
	CUmodule module, struct host_fault *f)
{
	char name[64];
	CUdeviceptr to;
	size_t bytes;

	if (!k->n_vars)
		return 0;
	snprintf(name, sizeof(name), PASS_KERNEL_PREFIX HOST_OUTSIDE_ARRAY, which);
	HOST_TRY(f, d->cu.cuModuleGetGlobal(&to, &bytes, module, name), name);
	HOST_TRY(f, d->cu.cuMemcpyHtoD(to, k->vars, k->n_vars * sizeof(*k->vars)), name);
	return 0;
}

int host_kernel_fit(const struct host_device *d, const struct host_kernel *k,
	const struct host_shape *shape, uint32_t *ret, struct host_fault *f)
{
	const uint32_t *b = shape->block;
	int fit, r = host_room(d, k->fn, shape->shared_bytes, f);

	if (r < 0)
		return r;
	HOST_TRY(f,
		d->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
			&fit, k->fn, (int)(b[0] * b[1] * b[2]), shape->shared_bytes),
		k->name);
	*ret = (uint32_t)fit;
	return 0;
}
