/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Replaces the virtual GPU's blocks: the linker's --wrap substitutes this file's functions for
 * those of exec.c. Everything above them (driver, streams, placement on SMs) is the virtual
 * GPU's own. A module is compiled when its first block is created. If that fails, the reason
 * becomes the block's fault, so that it reaches the launching program. */
#include "sass.h"

#include "dev/cpu/code.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define STACK_MORE (16u << 10) /* bytes for recursion, which ptxas does not count */

/* The compiled code of a module. */
struct loaded {
	struct loaded *next;
	const struct vgpu_module *mod;
	pthread_mutex_t lock;
	bool done;
	struct sass_code *code; /* NULL if compilation failed */
	char why[600];
	struct sass_kernel *kernels;
	uint32_t n_kernels;
	uint8_t *bank4;
	uint32_t bank4_bytes;
};
static struct loaded *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

void __real_vgpu_module_free(struct vgpu_module *mod);
void __wrap_vgpu_module_free(struct vgpu_module *mod);

static struct loaded *loaded_of(const struct vgpu_module *mod)
{
	struct loaded *l;

	pthread_mutex_lock(&all_lock);
	for (l = all; l && l->mod != mod; l = l->next)
		;
	if (!l && (l = calloc(1, sizeof(*l))) != NULL) {
		l->mod = mod;
		pthread_mutex_init(&l->lock, NULL);
		l->next = all;
		all = l;
	}
	pthread_mutex_unlock(&all_lock);
	return l;
}

void __wrap_vgpu_module_free(struct vgpu_module *mod)
{
	struct loaded *l = NULL;

	pthread_mutex_lock(&all_lock);
	for (struct loaded **at = &all; *at; at = &(*at)->next)
		if ((*at)->mod == mod) {
			l = *at;
			*at = l->next;
			break;
		}
	pthread_mutex_unlock(&all_lock);
	if (l) {
		sass_code_free(l->code);
		free(l->kernels);
		free(l->bank4);
		free(l);
	}
	__real_vgpu_module_free(mod);
}

/* ---- registers and memory that a kernel needs ---- */

static uint32_t most_register(const struct sass_code *c)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < c->n_insns; i++)
		for (unsigned k = 0; k < c->insns[i].n; k++) {
			const struct sass_opd *o = &c->insns[i].o[k];
			if ((o->kind == O_REG || o->kind == O_MEM || o->kind == O_CONST) &&
				o->reg != RZ)
				most = MAX(most, (uint32_t)o->reg + 4);
		}
	return most + 1;
}

static int make_kernels(struct loaded *l)
{
	struct sass_code *c = l->code;
	uint32_t regs = most_register(c), stack = sass_cubin_stack(c);
	bool local = stack != 0;
	char name[600];

	for (uint32_t i = 0; i < c->n_insns; i++)
		local |= !strncmp(c->insns[i].text, "LDL", 3) ||
			 !strncmp(c->insns[i].text, "STL", 3);
	l->kernels = calloc(c->n_sections + 1, sizeof(*l->kernels));
	if (!l->kernels)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_sections; i++) {
		struct sass_kernel *k = &l->kernels[l->n_kernels++];
		const struct sass_elf_section *s;

		snprintf(name, sizeof(name), ".nv.shared.%s", c->sections[i].name);
		s = sass_elf_section(c, name);
		*k = (struct sass_kernel){
			.code = c,
			.name = c->sections[i].name,
			.section = i,
			.n_regs = regs,
			.shared_bytes =
				s ? MAX((uint32_t)s->size, SHARED_RESERVED) : SHARED_RESERVED,
			.stack_bytes = local ? (uint32_t)round_up(stack + STACK_MORE, 64) : 0,
		};
	}
	return 0;
}

uint64_t sass_builtin(const char *name)
{
	return BUILTIN_BASE + (hash_bytes(name, strlen(name), 0) & 0xfffffff0u);
}

static uint64_t address_of(struct loaded *l, const char *symbol)
{
	uint64_t addr, bytes;
	int64_t code;

	if (vgpu_module_global((struct vgpu_module *)(uintptr_t)l->mod, symbol, &addr, &bytes) == 0)
		return addr;
	code = sass_label(l->code, symbol);
	if (code >= 0)
		return (uint64_t)code;
	return sass_builtin(symbol);
}

static void relocate(struct loaded *l, const struct sass_elf_section *s, uint8_t *to)
{
	const struct sass_code *c = l->code;

	for (uint32_t i = 0; i < c->n_relocs; i++) {
		const struct sass_reloc *r = &c->relocs[i];
		uint64_t v;

		if (r->section >= c->n_elf || &c->elf[r->section] != s || r->offset + 8 > s->size)
			continue;
		v = address_of(l, r->symbol) + (uint64_t)r->addend;
		memcpy(to + r->offset, &v, 8);
	}
}

static int make_bank4(struct loaded *l)
{
	const struct sass_elf_section *s = sass_elf_section(l->code, ".nv.constant4");

	if (!s || !s->at)
		return 0;
	l->bank4 = malloc(s->size + 1);
	if (!l->bank4)
		return -ENOMEM;
	l->bank4_bytes = (uint32_t)s->size;
	memcpy(l->bank4, s->at, s->size);
	relocate(l, s, l->bank4);
	return 0;
}

