/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels by name: parsed, for merging; compiled as they are, for running so. */
#include "rt/rt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 512

struct rt_kernel *rt_find(struct heddle *h, const char *name)
{
	struct rt_kernel *k = h->kernels;

	while (k && strcmp(k->name, name) != 0)
		k = k->next;
	return k;
}

void rt_kernel_free(struct heddle *h, struct rt_kernel *k)
{
	if (k->module && !k->shares)
		h->cu.cuModuleUnload(k->module);
	ptx_module_free(k->ptx);
	ptx_module_free(k->alone);
	arena_finish(&k->arena);
	free(k);
}

int rt_compile(struct heddle *h, const char *what, const char *ptx, const char *entry,
	uint32_t shared_bytes, CUmodule *ret_module, CUfunction *ret_fn)
{
	char log[512] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	CUresult r = h->cu.cuModuleLoadDataEx(ret_module, ptx, ARRAY_LEN(options), options, values);

	if (r != CUDA_SUCCESS) {
		log[sizeof(log) - 1] = 0;
		return rt_fail(h, -EIO, log[0] ? log : NULL, "%s: the device refused it: %s", what,
			cu_result_name(r));
	}
	RT_TRY(h, h->cu.cuModuleGetFunction(ret_fn, *ret_module, entry), what);
	if (shared_bytes > 48 << 10)
		RT_TRY(h,
			h->cu.cuFuncSetAttribute(*ret_fn,
				CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes),
			"dynamic shared memory");
	return 0;
}

int rt_compile_apart(
	struct heddle *h, const struct strbuf *text, const char *what, const char *instead)
{
	char hint[200];

	switch (assemble(&h->assembler, h->device, text->at, text->len, NULL, NULL)) {
	case ASSEMBLED_DIED:
		return rt_fail(h, -ENOTSUP, instead,
			"%s: the driver's compiler crashes of it (in a process of its own)", what);
	case ASSEMBLED_LATE:
		snprintf(hint, sizeof(hint), "%s, or more time: heddle_limit_compiling", instead);
		return rt_fail(h, -ETIMEDOUT, hint,
			"%s: the driver's compiler has not compiled it in %u s", what,
			h->assembler.limit_s);
	case ASSEMBLED:
	case ASSEMBLED_WRONG: /* the driver says to us, too, what it is */
	case ASSEMBLED_NOT:
		break;
	}
	return 0;
}

/* The kernel on its own, and the digest of that, as heddle tune has it. */
static int extract(struct heddle *h, struct rt_kernel *k)
{
	struct strbuf text = {0};
	int r = ptx_extract(k->ptx, k->entry, true, &k->alone);

	if (r < 0)
		return rt_out_of_memory(h);
	ptx_print(k->alone, &text);
	if (!text.failed)
		sha256(text.at, text.len, k->digest);
	r = text.failed ? rt_out_of_memory(h) : 0;
	strbuf_finish(&text);
	return r;
}

static int refused(struct heddle *h, struct rt_kernel *k)
{
	struct strbuf text = {0};
	int r;

	diag_render(&k->diags, &text);
	r = rt_fail(h, -EINVAL, NULL, "%s", text.at ? text.at : "this is no PTX");
	strbuf_finish(&text);
	return r;
}

static int parse(struct heddle *h, struct rt_kernel *k, size_t bytes)
{
	const struct ptx_func *f;

	if (ptx_parse(k->text, bytes, 0, &k->diags, &k->ptx))
		return rt_out_of_memory(h);
	if (k->diags.errors)
		return refused(h, k);
	f = ptx_find_func(k->ptx, k->entry);
	if (!f || !f->is_entry)
		return rt_fail(h, -ENOENT,
			"names of C++ kernels are mangled: extern \"C\" keeps them",
			"%s: there is no entry '%s'", k->name, k->entry);
	k->n_params = (uint32_t)f->params.len;
	k->offsets = ARENA_ARRAY(&k->arena, uint32_t, MAX_PARAMS);
	k->sizes = ARENA_ARRAY(&k->arena, uint32_t, MAX_PARAMS);
	if (!k->offsets || !k->sizes)
		return rt_out_of_memory(h);
	if (k->n_params > MAX_PARAMS ||
		pass_param_layout(f, &k->bytes, k->offsets, k->sizes, MAX_PARAMS))
		return rt_fail(h, -EINVAL, NULL, "%s: its parameters' layout is unknown", k->name);
	return extract(h, k);
}

