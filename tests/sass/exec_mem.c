/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads, stores and atomic operations. Global memory is the virtual GPU's, with its bounds.
 * Shared memory is an array for each block, whose first KiB is the device's. Local memory is an
 * array for each thread. The upper half of a generic address selects one of these, as in the
 * virtual GPU. */
#include "sass_ops.h"

#include "dev/cpu/mem.h"

#define EACH        for (unsigned i = 0; i < LANES; i++)
#define SHARED_HIGH 0x00010000u
#define LOCAL_HIGH  0x00010001u

enum space { GLOBAL, GENERIC, SHARED, LOCAL };

uint8_t *sass_global(struct sass_x *x, const struct sass_insn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, bool write)
{
	struct vgpu_block *b = x->b;
	struct vgpu_range r;

	if (b->range_generation == vgpu_mem_generation(b->mem) &&
		addr - b->range_base < b->range_end - b->range_base && bytes <= b->range_end - addr)
		return (uint8_t *)(uintptr_t)addr;
	if (vgpu_mem_range(b->mem, addr, &r) && bytes <= r.end - addr && !(write && r.read_only)) {
		if (!r.read_only) {
			b->range_base = r.base;
			b->range_end = r.end;
			b->range_generation = r.generation;
		}
		return (uint8_t *)(uintptr_t)addr;
	}
	sass_fault(x, in, VGPU_FAULT_ADDRESS, lane, "%s of %u bytes at 0x%llx, not allocated",
		write ? "write" : "read", bytes, (unsigned long long)addr);
	return NULL;
}

static uint8_t *resolve(struct sass_x *x, const struct sass_insn *in, enum space space,
	unsigned lane, uint64_t addr, uint32_t bytes, bool write)
{
	struct vgpu_block *b = x->b;

	if (addr & (bytes - 1)) {
		sass_fault(x, in, VGPU_FAULT_ALIGN, lane, "access of %u bytes at 0x%llx", bytes,
			(unsigned long long)addr);
		return NULL;
	}
	if (space == GENERIC && addr >> 32 == SHARED_HIGH) {
		space = SHARED;
		addr &= 0xffffffffu;
	} else if (space == GENERIC && addr >> 32 == LOCAL_HIGH) {
		space = LOCAL;
		addr &= 0xffffffffu;
	}
	if (space == SHARED && addr < b->shared_bytes && bytes <= b->shared_bytes - addr)
		return b->shared + addr;
	if (space == LOCAL && addr < b->kernel->stack_bytes &&
		bytes <= b->kernel->stack_bytes - addr)
		return b->local + ((uint64_t)x->w->index * LANES + lane) * b->kernel->stack_bytes +
		       addr;
	if (space == SHARED || space == LOCAL) {
		sass_fault(x, in, VGPU_FAULT_ADDRESS, lane,
			"%s of %u bytes at 0x%llx of %s memory of %u bytes",
			write ? "write" : "read", bytes, (unsigned long long)addr,
			space == SHARED ? "shared" : "local",
			space == SHARED ? b->shared_bytes : b->kernel->stack_bytes);
		return NULL;
	}
	return sass_global(x, in, lane, addr, bytes, write);
}

static const struct sass_opd *memory_opd(const struct sass_insn *in, unsigned from)
{
	for (unsigned k = from; k < in->n; k++)
		if (in->o[k].kind == O_MEM)
			return &in->o[k];
	return NULL;
}

/* Computes an operand's addresses: 64 bits in global and generic memory. */
static void addresses(struct sass_x *x, const struct sass_opd *o, enum space space, uint64_t *ret)
{
	const struct sass_warp *w = x->w;
	bool wide = space == GLOBAL || space == GENERIC;
	uint64_t u = o->ureg >= URZ ? 0 : w->ur[o->ureg];

	if (wide && o->ureg < URZ)
		u |= (uint64_t)w->ur[o->ureg + 1] << 32;
	EACH
	{
		uint64_t a = 0;

		if (o->reg != RZ) {
			a = w->r[o->reg][i];
			/* An operand that has only a register uses the register pair. */
			if (o->wide || (wide && o->ureg >= URZ))
				a |= (uint64_t)w->r[o->reg + 1][i] << 32;
			a *= o->scale ? o->scale : 1;
		}
		a += u + (uint64_t)o->imm;
		ret[i] = wide ? a : (uint32_t)a;
	}
}

