/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes operands: registers, constants, special registers, addresses of variables. */
#include "base/number.h"
#include "decode.h"

#include <errno.h>
#include <string.h>

static unsigned bucket(const void *key)
{
	uint64_t v = (uint64_t)(uintptr_t)key;

	return (unsigned)((v * 0x9e3779b97f4a7c15ull) >> 56) % PLACE_BUCKETS;
}

bool vplace_put(struct dec *d, struct vplaces *t, const void *key, uint64_t at)
{
	struct vplace *s = arena_zalloc(d->a, sizeof(*s)), **b = &t->bucket[bucket(key)];

	if (!s) {
		d->error = -ENOMEM;
		return false;
	}
	s->sym = key;
	s->at = at;
	s->next = *b;
	*b = s;
	return true;
}

bool vplace_get(const struct vplaces *t, const void *key, uint64_t *ret)
{
	for (const struct vplace *s = t->bucket[bucket(key)]; s; s = s->next) {
		if (s->sym == key) {
			*ret = s->at;
			return true;
		}
	}
	return false;
}

uint32_t dec_new_reg(struct dec *d, unsigned bytes)
{
	uint32_t at = d->reg_bytes;

	d->reg_bytes += bytes * LANES;
	return at;
}

unsigned dec_lane_bytes(uint8_t type)
{
	unsigned n = ptx_type_bytes(type);

	return n <= 4 ? 4 : n;
}

unsigned dec_reg_lane_bytes(const struct dec *d, uint32_t reg)
{
	return dec_lane_bytes(d->f->regs.at[reg].sym->type.base);
}

uint32_t dec_const(struct dec *d, uint64_t value, unsigned bytes)
{
	const void *key = (const void *)(uintptr_t)(value * 2 + (bytes > 4));
	uint32_t at = (uint32_t)d->const_data.len, v32 = (uint32_t)value;
	uint64_t known;

	if (bytes <= 4)
		key = (const void *)(uintptr_t)((uint64_t)v32 * 2);
	/* Another large 64-bit value can have the same key, so the value is compared. */
	if (vplace_get(&d->consts, key, &known)) {
		uint64_t there = 0;

		memcpy(&there, d->const_data.at + known, bytes > 4 ? 8 : 4);
		if (there == (bytes > 4 ? value : v32))
			return (uint32_t)known | 1;
	}
	for (unsigned i = 0; i < LANES; i++) {
		if (bytes > 4)
			strbuf_add(&d->const_data, (const char *)&value, 8);
		else
			strbuf_add(&d->const_data, (const char *)&v32, 4);
	}
	if (d->const_data.failed)
		d->error = -ENOMEM;
	vplace_put(d, &d->consts, key, at);
	return at | 1;
}

bool dec_sym_addr(struct dec *d, const struct ptx_sym *sym, uint64_t *ret, bool *ret_frame)
{
	struct vglobal *g;

	*ret_frame = false;
	if (sym->kind == PTX_SYM_FUNC && sym->func) {
		*ret = vgpu_func_addr(d->k->mod, sym->func);
		return *ret != 0;
	}
	if (sym->kind != PTX_SYM_VAR && sym->kind != PTX_SYM_PARAM)
		return false;
	switch (sym->space) {
	case PTX_SHARED:
		return vplace_get(&d->shared, sym, ret);
	case PTX_LOCAL:
	case PTX_PARAM:
		*ret_frame = !(d->is_entry && sym->kind == PTX_SYM_PARAM);
		return vplace_get(&d->local, sym, ret);
	default:
		g = vgpu_global_of(d->k->mod, sym);
		*ret = g ? g->addr : 0;
		return g != NULL;
	}
}

static const struct vinsn *vop_frame_addr(struct vx *x, const struct vinsn *in)
{
	uint64_t v = in->imm + x->f->frame->local_start;

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if (in->flags & VI_WIDE)
			VX_U64(x, in->d)[i] = v;
		else
			VX_U32(x, in->d)[i] = (uint32_t)v;
	}
	return in + 1;
}