static bool is_function(uint64_t v)
{
	return v >> 32 == VGPU_FUNC_BASE >> 32;
}

/* Sets the function addresses in .global variables to offsets in bank 2, as in the cubin. */
static void point_functions(struct loaded *l)
{
	const struct sass_code *c = l->code;
	const struct sass_elf_section *s = sass_elf_section(c, ".nv.global.init");
	uint64_t addr, bytes, v;

	for (uint32_t i = 0; s && s->at && i < c->n_symbols; i++) {
		const struct sass_symbol *y = &c->symbols[i];

		if (y->section >= c->n_elf || &c->elf[y->section] != s ||
			vgpu_module_global((struct vgpu_module *)(uintptr_t)l->mod, y->name, &addr,
				&bytes) != 0 ||
			y->value + bytes > s->size)
			continue;
		for (uint64_t k = 0; k + 8 <= bytes; k += 8) {
			uint8_t *to = (uint8_t *)(uintptr_t)addr + k;

			memcpy(&v, to, 8);
			if (is_function(v))
				memcpy(to, s->at + y->value + k, 8);
		}
	}
}

static void load(struct loaded *l)
{
	const char *why = "no memory";
	int r;

	pthread_mutex_lock(&l->lock);
	if (!l->done) {
		r = sass_compile(l->mod->text, l->mod->text_len, &l->code, &why);
		if (!r)
			r = make_kernels(l);
		if (!r)
			r = make_bank4(l);
		if (!r)
			point_functions(l);
		if (r)
			snprintf(l->why, sizeof(l->why), "not run: %s", why);
		l->done = true;
	}
	pthread_mutex_unlock(&l->lock);
}

/* ---- constant banks ---- */

static uint8_t *new_bank(struct vgpu_block *b, unsigned n, uint32_t bytes)
{
	b->bank[n] = calloc(1, bytes + 16);
	b->bank_bytes[n] = b->bank[n] ? bytes : 0;
	return b->bank[n];
}

static void word(uint8_t *bank, unsigned at, uint32_t v)
{
	memcpy(bank + at, &v, 4);
}

static void fill_bank0(struct vgpu_block *b, uint32_t param_bytes)
{
	const struct vgpu_launch *l = b->launch;
	uint8_t *c = new_bank(b, 0, 0x210 + param_bytes);

	if (!c)
		return;
	for (unsigned k = 0; k < 3; k++) {
		word(c, 4 * k, l->block[k]);
		word(c, 0xc + 4 * k, l->grid[k]);
	}
	word(c, 0x24, 0x00010001);
	word(c, 0x28, b->kernel->stack_bytes);
	word(c, 0x2c, l->dynamic_shared_bytes);
	if (param_bytes)
		memcpy(c + 0x210, l->params, param_bytes);
}

static void copy_constants(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
	for (uint64_t k = 0, n; k < bytes; k += n) {
		uint64_t v = 0;

		n = MIN(bytes - k, (uint64_t)8);
		memcpy(&v, from + k, n);
		if (!is_function(v))
			memcpy(to + k, &v, n);
	}
}

/* .const variables have the same values as on the virtual GPU, except for function addresses.
 * These stay as in the cubin: offsets in bank 2, which holds the addresses. */
static void fill_bank3(struct vgpu_block *b, struct vgpu_module *mod)
{
	const struct sass_code *code = b->kernel->code;
	const struct sass_elf_section *s = sass_elf_section(code, ".nv.constant3");
	uint8_t *c = s ? new_bank(b, 3, (uint32_t)s->size) : NULL;
	uint64_t addr, bytes;

	if (!c)
		return;
	if (s->at)
		memcpy(c, s->at, s->size);
	for (uint32_t i = 0; i < code->n_symbols; i++) {
		const struct sass_symbol *y = &code->symbols[i];

		if (y->section >= code->n_elf || &code->elf[y->section] != s ||
			vgpu_module_global(mod, y->name, &addr, &bytes) != 0 ||
			y->value + bytes > s->size)
			continue;
		copy_constants(c + y->value, (const uint8_t *)(uintptr_t)addr, bytes);
	}
}

static void fill_bank2(struct vgpu_block *b, struct loaded *l)
{
	char name[600];
	const struct sass_elf_section *s;

	snprintf(name, sizeof(name), ".nv.constant2.%s", b->kernel->name);
	s = sass_elf_section(b->kernel->code, name);
	if (s && s->at && new_bank(b, 2, (uint32_t)s->size)) {
		memcpy(b->bank[2], s->at, s->size);
		relocate(l, s, b->bank[2]);
	}
}

/* ---- blocks ---- */

int __wrap_vgpu_block_create(const struct vgpu_launch *l, uint64_t block_index, uint32_t smid,
	uint32_t slot, struct vgpu_block **ret);
