/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Modules: the parsed PTX, its kernels and its variables. A kernel is decoded when it is first
 * used. */
#include "code.h"

#include "base/map.h"
#include "cfg/cfg.h"
#include "ptx/graft.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding operation handlers by name ---- */

#define TABLES(isa)                                                                  \
	extern const struct vop_entry vgpu_vec_int_##isa[], vgpu_vec_float_##isa[],  \
		vgpu_vec_approx_##isa[], vgpu_vec_cmp_##isa[], vgpu_vec_cvt_##isa[], \
		vgpu_vec_half_##isa[], vgpu_vec_mem_##isa[];                         \
	static const struct vop_entry *const tables_##isa[] = {vgpu_vec_int_##isa,   \
		vgpu_vec_float_##isa, vgpu_vec_approx_##isa, vgpu_vec_cmp_##isa,     \
		vgpu_vec_cvt_##isa, vgpu_vec_half_##isa, vgpu_vec_mem_##isa, NULL};
TABLES(base)
#ifdef VGPU_HAVE_V3
TABLES(v3)
#endif

static struct hash_map keys; /* name -> struct vop_entry; never freed */
static pthread_once_t keys_once = PTHREAD_ONCE_INIT;

static bool plain_only;

void vgpu_vec_plain(void)
{
	plain_only = true;
}

static void fill_keys(void)
{
	const struct vop_entry *const *t = tables_base;

#ifdef VGPU_HAVE_V3
	if (__builtin_cpu_supports("x86-64-v3") && !plain_only)
		t = tables_v3;
#endif
	for (; *t; t++) {
		for (const struct vop_entry *e = *t; e->key; e++) {
			if (!hash_map_named(&keys, e->key))
				hash_map_put_named(&keys, e->key, (void *)e);
		}
	}
}

vop_fn *vgpu_vec_find(const char *key)
{
	const struct vop_entry *e;

	pthread_once(&keys_once, fill_keys);
	e = hash_map_named(&keys, key);
	return e ? e->fn : NULL;
}

/* ---- a kernel's parameters and attributes ---- */

static int lay_params(struct vgpu_kernel *k, struct arena *a)
{
	const struct ptx_func *f = k->ptx;
	uint32_t n = (uint32_t)f->params.len, *offset, *size;
	uint64_t end = 0;

	offset = ARENA_ARRAY(a, uint32_t, n + 1);
	size = ARENA_ARRAY(a, uint32_t, n + 1);
	if (!offset || !size)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_sym *p = f->params.at[i];
		uint32_t align = p->align ? p->align : MAX(ptx_type_bytes(p->type.base), 1u);

		end = round_up(end, align);
		if (end + p->bytes > 65536)
			return -E2BIG;
		offset[i] = (uint32_t)end;
		size[i] = (uint32_t)p->bytes;
		end += p->bytes;
	}
	k->info.n_params = n;
	k->info.param_bytes = (uint32_t)end;
	k->info.param_offset = offset;
	k->info.param_size = size;
	return 0;
}

#define SM_REGISTERS 65536 /* registers per SM of sm_90, as ptxas assumes */

static uint32_t threads_limit(const struct ptx_func *f)
{
	struct ptx_bounds b;
	uint32_t n;

	ptx_bounds_get(f, &b);
	n = ptx_bounds_threads(&b);
	return n ? MIN(n, 1024u) : 1024u;
}

/* Estimates a function's registers per thread. A function that is too large to analyze in
 * reasonable time gets the maximum, 255. */
static uint32_t estimate_registers(const struct ptx_func *f)
{
	struct arena a;
	struct cfg *g;
	uint32_t n = 255;

	arena_init(&a, 256u << 20);
	if (f->body.len >= 100000 || cfg_build(&a, f, &g) || cfg_registers(&a, g, &n))
		n = 255;
	arena_finish(&a);
	return n;
}

/* Returns the register limit per thread that the kernel's directives imply, or UINT32_MAX if there
 * is none. Two directives give a limit:
 * - .maxnreg states the limit itself.
 * - .maxntid or .reqntid states the block's size. Blocks of this size must fit on an SM, as many at
 *   once as .minnctapersm says (or one).
 *
 * The limit is at least 16, because no assembler uses fewer registers. */
