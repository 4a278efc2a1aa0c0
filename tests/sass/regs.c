/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads operands: 32 lanes of values from registers, uniform registers, constants and
 * immediates, with sign, magnitude and complement applied. Writes results, only for the lanes of
 * the mask. A uniform register gets the first lane's value. */
#include "sass.h"

static uint32_t ureg(const struct sass_warp *w, unsigned k)
{
	return k >= URZ ? 0 : w->ur[k];
}

static void fill32(uint32_t *to, uint32_t v)
{
	for (unsigned i = 0; i < LANES; i++)
		to[i] = v;
}

/* Reads c[bank][reg + ureg + imm]. Reads beyond the bank's end give zero. */
static void read_const(struct sass_x *x, const struct sass_opd *o, unsigned more, uint32_t *to)
{
	const struct vgpu_block *b = x->b;
	uint32_t bytes = b->bank_bytes[o->bank], v;

	for (unsigned i = 0; i < LANES; i++) {
		uint32_t at = (uint32_t)o->imm + ureg(x->w, o->ureg) + more;

		if (o->reg != RZ)
			at += x->w->r[o->reg][i];
		else if (i) {
			to[i] = to[0];
			continue;
		}
		v = 0;
		if (at <= bytes && bytes - at >= 4)
			memcpy(&v, b->bank[o->bank] + at, 4);
		else if (at < bytes)
			memcpy(&v, b->bank[o->bank] + at, bytes - at);
		to[i] = v;
	}
}

/* Returns the operand's word number k (k registers after the first), without its modifiers. */
const uint32_t *get_word(struct sass_x *x, const struct sass_opd *o, unsigned k, uint32_t *tmp)
{
	switch (o->kind) {
	case O_REG:
		if (o->reg != RZ)
			return x->w->r[o->reg + k];
		fill32(tmp, 0);
		return tmp;
	case O_UREG:
		fill32(tmp, o->reg >= URZ ? 0 : ureg(x->w, o->reg + k));
		return tmp;
	case O_CONST:
		read_const(x, o, 4 * k, tmp);
		return tmp;
	case O_FLOAT:
		fill32(tmp, k ? 0 : u32_of((float)o->f));
		return tmp;
	default:
		fill32(tmp, k ? (uint32_t)(o->imm >> 31 >> 1) : (uint32_t)o->imm);
		return tmp;
	}
}

const uint32_t *get32(struct sass_x *x, const struct sass_opd *o, uint32_t *tmp)
{
	const uint32_t *v = get_word(x, o, 0, tmp);

	if (!o->neg && !o->abs && !o->inv)
		return v;
	for (unsigned i = 0; i < LANES; i++) {
		uint32_t u = v[i];

		u = o->abs && (int32_t)u < 0 ? 0 - u : u;
		u = o->neg ? 0 - u : u;
		tmp[i] = o->inv ? ~u : u;
	}
	return tmp;
}

const uint32_t *get_f32(struct sass_x *x, const struct sass_opd *o, uint32_t *tmp)
{
	const uint32_t *v = get_word(x, o, 0, tmp);

	if (!o->neg && !o->abs)
		return v;
	for (unsigned i = 0; i < LANES; i++) {
		uint32_t u = o->abs ? v[i] & 0x7fffffffu : v[i];
		tmp[i] = o->neg ? u ^ 0x80000000u : u;
	}
	return tmp;
}

static const uint64_t *pair(struct sass_x *x, const struct sass_opd *o, uint64_t *tmp)
{
	lanes32 lo, hi;
	const uint32_t *l = get_word(x, o, 0, lo), *h = get_word(x, o, 1, hi);

	for (unsigned i = 0; i < LANES; i++)
		tmp[i] = (uint64_t)h[i] << 32 | l[i];
	return tmp;
}

const uint64_t *get64(struct sass_x *x, const struct sass_opd *o, uint64_t *tmp)
{
	if (o->kind == O_IMM) {
		/* 32 bits, sign-extended. */
		uint32_t u = o->neg ? 0 - (uint32_t)o->imm : (uint32_t)o->imm;
		u = o->inv ? ~u : u;
		for (unsigned i = 0; i < LANES; i++)
			tmp[i] = (uint64_t)(int64_t)(int32_t)u;
		return tmp;
	}
	pair(x, o, tmp);
	for (unsigned i = 0; i < LANES; i++) {
		tmp[i] = o->neg ? 0 - tmp[i] : tmp[i];
		tmp[i] = o->inv ? ~tmp[i] : tmp[i];
	}
	return tmp;
}

const uint64_t *get_f64(struct sass_x *x, const struct sass_opd *o, uint64_t *tmp)
{
	if (o->kind == O_FLOAT || o->kind == O_IMM) {
		uint64_t u = o->kind == O_FLOAT ? u64_of(o->f) : (uint64_t)o->imm << 32;
		for (unsigned i = 0; i < LANES; i++)
			tmp[i] = u;
	} else {
		pair(x, o, tmp);
	}
	for (unsigned i = 0; i < LANES; i++) {
		tmp[i] = o->abs ? tmp[i] & ~(1ull << 63) : tmp[i];
		tmp[i] = o->neg ? tmp[i] ^ 1ull << 63 : tmp[i];
	}
	return tmp;
}

uint32_t get_pred(struct sass_x *x, const struct sass_opd *o)
{
	uint32_t v;

	if (o->reg == PT)
		v = ~0u;
	else if (o->kind == O_UPRED)
		v = x->w->upred >> o->reg & 1 ? ~0u : 0;
	else
		v = x->w->pred[o->reg];
	return o->inv ? ~v : v;
}

void put_word(struct sass_x *x, const struct sass_opd *o, unsigned k, const uint32_t *v)
{
	uint32_t m = x->mask;

	if (!m)
		return;
	if (o->kind == O_UREG) {
		if (o->reg < URZ)
			x->w->ur[o->reg + k] = v[__builtin_ctz(m)];
		return;
	}
	if (o->kind != O_REG || o->reg == RZ)
		return;
	uint32_t *to = x->w->r[o->reg + k];
	if (m == ~0u)
		memcpy(to, v, sizeof(lanes32));
	else
		for (unsigned i = 0; i < LANES; i++)
			to[i] = m >> i & 1 ? v[i] : to[i];
}

void put32(struct sass_x *x, const struct sass_opd *o, const uint32_t *v)
{
	put_word(x, o, 0, v);
}

void put64(struct sass_x *x, const struct sass_opd *o, const uint64_t *v)
{
	lanes32 lo, hi;

	for (unsigned i = 0; i < LANES; i++) {
		lo[i] = (uint32_t)v[i];
		hi[i] = (uint32_t)(v[i] >> 32);
	}
	put_word(x, o, 0, lo);
	put_word(x, o, 1, hi);
}

void put_pred(struct sass_x *x, const struct sass_opd *o, uint32_t bits)
{
	uint32_t m = x->mask;

	if (!m || o->reg == PT)
		return;
	if (o->kind == O_UPRED) {
		uint32_t v = bits >> __builtin_ctz(m) & 1;
		x->w->upred = (x->w->upred & ~(1u << o->reg)) | v << o->reg;
	} else if (o->kind == O_PRED) {
		x->w->pred[o->reg] = (x->w->pred[o->reg] & ~m) | (bits & m);
	}
}