void __wrap_vgpu_block_reset(struct vgpu_block *b, uint64_t block_index);
void __wrap_vgpu_block_destroy(struct vgpu_block *b);
const struct vgpu_fault *__wrap_vgpu_block_fault(const struct vgpu_block *b);

static void not_run(struct vgpu_block *b, const char *why)
{
	b->fault.kind = VGPU_FAULT_INSTRUCTION;
	snprintf(b->fault.message, sizeof(b->fault.message), "kernel %.80s: %.300s",
		b->launch->kernel->info.name, why);
}

static int make_warps(struct vgpu_block *b)
{
	const struct vgpu_launch *l = b->launch;

	b->warps = calloc(b->n_warps, sizeof(*b->warps));
	b->regs = calloc((size_t)b->n_warps * b->kernel->n_regs, sizeof(*b->regs));
	b->shared = calloc(1, b->shared_bytes + 16);
	b->local = b->kernel->stack_bytes
			   ? calloc((size_t)b->n_warps * LANES, b->kernel->stack_bytes)
			   : NULL;
	if (!b->warps || !b->regs || !b->shared || (b->kernel->stack_bytes && !b->local))
		return -ENOMEM;
	for (uint32_t k = 0; k < b->n_warps; k++) {
		struct sass_warp *w = &b->warps[k];
		uint32_t left = b->n_threads - k * LANES;

		w->index = k;
		w->existing = left >= LANES ? ~0u : (1u << left) - 1;
		w->r = b->regs + (size_t)k * b->kernel->n_regs;
		for (uint32_t i = 0; i < LANES; i++) {
			uint32_t t = k * LANES + i;

			w->tid[0][i] = t % l->block[0];
			w->tid[1][i] = t / l->block[0] % l->block[1];
			w->tid[2][i] = t / l->block[0] / l->block[1];
		}
	}
	return 0;
}

int __wrap_vgpu_block_create(const struct vgpu_launch *l, uint64_t block_index, uint32_t smid,
	uint32_t slot, struct vgpu_block **ret)
{
	struct vgpu_module *mod = l->kernel->mod;
	struct loaded *code = loaded_of(mod);
	struct vgpu_block *b = calloc(1, sizeof(*b));

	if (!b || !code) {
		free(b);
		return -ENOMEM;
	}
	load(code);
	b->launch = l;
	b->mem = mod->mem;
	b->smid = smid;
	b->slot = slot;
	b->n_threads = l->block[0] * l->block[1] * l->block[2];
	b->n_warps = (b->n_threads + LANES - 1) / LANES;
	*ret = b;
	for (uint32_t k = 0; code->code && k < code->n_kernels; k++)
		if (!strcmp(code->kernels[k].name, l->kernel->info.name))
			b->kernel = &code->kernels[k];
	if (!b->kernel) {
		not_run(b, code->why[0] ? code->why : "not run: its section is missing");
		return 0;
	}
	b->shared_bytes = b->kernel->shared_bytes + l->dynamic_shared_bytes;
	if (make_warps(b)) {
		__wrap_vgpu_block_destroy(b);
		return -ENOMEM;
	}
	fill_bank0(b, l->kernel->info.param_bytes);
	fill_bank2(b, code);
	fill_bank3(b, mod);
	if (code->bank4 && new_bank(b, 4, code->bank4_bytes))
		memcpy(b->bank[4], code->bank4, code->bank4_bytes);
	__wrap_vgpu_block_reset(b, block_index);
	return 0;
}

void __wrap_vgpu_block_reset(struct vgpu_block *b, uint64_t block_index)
{
	const struct vgpu_launch *l = b->launch;

	b->index = block_index;
	b->ctaid[0] = (uint32_t)(block_index % l->grid[0]);
	b->ctaid[1] = (uint32_t)(block_index / l->grid[0] % l->grid[1]);
	b->ctaid[2] = (uint32_t)(block_index / l->grid[0] / l->grid[1]);
	b->turn = 0;
	b->ran = 0;
	if (!b->kernel)
		return;
	memset(&b->fault, 0, sizeof(b->fault));
	memset(b->bar, 0, sizeof(b->bar));
	memset(b->shared, 0, b->shared_bytes);
	for (uint32_t k = 0; k < b->n_warps; k++) {
		struct sass_warp *w = &b->warps[k];

		w->live = w->existing;
		w->n = 1;
		w->current = 0;
		memset(w->pred, 0, sizeof(w->pred));
		memset(w->ur, 0, sizeof(w->ur));
		memset(w->b, 0, sizeof(w->b));
		w->upred = 1u << PT;
		w->part[0] = (struct sass_part){.mask = w->existing,
			.pc = b->kernel->code->sections[b->kernel->section].first};
	}
}

void __wrap_vgpu_block_destroy(struct vgpu_block *b)
{
	if (!b)
		return;
	for (unsigned k = 0; k < ARRAY_LEN(b->bank); k++)
		free(b->bank[k]);
	free(b->warps);
	free(b->regs);
	free(b->shared);
	free(b->local);
	free(b);
}

const struct vgpu_fault *__wrap_vgpu_block_fault(const struct vgpu_block *b)
{
	return b->fault.kind ? &b->fault : NULL;
}