static uint32_t registers_bound(const struct ptx_func *f)
{
	uint32_t bound = UINT32_MAX, warps;
	struct ptx_bounds b;

	ptx_bounds_get(f, &b);
	if (b.maxnreg)
		bound = MAX(b.maxnreg, 16u);
	warps = (MIN(ptx_bounds_threads(&b), 1024u) + 31) / 32 * MIN(MAX(b.minnctapersm, 1u), 32u);
	if (warps)
		bound = MIN(bound, MAX(SM_REGISTERS / 32 / warps / 8 * 8, 16u));
	return bound;
}

static int prepare_info(struct vgpu_kernel *k)
{
	struct ptx_module *m = k->mod->ptx;
	uint64_t consts = 0;
	uint32_t regs;

	k->info.name = k->ptx->sym->name;
	k->info.target = m->sm;
	k->info.max_threads = threads_limit(k->ptx);
	k->info.needs_cluster = ptx_bounds_cluster_size(k->ptx, k->info.cluster);
	regs = estimate_registers(k->ptx);
	k->info.regs_per_thread = MIN(regs, registers_bound(k->ptx));
	k->info.spilled_bytes = 4 * (regs - k->info.regs_per_thread);
	for (size_t i = 0; i < k->mod->globals.len; i++)
		if (k->mod->globals.at[i].sym->space == PTX_CONST)
			consts += k->mod->globals.at[i].bytes;
	k->info.const_bytes = (uint32_t)consts;
	return lay_params(k, &m->arena);
}

int vgpu_program_of(const struct vgpu_kernel *ck, struct vprogram **ret)
{
	struct vgpu_kernel *k = (struct vgpu_kernel *)ck;
	int error;

	pthread_mutex_lock(&k->lock);
	if (!k->program && !k->error)
		k->error = vgpu_decode(k, &k->program);
	if (k->program) {
		k->info.static_shared_bytes = k->program->static_shared_bytes;
		k->info.local_bytes = k->program->funcs[0].local_bytes + k->info.spilled_bytes;
	}
	error = k->error;
	*ret = k->program;
	pthread_mutex_unlock(&k->lock);
	return error;
}

void vgpu_kernel_info(const struct vgpu_kernel *k, struct vgpu_kernel_info *ret)
{
	struct vprogram *p;

	vgpu_program_of(k, &p);
	*ret = k->info;
}

/* ---- modules ---- */

struct vglobal *vgpu_global_of(struct vgpu_module *mod, const struct ptx_sym *sym)
{
	struct vglobal *named = NULL;

	for (size_t i = 0; i < mod->globals.len; i++) {
		if (mod->globals.at[i].sym == sym)
			return &mod->globals.at[i];
		if (mod->globals.at[i].sym->name == sym->name && sym->linkage & PTX_EXTERN)
			named = &mod->globals.at[i];
	}
	return named;
}

uint64_t vgpu_func_addr(const struct vgpu_module *mod, const struct ptx_func *f)
{
	for (size_t i = 0; i < mod->funcs.len; i++)
		if (mod->funcs.at[i] == f || mod->funcs.at[i]->sym->name == f->sym->name)
			return mod->func_base + 16 * i;
	return 0;
}

static int add_global(struct vgpu_module *mod, struct ptx_sym *sym)
{
	struct vglobal g = {.sym = sym, .bytes = sym->bytes};
	int r;

	if (sym->space != PTX_GLOBAL && sym->space != PTX_CONST)
		return 0;
	if (sym->linkage & PTX_EXTERN && !sym->init)
		return 0;
	if (g.bytes > (1ull << 32))
		return -E2BIG;
	r = sym->space == PTX_CONST ? vgpu_mem_alloc_const(mod->mem, MAX(g.bytes, 1u), &g.addr)
				    : vgpu_mem_alloc(mod->mem, MAX(g.bytes, 1u), &g.addr);
	if (r)
		return r;
	if (!VEC_PUSH(&mod->globals, g)) {
		vgpu_mem_free(mod->mem, g.addr);
		return -ENOMEM;
	}
	return 0;
}