static uint32_t src_sym(struct dec *d, const struct ptx_opd *o, unsigned bytes)
{
	uint64_t at;
	bool frame;
	struct vinsn *in;

	if (!o->sym || !dec_sym_addr(d, o->sym, &at, &frame))
		return VX_NONE;
	at += o->has_value ? o->value : 0;
	if (!frame)
		return dec_const(d, at, bytes);
	in = dec_emit(d, vop_frame_addr, 0);
	in->flags |= VI_PSEUDO | (bytes > 4 ? VI_WIDE : 0);
	in->imm = at;
	in->d = dec_new_reg(d, bytes);
	return in->d;
}

/* Finds by name a special register that the PTX parser does not number (PTX_SR_OTHER). Some of
 * these registers are constants, because every block is a cluster of one block. */
static bool find_unnumbered(const char *name, enum ptx_special *ret_sr, uint32_t *ret_constant)
{
	static const struct {
		const char *name;
		enum ptx_special sr; /* the register for .x; 0: a constant */
		uint32_t constant;
	} all[] = {{"%clusterid", PTX_SR_CTAID_X, 0}, {"%nclusterid", PTX_SR_NCTAID_X, 0},
		{"%cluster_ctaid", 0, 0}, {"%cluster_nctaid", 0, 1}, {"%cluster_ctarank", 0, 0},
		{"%cluster_nctarank", 0, 1}, {"%tid.w", 0, 0}, {"%ntid.w", 0, 0},
		{"%ctaid.w", 0, 0}, {"%nctaid.w", 0, 0}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		size_t n = strlen(all[i].name);

		if (strncmp(name, all[i].name, n) != 0)
			continue;
		*ret_constant = all[i].constant;
		if (!name[n])
			return !all[i].sr;
		if (name[n] != '.' || name[n + 1] < 'w' || name[n + 1] > 'z')
			continue;
		*ret_sr = name[n + 1] == 'w' ? PTX_SR_UNKNOWN : all[i].sr;
		if (*ret_sr)
			*ret_sr += (unsigned)(name[n + 1] - 'x');
		*ret_constant = name[n + 1] == 'w' ? 0 : all[i].constant;
		return true;
	}
	return false;
}

/* Finds a %reserved_smem_offset register. Returns false if its meaning is not known. */
static bool find_reserved(const char *name, uint32_t *ret)
{
	static const struct {
		const char *end;
		uint32_t imm;
	} all[] = {{"begin", 0}, {"end", VGPU_SHARED_RESERVED}, {"cap", VGPU_SHARED_RESERVED},
		{"0", 0}, {"1", VR_RESERVED_1}};

	for (size_t i = 0; name && i < ARRAY_LEN(all); i++)
		if (!strcmp(strrchr(name, '_') + 1, all[i].end)) {
			*ret = all[i].imm;
			return true;
		}
	return false;
}

bool dec_special(const struct ptx_opd *o, enum ptx_special *ret_sr, uint32_t *ret_constant)
{
	*ret_sr = PTX_SR_UNKNOWN;
	switch (o->value) {
	case PTX_SR_UNKNOWN:
	case PTX_SR_TID:
	case PTX_SR_NTID:
	case PTX_SR_CTAID:
	case PTX_SR_NCTAID:
		return false;
	case PTX_SR_ENVREG:
		*ret_sr = PTX_SR_ENVREG;
		*ret_constant =
			o->name ? (uint32_t)number_digits(o->name + 7, SIZE_MAX, 10).value : 0;
		return o->name != NULL;
	case PTX_SR_RESERVED_SMEM:
		*ret_sr = PTX_SR_RESERVED_SMEM;
		return find_reserved(o->name, ret_constant);
	case PTX_SR_OTHER:
		return o->name && find_unnumbered(o->name, ret_sr, ret_constant);
	default:
		*ret_sr = (enum ptx_special)o->value;
		return o->value < PTX_SR_COUNT;
	}
}