/* Kernels of one text are of one module, and share its variables. */
static int compile(struct heddle *h, struct rt_kernel *k)
{
	const struct rt_kernel *o = h->kernels;

	while (o && strcmp(o->text, k->text) != 0)
		o = o->next;
	if (!o)
		return rt_compile(h, k->name, k->text, k->entry, 0, &k->module, &k->fn);
	k->module = o->module;
	k->shares = true;
	RT_TRY(h, h->cu.cuModuleGetFunction(&k->fn, k->module, k->entry), k->name);
	return 0;
}

static int fill(struct heddle *h, struct rt_kernel *k, const char *name, const char *ptx,
	size_t bytes, const char *entry)
{
	int r;

	while (bytes && !ptx[bytes - 1]) /* images are given with their end */
		bytes--;
	k->name = arena_strndup(&k->arena, name, strlen(name));
	k->entry = arena_strndup(&k->arena, entry, strlen(entry));
	k->text = arena_strndup(&k->arena, ptx, bytes);
	if (!k->name || !k->entry || !k->text)
		return rt_out_of_memory(h);
	diag_init(&k->diags, &k->arena, k->name, k->text, bytes);
	r = parse(h, k, bytes);
	if (r == 0)
		r = compile(h, k);
	if (r == 0)
		r = rt_vars_leave(h, k);
	if (r < 0)
		return r;
	RT_TRY(h,
		h->cu.cuFuncGetAttribute(
			&k->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, k->fn),
		k->name);
	return 0;
}

RT_API int heddle_load(
	struct heddle *h, const char *name, const char *ptx, size_t bytes, const char *entry)
{
	struct rt_kernel *k;
	int r = rt_enter(h);

	if (r < 0)
		return r;
	k = calloc(1, sizeof(*k));
	if (rt_find(h, name))
		r = rt_fail(h, -EEXIST, "a kernel's name stands for it in heddle_corun",
			"a kernel is called '%s' already", name);
	else if (!k)
		r = rt_out_of_memory(h);
	if (r < 0) {
		free(k);
	} else {
		arena_init(&k->arena, 0);
		r = rt_pools_hold(h);
		if (r == 0) {
			r = fill(h, k, name, ptx, bytes, entry);
			rt_pools_release();
		}
		if (r < 0) {
			rt_kernel_free(h, k);
		} else {
			k->next = h->kernels;
			h->kernels = k;
		}
	}
	rt_leave(h);
	return r;
}

static int read_file(struct heddle *h, const char *path, struct strbuf *ret)
{
	FILE *f = fopen(path, "re");
	char part[16384];
	size_t n;
	int err = f ? 0 : errno;

	while (f && (n = fread(part, 1, sizeof(part), f)) > 0)
		strbuf_add(ret, part, n);
	if (f && ferror(f))
		err = errno ? errno : EIO;
	if (f)
		fclose(f);
	if (ret->failed)
		return rt_out_of_memory(h);
	return err ? rt_fail(h, -err, NULL, "%s: %s", path, strerror(err)) : 0;
}

RT_API int heddle_load_file(struct heddle *h, const char *name, const char *path, const char *entry)
{
	struct strbuf text = {0};
	int r = h ? read_file(h, path, &text) : -EINVAL;

	if (r == 0)
		r = heddle_load(h, name, text.at ? text.at : "", text.len, entry);
	strbuf_finish(&text);
	return r;
}