static int collect_items(struct vgpu_module *mod)
{
	const struct ptx_module *m = mod->ptx;
	int r = 0;

	for (size_t i = 0; i < m->items.len && !r; i++) {
		struct ptx_func *f =
			m->items.at[i].kind == PTX_ITEM_FUNC ? m->items.at[i].func : NULL;

		if (m->items.at[i].kind == PTX_ITEM_VAR)
			r = add_global(mod, m->items.at[i].sym);
		if (!f || !f->has_body)
			continue;
		if (!VEC_PUSH(&mod->funcs, f))
			return -ENOMEM;
		mod->n_kernels += f->is_entry;
		/* A function body can also declare variables that belong to the module. */
		for (size_t s = 0; s < f->body.len && !r; s++)
			if (f->body.at[s].kind == PTX_DECL &&
				f->body.at[s].sym->kind == PTX_SYM_VAR)
				r = add_global(mod, f->body.at[s].sym);
	}
	return r;
}

/* Assigns addresses to the module's functions. Addresses are never reused, so a function pointer
 * into an unloaded module stays invalid. */
static void place_funcs(struct vgpu_module *mod)
{
	static _Atomic uint64_t next = VGPU_FUNC_BASE;

	mod->func_base = atomic_fetch_add(&next, 16 * (mod->funcs.len + 1)) + 16;
}

static int make_kernels(struct vgpu_module *mod)
{
	unsigned n = 0;

	mod->kernels = calloc(mod->n_kernels + 1u, sizeof(*mod->kernels));
	if (!mod->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < mod->funcs.len; i++) {
		struct vgpu_kernel *k = &mod->kernels[n];
		int r;

		if (!mod->funcs.at[i]->is_entry)
			continue;
		n++;
		k->mod = mod;
		k->ptx = mod->funcs.at[i];
		pthread_mutex_init(&k->lock, NULL);
		r = prepare_info(k);
		if (r)
			return r;
	}
	return 0;
}

static enum vgpu_converge converge_how;

void vgpu_set_converge(enum vgpu_converge how)
{
	converge_how = how;
}

static bool fuses_none;

void vgpu_set_fma(enum vgpu_fma how)
{
	fuses_none = how == VF_NONE;
}

int vgpu_module_load(struct vgpu_mem *m, const char *ptx, size_t len, struct diag_list *diags,
	struct vgpu_module **ret)
{
	struct vgpu_module *mod = calloc(1, sizeof(*mod));
	int r;

	if (!mod)
		return -ENOMEM;
	mod->mem = m;
	mod->converge = converge_how;
	mod->fuses_none = fuses_none;
	pthread_mutex_init(&mod->fusing, NULL);
	mod->text = malloc(len + 1);
	mod->text_len = len;
	if (!mod->text) {
		pthread_mutex_destroy(&mod->fusing);
		free(mod);
		return -ENOMEM;
	}
	memcpy(mod->text, ptx, len);
	mod->text[len] = 0;
	r = ptx_parse(mod->text, len, 0, diags, &mod->ptx);
	if (!r && diags->errors)
		r = -EINVAL;
	if (!r)
		r = collect_items(mod);
	place_funcs(mod);
	if (!r)
		r = vgpu_init_globals(mod, diags);
	if (!r)
		r = make_kernels(mod);
	if (r == -E2BIG)
		r = diag_line_error(
			diags, 0, "a variable of over 4 GiB, or parameters of over 64 KiB");
	if (r) {
		vgpu_module_free(mod);
		return r;
	}
	*ret = mod;
	return 0;
}

static bool is_managed(const struct vglobal *g)
{
	return g->sym->decl && strstr(g->sym->decl, ".managed");
}

void vgpu_module_belongs(struct vgpu_module *mod, unsigned device)
{
	for (size_t i = 0; i < mod->globals.len; i++)
		if (!is_managed(&mod->globals.at[i]))
			vgpu_mem_belongs(mod->mem, mod->globals.at[i].addr, device);
}