static uint32_t access_bytes(const struct sass_insn *in)
{
	if (has(in, M_U8) || has(in, M_S8))
		return 1;
	if (has(in, M_U16) || has(in, M_S16))
		return 2;
	return has(in, M_128) ? 16 : has(in, M_64) ? 8 : 4;
}

/* Threads of other blocks may write at the same time, so use a single access where the host can. */
static void read_memory(const uint8_t *p, uint32_t bytes, uint32_t v[4])
{
	uint64_t w[2] = {0};

	switch (bytes) {
	case 1:
		v[0] = __atomic_load_n(p, __ATOMIC_ACQUIRE);
		return;
	case 2:
		v[0] = __atomic_load_n((const uint16_t *)(const void *)p, __ATOMIC_ACQUIRE);
		return;
	case 4:
		v[0] = __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
		return;
	default:
		for (uint32_t k = 0; k < bytes / 8; k++)
			w[k] = __atomic_load_n(
				(const uint64_t *)(const void *)p + k, __ATOMIC_ACQUIRE);
		memcpy(v, w, bytes);
	}
}

static void write_memory(uint8_t *p, uint32_t bytes, const uint32_t v[4])
{
	uint64_t w[2];

	switch (bytes) {
	case 1:
		__atomic_store_n(p, (uint8_t)v[0], __ATOMIC_RELEASE);
		return;
	case 2:
		__atomic_store_n((uint16_t *)(void *)p, (uint16_t)v[0], __ATOMIC_RELEASE);
		return;
	case 4:
		__atomic_store_n((uint32_t *)(void *)p, v[0], __ATOMIC_RELEASE);
		return;
	default:
		memcpy(w, v, bytes);
		for (uint32_t k = 0; k < bytes / 8; k++)
			__atomic_store_n((uint64_t *)(void *)p + k, w[k], __ATOMIC_RELEASE);
	}
}

static uint32_t extended(const struct sass_insn *in, uint32_t v)
{
	return has(in, M_S8) ? (uint32_t)(int8_t)v : has(in, M_S16) ? (uint32_t)(int16_t)v : v;
}

/* LDG [p,] r, address */
enum sass_next op_load(struct sass_x *x, const struct sass_insn *in)
{
	const struct sass_opd *m = memory_opd(in, 1);
	uint32_t bytes = access_bytes(in), v[LANES][4] = {0};
	lanes64 a;
	lanes32 t;

	if (!m || in->n != 2 || in->o[0].kind != O_REG)
		return sass_unknown(x, in, "operands");
	addresses(x, m, in->op, a);
	EACH if (x->mask >> i & 1)
	{
		const uint8_t *p = resolve(x, in, in->op, i, a[i], bytes, false);
		if (!p)
			return N_WAIT;
		read_memory(p, bytes, v[i]);
		v[i][0] = extended(in, v[i][0]);
	}
	for (uint32_t k = 0; k < (bytes + 3) / 4; k++) {
		EACH t[i] = v[i][k];
		put_word(x, &in->o[0], k, t);
	}
	return N_NEXT;
}

enum sass_next op_store(struct sass_x *x, const struct sass_insn *in)
{
	const struct sass_opd *m = memory_opd(in, 0);
	uint32_t bytes = access_bytes(in), v[LANES][4];
	lanes64 a;
	lanes32 t;

