/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads kernels by name. Each kernel is parsed, so that it can be merged with others, and compiled
 * unmodified, so that it can run alone. */
#include "cfg/cfg.h"
#include "rt/rt.h"

#include "base/file.h"

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
	if (k->host.module && !k->shares)
		h->d.cu.cuModuleUnload(k->host.module);
	host_kernel_close(&k->host);
	ptx_module_free(k->ptx);
	arena_finish(&k->arena);
	free(k);
}

static int report_refusal(struct heddle *h, struct rt_kernel *k)
{
	struct strbuf text = {0};
	int r;

	diag_render(&k->diags, &text);
	r = rt_fail(h, -EINVAL, NULL, "%s", text.at ? text.at : "this is no PTX");
	strbuf_finish(&text);
	return r;
}

static int parse_kernel(struct heddle *h, struct rt_kernel *k, size_t bytes)
{
	const struct ptx_func *f;

	if (ptx_parse(k->text, bytes, 0, &k->diags, &k->ptx))
		return rt_out_of_memory(h);
	if (k->diags.errors || cfg_check_limits(k->ptx, &k->diags))
		return report_refusal(h, k);
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
		pass_param_layout(f, &k->host.bytes, k->offsets, k->sizes, MAX_PARAMS))
		return rt_fail(h, -EINVAL, NULL, "%s: its parameters' layout is unknown", k->name);
	return 0;
}

/* Compiles the unmodified kernel. Kernels of the same text are in one module, and share its
 * variables. */
static int compile_kernel(struct heddle *h, struct rt_kernel *k)
{
	const struct rt_kernel *o = h->kernels;
	struct host_fault f;
	int r = 0;

	while (o && strcmp(o->text, k->text) != 0)
		o = o->next;
	k->shares = o != NULL;
	if (o) {
		k->host.module = o->host.module;
		RT_TRY(h, h->d.cu.cuModuleGetFunction(&k->host.fn, k->host.module, k->entry),
			k->name);
	} else {
		r = host_load(&h->d, k->name, k->text, k->entry, &k->host.module, &k->host.fn, &f);
	}
	if (r == 0)
		r = host_kernel_open(&h->d, k->ptx, &k->host, &f);
	return r < 0 ? rt_host_failed(h, &f, NULL, NULL) : 0;
}

static int fill_kernel(struct heddle *h, struct rt_kernel *k, const char *name, const char *ptx,
	size_t bytes, const char *entry)
{
	int r;

	/* Ignores NULs at the end, which callers may have counted. */
	while (bytes && !ptx[bytes - 1])
		bytes--;
	k->name = arena_strndup(&k->arena, name, strlen(name));
	k->entry = arena_strndup(&k->arena, entry, strlen(entry));
	k->text = arena_strndup(&k->arena, ptx, bytes);
	if (!k->name || !k->entry || !k->text)
		return rt_out_of_memory(h);
	k->host.name = k->name;
	k->host.entry = k->entry;
	k->host.arena = &k->arena;
	diag_init(&k->diags, &k->arena, k->name, k->text, bytes);
	r = parse_kernel(h, k, bytes);
	return r == 0 ? compile_kernel(h, k) : r;
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
			r = fill_kernel(h, k, name, ptx, bytes, entry);
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

RT_API int heddle_load_file(struct heddle *h, const char *name, const char *path, const char *entry)
{
	struct strbuf text = {0};
	int r = h ? file_read(path, false, &text) : -EINVAL;

	if (r == 0)
		r = heddle_load(h, name, text.at, text.len, entry);
	else if (h)
		rt_fail(h, r, NULL, "%s: %s", path, strerror(-r));
	strbuf_finish(&text);
	return r;
}