void vgpu_module_share(struct vgpu_module *mod, const struct vgpu_module *of)
{
	for (size_t i = 0; i < mod->globals.len && i < of->globals.len; i++) {
		struct vglobal *g = &mod->globals.at[i];

		if (!is_managed(g))
			continue;
		vgpu_mem_free(mod->mem, g->addr);
		g->addr = of->globals.at[i].addr;
		g->is_shared = true;
	}
}

void vgpu_module_free(struct vgpu_module *mod)
{
	if (!mod)
		return;
	for (unsigned i = 0; mod->kernels && i < mod->n_kernels; i++) {
		vgpu_program_free(mod->kernels[i].program);
		pthread_mutex_destroy(&mod->kernels[i].lock);
	}
	free(mod->kernels);
	for (size_t i = 0; i < mod->globals.len; i++)
		if (!mod->globals.at[i].is_shared)
			vgpu_mem_free(mod->mem, mod->globals.at[i].addr);
	VEC_FREE(&mod->globals);
	VEC_FREE(&mod->funcs);
	if (mod->ptx)
		ptx_module_free(mod->ptx);
	pthread_mutex_destroy(&mod->fusing);
	free(mod->fused);
	free(mod->lines);
	free(mod->text);
	free(mod);
}

void vgpu_module_reset(struct vgpu_module *mod, bool managed)
{
	char *kept = NULL, *at;
	size_t bytes = 0;

	for (size_t i = 0; i < mod->globals.len; i++)
		bytes += !managed && is_managed(&mod->globals.at[i]) ? mod->globals.at[i].bytes : 0;
	if (bytes)
		kept = malloc(bytes);
	at = kept;
	for (size_t i = 0; i < mod->globals.len; i++) {
		void *to = (void *)(uintptr_t)mod->globals.at[i].addr;

		if (kept && is_managed(&mod->globals.at[i]))
			at = mempcpy(at, to, mod->globals.at[i].bytes);
		memset(to, 0, mod->globals.at[i].bytes);
	}
	/* this cannot fail: vgpu_module_load has already read the initializers */
	vgpu_init_globals(mod, NULL);
	at = kept;
	for (size_t i = 0; kept && i < mod->globals.len; i++) {
		if (!is_managed(&mod->globals.at[i]))
			continue;
		memcpy((void *)(uintptr_t)mod->globals.at[i].addr, at, mod->globals.at[i].bytes);
		at += mod->globals.at[i].bytes;
	}
	free(kept);
}

uint32_t vgpu_module_line(const struct vgpu_module *m, uint32_t line)
{
	if (!m->lines)
		return line;
	return line && line <= m->n_lines ? m->lines[line - 1] : 0;
}

void vgpu_module_lines(struct vgpu_module *m, const uint32_t *lines, size_t n)
{
	uint32_t *copy = malloc(n * sizeof(*copy));

	if (!copy)
		return;
	memcpy(copy, lines, n * sizeof(*copy));
	free(m->lines);
	m->lines = copy;
	m->n_lines = n;
}

struct vgpu_kernel *vgpu_module_kernel(struct vgpu_module *mod, const char *name)
{
	for (unsigned i = 0; i < mod->n_kernels; i++)
		if (!strcmp(mod->kernels[i].info.name, name))
			return &mod->kernels[i];
	return NULL;
}

unsigned vgpu_module_kernels(struct vgpu_module *mod, struct vgpu_kernel **ret_at, unsigned max)
{
	for (unsigned i = 0; i < mod->n_kernels && i < max; i++)
		ret_at[i] = &mod->kernels[i];
	return mod->n_kernels;
}

int vgpu_module_global(
	struct vgpu_module *mod, const char *name, uint64_t *ret_addr, uint64_t *ret_bytes)
{
	for (size_t i = 0; i < mod->globals.len; i++) {
		if (strcmp(mod->globals.at[i].sym->name, name))
			continue;
		*ret_addr = mod->globals.at[i].addr;
		*ret_bytes = mod->globals.at[i].bytes;
		return 0;
	}
	return -ENOENT;
}