	if (m != &in->o[0] || in->n != 2 || (in->o[1].kind != O_REG && in->o[1].kind != O_UREG))
		return sass_unknown(x, in, "operands");
	addresses(x, m, in->op, a);
	for (uint32_t k = 0; k < (bytes + 3) / 4; k++) {
		const uint32_t *w = get_word(x, &in->o[1], k, t);
		EACH v[i][k] = w[i];
	}
	EACH if (x->mask >> i & 1)
	{
		uint8_t *p = resolve(x, in, in->op, i, a[i], bytes, true);
		if (!p)
			return N_WAIT;
		write_memory(p, bytes, v[i]);
	}
	return N_NEXT;
}

/* ---- atomic operations ---- */

static uint64_t added(const struct sass_insn *in, uint64_t old, uint64_t v)
{
	if (has(in, M_F32)) {
		uint32_t r = u32_of(f32_of((uint32_t)old) + f32_of((uint32_t)v));
		return (r & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : r;
	}
	if (has(in, M_F64)) {
		double r = f64_of(old) + f64_of(v);
		return r == r ? u64_of(r) : 0xfff8000000000000ull;
	}
	return old + v;
}

static bool less(const struct sass_insn *in, uint64_t a, uint64_t b)
{
	if (has(in, M_S64))
		return (int64_t)a < (int64_t)b;
	return has(in, M_S32) ? (int32_t)a < (int32_t)b : a < b;
}

static uint64_t changed(const struct sass_insn *in, uint64_t old, uint64_t v, uint64_t swap)
{
	uint32_t o = (uint32_t)old, u = (uint32_t)v;

	if (has(in, M_CAS))
		return old == v ? swap : old;
	if (has(in, M_POPC))
		return o + 1;
	if (has(in, M_ADD))
		return added(in, old, v);
	if (has(in, M_MIN))
		return less(in, v, old) ? v : old;
	if (has(in, M_MAX))
		return less(in, old, v) ? v : old;
	if (has(in, M_INC))
		return o >= u ? 0 : o + 1;
	if (has(in, M_DEC))
		return !o || o > u ? u : o - 1;
	if (has(in, M_AND))
		return old & v;
	if (has(in, M_OR))
		return old | v;
	return has(in, M_XOR) ? old ^ v : v;
}

static uint64_t exchange(
	const struct sass_insn *in, uint8_t *p, bool wide, uint64_t v, uint64_t swap)
{
	uint64_t old, new;

	if (wide) {
		uint64_t *q = (uint64_t *)(void *)p;
		old = __atomic_load_n(q, __ATOMIC_SEQ_CST);
		do
			new = changed(in, old, v, swap);
		while (!__atomic_compare_exchange_n(
			q, &old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
		return old;
	}
	uint32_t *q = (uint32_t *)(void *)p, o = __atomic_load_n(q, __ATOMIC_SEQ_CST);
	do
		new = changed(in, o, v, swap);
	while (!__atomic_compare_exchange_n(
		q, &o, (uint32_t) new, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return o;
}

static void values(struct sass_x *x, const struct sass_opd *o, bool wide, uint64_t *ret)
{
	lanes32 t;

	if (wide) {
		get64(x, o, ret);
		return;
	}
	const uint32_t *v = get_word(x, o, 0, t);
	EACH ret[i] = v[i];
}

/* ATOMG p, r, address, v [, swap]; ATOMS r, …; RED address, v. op & 4: there is no result. */
enum sass_next op_atom(struct sass_x *x, const struct sass_insn *in)
{
	const struct sass_opd *m = memory_opd(in, 0), *v = m + 1;
	bool wide = has(in, M_64) || has(in, M_S64) || has(in, M_F64), popc = has(in, M_POPC);
	unsigned behind = m ? in->n - 1 - (unsigned)(m - in->o) : 99, bytes = wide ? 8 : 4;
	lanes64 a, b = {0}, s = {0}, r = {0};
	lanes32 t;

	if (!m || behind != (popc ? 0u : has(in, M_CAS) ? 2u : 1u))
		return sass_unknown(x, in, "operands");
	addresses(x, m, in->op & 3, a);
	if (!popc)
		values(x, v, wide, b);
	if (has(in, M_CAS))
		values(x, v + 1, wide, s);
	EACH if (x->mask >> i & 1)
	{
		uint8_t *p = resolve(x, in, in->op & 3, i, a[i], bytes, true);
		if (!p)
			return N_WAIT;
		r[i] = exchange(in, p, wide, b[i], s[i]);
	}
	if (in->op & 4)
		return N_NEXT;
	if (m == in->o)
		return sass_unknown(x, in, "operands");
	EACH t[i] = (uint32_t)r[i];
	put_word(x, m - 1, 0, t);
	EACH t[i] = (uint32_t)(r[i] >> 32);
	if (wide)
		put_word(x, m - 1, 1, t);
	return N_NEXT;
}

/* ---- other memory instructions ---- */

enum sass_next op_ldc(struct sass_x *x, const struct sass_insn *in)
{
	const struct sass_opd *c = &in->o[1];
	uint32_t bytes = access_bytes(in);
	lanes32 t, r[4];

	if (in->n != 2 || c->kind != O_CONST)
		return sass_unknown(x, in, "operands");
	/* The result may overwrite the address register. */
	for (uint32_t k = 0; k < (bytes + 3) / 4; k++) {
		const uint32_t *v = get_word(x, c, k, t);
		EACH r[k][i] = bytes == 1 ? v[i] & 0xff : bytes == 2 ? v[i] & 0xffff : v[i];
		EACH r[k][i] = extended(in, r[k][i]);
	}
	for (uint32_t k = 0; k < (bytes + 3) / 4; k++)
		put_word(x, &in->o[0], k, r[k]);
	return N_NEXT;
}

/* LDGSTS [shared], [global]: completes at once. */
enum sass_next op_ldgsts(struct sass_x *x, const struct sass_insn *in)
{
	uint32_t bytes = access_bytes(in), v[4];
	lanes64 to, from;

	if (in->n != 2 || in->o[0].kind != O_MEM || in->o[1].kind != O_MEM)
		return sass_unknown(x, in, "operands");
	addresses(x, &in->o[0], SHARED, to);
	addresses(x, &in->o[1], GLOBAL, from);
	EACH if (x->mask >> i & 1)
	{
		uint8_t *p = resolve(x, in, GLOBAL, i, from[i], bytes, false);
		uint8_t *q = p ? resolve(x, in, SHARED, i, to[i], bytes, true) : NULL;
		if (!q)
			return N_WAIT;
		read_memory(p, bytes, v);
		write_memory(q, bytes, v);
	}
	return N_NEXT;
}

/* LDSM.16.M88.n r, [address]: n matrices of 8 by 8; lane k has the address of row k. */
enum sass_next op_ldsm(struct sass_x *x, const struct sass_insn *in)
{
	unsigned n = has(in, M_4) ? 4 : has(in, M_2) ? 2 : 1;
	lanes64 a;
	lanes32 r[4] = {{0}};

	if (in->n != 2 || x->mask != ~0u)
		return sass_unknown(x, in, "operands or lanes missing");
	addresses(x, &in->o[1], SHARED, a);
	for (unsigned k = 0; k < n; k++)
		for (unsigned row = 0; row < 8; row++) {
			const uint8_t *p =
				resolve(x, in, SHARED, 8 * k + row, a[8 * k + row], 16, false);
			uint16_t v[8];

			if (!p)
				return N_WAIT;
			memcpy(v, p, 16);
			for (unsigned c = 0; c < 8; c++) {
				unsigned i = has(in, M_MT88) ? 4 * c + row / 2 : 4 * row + c / 2;
				unsigned e = has(in, M_MT88) ? row & 1 : c & 1;
				r[k][i] |= (uint32_t)v[c] << 16 * e;
			}
		}
	for (unsigned k = 0; k < n; k++)
		put_word(x, &in->o[0], k, r[k]);
	return N_NEXT;
}

enum sass_next op_membar(struct sass_x *x, const struct sass_insn *in)
{
	(void)x, (void)in;
	atomic_thread_fence(memory_order_seq_cst);
	return N_NEXT;
}