static uint32_t src_special(struct dec *d, const struct ptx_opd *o, unsigned bytes)
{
	enum ptx_special sr;
	uint32_t constant;
	struct vinsn *in;

	if (!dec_special(o, &sr, &constant))
		return VX_NONE;
	if (!sr)
		return dec_const(d, constant, bytes);
	in = dec_emit(d, vop_special, 0);
	in->flags |= VI_PSEUDO | (bytes > 4 ? VI_WIDE : 0);
	in->op = (uint8_t)sr;
	in->imm = sr >= PTX_SR_ENVREG ? constant : 0;
	in->d = dec_new_reg(d, bytes);
	return in->d;
}

static uint64_t float_bits(const struct ptx_opd *o, uint8_t type)
{
	bool is32 = o->name &&
		    (strstr(o->name, "0f") == o->name || strstr(o->name, "0F") == o->name ||
			    strstr(o->name, "-0f") == o->name || strstr(o->name, "-0F") == o->name);
	uint64_t v = o->value;
	double f64;
	float f32;

	if (is32 && type == PTX_F64) {
		memcpy(&f32, &v, 4);
		f64 = (double)f32;
		memcpy(&v, &f64, 8);
	} else if (!is32 && type != PTX_F64 && ptx_type_bytes(type) <= 4) {
		memcpy(&f64, &v, 8);
		f32 = (float)f64;
		v = 0;
		memcpy(&v, &f32, 4);
	}
	return v;
}

uint32_t dec_part(const struct dec *d, uint32_t reg, uint32_t n)
{
	return d->reg_at[reg] + n * dec_reg_lane_bytes(d, reg) * LANES;
}

uint32_t dec_vector_size(const struct dec *d, const struct ptx_opd *o)
{
	if (o->kind != PTX_OPD_REG || o->selector || o->negated)
		return 0;
	return d->f->regs.at[o->reg].sym->type.vec > 1 ? d->f->regs.at[o->reg].sym->type.vec : 0;
}

/* Returns the offset of a register, or of one component of a vector register (.x or .r is the first
 * component). Refuses a whole vector: instructions that accept a whole vector call
 * dec_vector_size. */
static uint32_t src_reg(const struct dec *d, const struct ptx_opd *o)
{
	static const char names[] = "xyzwrgba";
	uint32_t size = d->f->regs.at[o->reg].sym->type.vec;
	const char *at;

	if (size <= 1)
		return o->selector ? VX_NONE : d->reg_at[o->reg];
	at = o->selector ? strchr(names, o->selector) : NULL;
	if (!at || (at - names) % 4 >= size)
		return VX_NONE;
	return dec_part(d, o->reg, (uint32_t)(at - names) % 4);
}

uint32_t dec_src(struct dec *d, const struct ptx_opd *o, uint8_t type)
{
	unsigned bytes = dec_lane_bytes(type);

	switch (o->kind) {
	case PTX_OPD_REG:
		return o->negated ? VX_NONE : src_reg(d, o);
	case PTX_OPD_IMM:
		if (!o->has_value)
			return VX_NONE;
		if (type == PTX_PRED)
			return dec_const(d, o->value ? ~0u : 0, 4);
		return dec_const(d, o->value, bytes);
	case PTX_OPD_FLOAT:
		return dec_const(d, float_bits(o, type), bytes);
	case PTX_OPD_SPECIAL:
		return src_special(d, o, bytes);
	case PTX_OPD_SYM:
		return src_sym(d, o, bytes);
	default:
		return VX_NONE;
	}
}

uint32_t dec_dst(struct dec *d, const struct ptx_opd *o, uint8_t type)
{
	if (o->kind == PTX_OPD_SINK)
		return dec_new_reg(d, MAX(dec_lane_bytes(type), 4u));
	if (o->kind != PTX_OPD_REG || o->negated)
		return VX_NONE;
	return dec_src(d, o, type);
}

uint32_t dec_pred(struct dec *d, const struct ptx_opd *o, bool *ret_negated)
{
	struct ptx_opd plain = *o;

	*ret_negated = o->kind == PTX_OPD_REG && o->negated == '!';
	if (*ret_negated)
		plain.negated = 0;
	return dec_src(d, &plain, PTX_PRED);
}
