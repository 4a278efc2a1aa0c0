/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes a kernel's PTX to a program. It finds the functions that the kernel can reach, lays out
 * the variables, orders the basic blocks, and then decodes one instruction after another. */
#include "decode.h"
#include "counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct vinsn *dec_emit(struct dec *d, vop_fn *fn, unsigned cost)
{
	static struct vinsn lost;
	struct vinsn in = {.fn = fn,
		.cost = (uint8_t)cost,
		.guard = d->guard,
		.guard_xor = d->guard_xor,
		.line = d->s ? d->s->line : d->f->end_line};

	if (!VEC_PUSH(&d->code, in)) {
		d->error = -ENOMEM;
		return &lost;
	}
	return &d->code.at[d->code.len - 1];
}

static struct vinsn *dec_unknown(struct dec *d)
{
	return dec_emit(d, vop_unknown, 1);
}

uint32_t dec_ext(struct dec *d, const uint32_t *at, unsigned n)
{
	uint32_t from = (uint32_t)d->ext.len;

	for (unsigned i = 0; i < n; i++)
		if (!VEC_PUSH(&d->ext, at[i]))
			d->error = -ENOMEM;
	return from;
}

bool dec_waits(struct dec *d, uint32_t *ret)
{
	const struct converge_lists *l = &d->conv.parts;

	if (!d->conv.n || l->first[d->block] == l->first[d->block + 1])
		return false;
	*ret = (uint32_t)d->waits.len;
	for (uint32_t i = l->first[d->block]; i < l->first[d->block + 1]; i++)
		if (!VEC_PUSH(&d->waits, l->at[i]))
			d->error = -ENOMEM;
	if (!VEC_PUSH(&d->waits, VX_NONE))
		d->error = -ENOMEM;
	return true;
}

struct vfunc *dec_func(struct dec *d, const struct ptx_func *f)
{
	for (uint32_t i = 0; i < d->p->n_funcs; i++)
		if (d->p->funcs[i].ptx == f || d->p->funcs[i].ptx->sym->name == f->sym->name)
			return &d->p->funcs[i];
	return NULL;
}

uint32_t dec_block_of(struct dec *d, const struct ptx_sym *label)
{
	uint64_t at;

	return label && vplace_get(&d->labels, label, &at) ? (uint32_t)at : VX_NONE;
}

/* ---- functions that the kernel can call ---- */

/* Returns true if the function contains an indirect call. Such a call is assumed to reach any
 * function of the module. */
static bool calls_indirectly(const struct ptx_func *f)
{
	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		for (unsigned o = 0; s->kind == PTX_INSN && s->mn->op == PTX_OP_call && o < s->n;
			o++)
			if (s->opd[o].kind == PTX_OPD_REG)
				return true;
	}
	return false;
}

/* Removes kernels from the list of called functions, because a kernel is never called, even if its
 * address is taken. The first entry is the kernel to decode, and stays. */
static void leave_kernels(ptx_func_list *funcs)
{
	size_t n = 1;

	for (size_t i = 1; i < funcs->len; i++)
		if (!funcs->at[i]->is_entry)
			funcs->at[n++] = funcs->at[i];
	funcs->len = MIN(n, funcs->len);
}

static int reach_all(
	const struct vgpu_module *mod, const struct ptx_func *entry, ptx_func_list *funcs)
{
	int r = ptx_reached(mod->ptx, entry, funcs);
	bool indirect = false;

	for (size_t k = 0; k < funcs->len; k++)
		indirect |= calls_indirectly(funcs->at[k]);
	for (size_t i = 0; r == 0 && indirect && i < mod->funcs.len; i++)
		if (mod->funcs.at[i]->has_body && !mod->funcs.at[i]->is_entry)
			r = ptx_reached(mod->ptx, mod->funcs.at[i], funcs);
	leave_kernels(funcs);
	return r;
}

/* ---- variables ---- */

static uint32_t place_variable(uint32_t *end, const struct ptx_sym *sym, uint64_t bytes)
{
	uint32_t align = sym->align ? sym->align : MAX(ptx_type_bytes(sym->type.base), 1u);
	uint64_t at = round_up(*end, align);

	if (at + bytes > UINT32_MAX / 2)
		return VX_NONE;
	*end = (uint32_t)(at + bytes);
	return (uint32_t)at;
}

static void place_shared(struct dec *d, const struct ptx_sym *sym)
{
	uint64_t known;
	uint32_t at;

	if (vplace_get(&d->shared, sym, &known))
		return;
	if (sym->linkage & PTX_EXTERN && !sym->bytes) {
		/* Dynamic shared memory starts after all static shared memory, whose size is not
		 * known yet. */
		vplace_put(d, &d->shared, sym, UINT64_MAX);
		return;
	}
	at = place_variable(&d->p->static_shared_bytes, sym, sym->bytes);
	if (at == VX_NONE)
		d->error = -E2BIG;
	vplace_put(d, &d->shared, sym, at);
}

static void place_used(struct dec *d, const struct ptx_opd *o)
{
	if (o->kind == PTX_OPD_SYM && o->sym && o->sym->kind == PTX_SYM_VAR &&
		o->sym->space == PTX_SHARED)
		place_shared(d, o->sym);
	else if (o->kind >= PTX_OPD_ADDR && o->kind <= PTX_OPD_PAIR)
		for (uint32_t i = 0; i < o->n; i++)
			place_used(d, &o->list[i]);
}

/* Returns whether the program reads where the reserved shared memory is. */
static bool reads_reserved(const struct dec *d)
{
	for (uint32_t k = 0; k < d->p->n_funcs; k++) {
		const ptx_body *body = &d->p->funcs[k].ptx->body;

		for (size_t i = 0; i < body->len; i++) {
			const struct ptx_stmt *s = &body->at[i];

			for (unsigned o = 0; s->kind == PTX_INSN && o < s->n; o++)
				if (s->opd[o].kind == PTX_OPD_SPECIAL &&
					s->opd[o].value == PTX_SR_RESERVED_SMEM)
					return true;
		}
	}
	return false;
}

/* Lays out the shared memory of the whole program: all variables that its functions declare or
 * name. In a program that reads the registers %reserved_smem_offset_*, the reserved memory comes
 * first, as on a GPU, so their values do not depend on the program's own shared memory. */
static void layout_shared(struct dec *d)
{
	uint32_t first = reads_reserved(d) ? VGPU_SHARED_RESERVED : 0;

	d->p->static_shared_bytes = first;
	for (uint32_t k = 0; k < d->p->n_funcs; k++) {
		const struct ptx_func *f = d->p->funcs[k].ptx;

		for (size_t i = 0; i < f->body.len; i++) {
			const struct ptx_stmt *s = &f->body.at[i];

			if (s->kind == PTX_DECL && s->sym->kind == PTX_SYM_VAR &&
				s->sym->space == PTX_SHARED)
				place_shared(d, s->sym);
			for (unsigned o = 0; s->kind == PTX_INSN && o < s->n; o++)
				place_used(d, &s->opd[o]);
		}
	}
	for (unsigned b = 0; b < PLACE_BUCKETS; b++)
		for (struct vplace *s = d->shared.bucket[b]; s; s = s->next)
			if (s->at == UINT64_MAX)
				s->at = round_up(d->p->static_shared_bytes, 16);
	d->p->static_shared_bytes -= first;
	d->p->reserved = first != 0;
}

static void layout_formals(
	struct dec *d, struct ptx_sym *const *syms, size_t n, struct vformal **ret)
{
	*ret = ARENA_ARRAY(d->a, struct vformal, n + 1);
	if (!*ret) {
		d->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct vformal *v = &(*ret)[i];

		if (syms[i]->space == PTX_REG) {
			v->is_reg = true;
			v->is_pred = syms[i]->type.base == PTX_PRED;
			v->at = d->reg_at[syms[i]->first_reg];
			v->bytes = ptx_type_bytes(syms[i]->type.base);
			continue;
		}
		v->bytes = (uint32_t)MIN(syms[i]->bytes, 65536u);
		v->at = place_variable(&d->local_bytes, syms[i], v->bytes);
		vplace_put(d, &d->local, syms[i], v->at);
	}
}

static void layout_function(struct dec *d)
{
	const struct ptx_func *f = d->f;

	d->reg_at = ARENA_ARRAY(d->a, uint32_t, f->regs.len + 1);
	if (!d->reg_at) {
		d->error = -ENOMEM;
		return;
	}
	/* register space starts with the predicate that is always true and the carry flag */
	d->reg_bytes = 64;
	d->cc = 4;
	/* A predicate is a 32-bit word. Predicates come first in the frame. */
	for (size_t i = 0; i < f->regs.len; i++) {
		if (f->regs.at[i].sym->type.base == PTX_PRED) {
			d->reg_at[i] = d->reg_bytes;
			d->reg_bytes += 4;
		}
	}
	d->reg_bytes = (uint32_t)round_up(d->reg_bytes, 64);
	for (size_t i = 0; i < f->regs.len; i++)
		if (f->regs.at[i].sym->type.base != PTX_PRED)
			d->reg_at[i] = dec_new_reg(d, dec_lane_bytes(f->regs.at[i].sym->type.base) *
							      MAX(f->regs.at[i].sym->type.vec, 1u));
	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind == PTX_DECL && s->sym->kind == PTX_SYM_VAR &&
			(s->sym->space == PTX_LOCAL || s->sym->space == PTX_PARAM)) {
			uint32_t at = place_variable(&d->local_bytes, s->sym, s->sym->bytes);

			if (at == VX_NONE || d->local_bytes > MAX_STACK)
				d->error = -E2BIG;
			vplace_put(d, &d->local, s->sym, at);
		}
	}
	if (d->is_entry) {
		for (size_t i = 0; i < f->params.len; i++)
			vplace_put(d, &d->local, f->params.at[i], d->k->info.param_offset[i]);
	} else {
		d->fn->n_params = (uint32_t)f->params.len;
		d->fn->n_rets = (uint32_t)f->rets.len;
		layout_formals(d, f->params.at, f->params.len, &d->fn->params);
		layout_formals(d, f->rets.at, f->rets.len, &d->fn->rets);
	}
}

/* ---- blocks ---- */

struct block {
	uint32_t first, end;
	bool is_join; /* the block begins with vop_join */
};

static bool ends_block(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT);
}

static bool falls_through(const struct ptx_stmt *s)
{
	return !ends_block(s) || s->guard != PTX_NO_REG;
}

static struct block *find_blocks(struct dec *d, uint32_t *ret_n)
{
	const ptx_body *body = &d->f->body;
	struct block *b;
	uint32_t n = 2;

	for (size_t i = 0; i < body->len; i++)
		n += body->at[i].kind == PTX_LABEL || ends_block(&body->at[i]);
	b = ARENA_ARRAY(d->a, struct block, n);
	if (!b) {
		d->error = -ENOMEM;
		return NULL;
	}
	n = 0;
	for (uint32_t i = 0; i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind == PTX_LABEL) {
			if (i > b[n].first) {
				b[n++].end = i;
				b[n].first = i;
			}
			vplace_put(d, &d->labels, s->sym, n);
		} else if (ends_block(s)) {
			b[n++].end = i + 1;
			b[n].first = i + 1;
		}
	}
	b[n].end = (uint32_t)body->len;
	/* If the function has convergence points, its end is a separate block. */
	if (d->conv.n && b[n].end > b[n].first) {
		n++;
		b[n].first = b[n].end = (uint32_t)body->len;
	}
	if (d->conv.n != n + 1)
		d->conv.n = 0;
	*ret_n = n + 1;
	return b;
}

static void find_converge(struct dec *d)
{
	if (d->how == VC_NONE || d->error)
		return;
	d->error = vgpu_find_converge(d->a, d->f, &d->conv);
}

/* Returns the operands that name the possible targets of a branch. */
static const struct ptx_opd *branch_targets(const struct ptx_stmt *s, uint32_t *ret_n)
{
	*ret_n = 0;
	if (s->mn->op == PTX_OP_bra && s->n == 1) {
		*ret_n = 1;
		return s->opd;
	}
	if (s->mn->op == PTX_OP_brx && s->n == 2) {
		if (s->opd[1].kind == PTX_OPD_SYM && s->opd[1].sym) {
			*ret_n = s->opd[1].sym->n_targets;
			return s->opd[1].sym->targets;
		}
		if (s->opd[1].kind == PTX_OPD_VECTOR) {
			*ret_n = s->opd[1].n;
			return s->opd[1].list;
		}
	}
	return NULL;
}

static uint32_t *order_blocks(struct dec *d, struct block *b, uint32_t n)
{
	uint32_t *first = ARENA_ARRAY(d->a, uint32_t, n + 1), *order, *succ, len = 0, cap = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t k;

		if (b[i].end > b[i].first && ends_block(&d->f->body.at[b[i].end - 1])) {
			branch_targets(&d->f->body.at[b[i].end - 1], &k);
			cap += k;
		}
		cap++;
	}
	succ = ARENA_ARRAY(d->a, uint32_t, cap);
	order = ARENA_ARRAY(d->a, uint32_t, n);
	if (!first || !succ || !order) {
		d->error = -ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_stmt *last = &d->f->body.at[b[i].end - 1];
		const struct ptx_opd *to = NULL;
		uint32_t k = 0;

		first[i] = len;
		if (b[i].end > b[i].first && ends_block(last))
			to = branch_targets(last, &k);
		for (uint32_t t = 0; t < k; t++) {
			uint32_t at =
				to[t].kind == PTX_OPD_SYM ? dec_block_of(d, to[t].sym) : VX_NONE;

			if (at != VX_NONE) {
				succ[len++] = at;
				b[at].is_join = true;
			}
		}
		if (i + 1 < n && (b[i].end == b[i].first || falls_through(last)))
			succ[len++] = i + 1;
	}
	first[n] = len;
	d->error = vgpu_order_blocks(n, first, succ, d->a, order);
	return order;
}

/* ---- statements ---- */

static bool dec_bra(struct dec *d, uint32_t block)
{
	uint32_t waits;
	struct vinsn *in;

	if (block == VX_NONE)
		return false;
	in = dec_emit(d, vop_bra, 1);
	in->x = block;
	if (d->guard && dec_waits(d, &waits)) {
		in->fn = vop_part_bra;
		in->table = waits;
	}
	return true;
}

static void dec_insn(struct dec *d)
{
	bool known;

	switch (d->s->mn->op) {
	case PTX_OP_mov:
		known = dec_mov(d);
		break;
	case PTX_OP_cvt:
		known = dec_cvt(d);
		break;
	case PTX_OP_call:
		known = dec_call(d);
		break;
	case PTX_OP_brx:
		known = dec_brx(d);
		break;
	case PTX_OP_bra:
		known = dec_bra(d, d->s->n == 1 && d->s->opd[0].kind == PTX_OPD_SYM
					   ? dec_block_of(d, d->s->opd[0].sym)
					   : VX_NONE);
		break;
	case PTX_OP_ret:
		known = true;
		if (d->conv.n && !d->is_entry)
			dec_bra(d, d->conv.n - 1);
		else
			dec_emit(d, vop_ret, 1);
		break;
	case PTX_OP_exit:
		dec_emit(d, vop_exit, 1);
		known = true;
		break;
	case PTX_OP_ldmatrix:
	case PTX_OP_stmatrix:
	case PTX_OP_movmatrix:
	case PTX_OP_mma:
	case PTX_OP_wmma_load:
	case PTX_OP_wmma_store:
	case PTX_OP_wmma_mma:
		known = dec_matrix(d);
		break;
	case PTX_OP_trap:
	case PTX_OP_brkpt:
		dec_emit(d, vop_trap, 1);
		known = true;
		break;
	default:
		known = dec_alu(d) || dec_mem(d) || dec_sync(d) || dec_bar(d) || dec_async(d) ||
			dec_tex(d) || dec_video(d);
		break;
	}
	if (!known)
		dec_unknown(d);
}

static void dec_block(struct dec *d, const struct block *b, uint32_t number)
{
	d->block = number;
	d->block_at[number] = (uint32_t)d->code.len;
	d->s = b->first < d->f->body.len ? &d->f->body.at[b->first] : NULL;
	d->guard = d->guard_xor = 0;
	if (b->is_join)
		dec_emit(d, vop_join, 0)->flags = VI_PSEUDO;
	d->meet_at[number] = (uint32_t)d->code.len;
	if (d->conv.n && d->conv.meets[number])
		dec_emit(d, vop_meet, 0)->flags = VI_PSEUDO;
	for (uint32_t i = b->first; i < b->end && !d->error; i++) {
		d->s = &d->f->body.at[i];
		if (d->s->kind != PTX_INSN)
			continue;
		d->guard = d->s->guard == PTX_NO_REG ? 0 : d->reg_at[d->s->guard];
		d->guard_xor = d->s->guard_negated ? ~0u : 0;
		dec_insn(d);
	}
	d->guard = d->guard_xor = 0;
}

static void dec_body(struct dec *d)
{
	uint32_t n, *order, *place_in;
	struct block *b;

	find_converge(d);
	b = d->error ? NULL : find_blocks(d, &n);
	if (!b)
		return;
	order = order_blocks(d, b, n);
	d->block_at = ARENA_ARRAY(d->a, uint32_t, n + 1);
	d->meet_at = ARENA_ARRAY(d->a, uint32_t, n + 1);
	place_in = ARENA_ARRAY(d->a, uint32_t, n + 1);
	if (d->error || !d->block_at || !d->meet_at || !place_in) {
		d->error = d->error ? d->error : -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		place_in[order[i]] = i;
	/* A lane exits a loop when it does not take the loop's last branch. Marks the block after
	 * that branch as the point where such lanes wait for the other lanes of the loop. */
	for (uint32_t i = 0; i + 1 < n; i++) {
		const struct ptx_stmt *last = &d->f->body.at[b[i].end - 1];
		uint32_t k, to;

		if (b[i].end == b[i].first || !ends_block(last) || !falls_through(last))
			continue;
		to = branch_targets(last, &k) && k == 1 ? dec_block_of(d, last->opd[0].sym)
							: VX_NONE;
		if (to == VX_NONE || place_in[to] <= place_in[i] || place_in[i + 1] < place_in[i])
			b[i + 1].is_join = true;
	}
	for (uint32_t i = 0; i < n && !d->error; i++) {
		uint32_t at = order[i];
		bool falls = at + 1 < n && (b[at].end == b[at].first ||
						   falls_through(&d->f->body.at[b[at].end - 1]));

		dec_block(d, &b[at], at);
		if (falls && (i + 1 == n || order[i + 1] != at + 1)) {
			struct vinsn *in = dec_emit(d, vop_bra, 0);

			in->flags = VI_PSEUDO;
			in->x = at + 1;
		} else if (at + 1 == n) {
			d->s = NULL;
			dec_emit(d, vop_ret, 0)->flags = VI_PSEUDO;
		}
	}
	d->s = NULL;
}

static void finish_function(struct dec *d)
{
	struct vfunc *fn = d->fn;

	fn->n_code = (uint32_t)d->code.len;
	fn->code = arena_alloc(d->a, (d->code.len + 1) * sizeof(*fn->code));
	fn->ext = arena_alloc(d->a, (d->ext.len + 1) * sizeof(*fn->ext));
	fn->calls = arena_alloc(d->a, (d->calls.len + 1) * sizeof(*fn->calls));
	fn->targets = arena_alloc(d->a, (d->targets.len + 1) * sizeof(*fn->targets));
	fn->waits = arena_alloc(d->a, (d->waits.len + 1) * sizeof(*fn->waits));
	fn->consts = arena_alloc(d->a, d->const_data.len + 64);
	if (!fn->code || !fn->ext || !fn->calls || !fn->targets || !fn->waits || !fn->consts) {
		d->error = -ENOMEM;
		return;
	}
	fn->consts = (uint8_t *)(((uintptr_t)fn->consts + 63) & ~(uintptr_t)63);
	if (d->code.len)
		memcpy(fn->code, d->code.at, d->code.len * sizeof(*fn->code));
	if (d->ext.len)
		memcpy(fn->ext, d->ext.at, d->ext.len * sizeof(*fn->ext));
	if (d->calls.len)
		memcpy(fn->calls, d->calls.at, d->calls.len * sizeof(*fn->calls));
	if (d->const_data.len)
		memcpy(fn->consts, d->const_data.at, d->const_data.len);
	for (uint32_t i = 0; i < fn->n_code; i++)
		if (fn->code[i].fn == vop_bra || fn->code[i].fn == vop_part_bra)
			fn->code[i].target = fn->code + d->block_at[fn->code[i].x];
	for (size_t i = 0; i < d->targets.len; i++)
		fn->targets[i] = fn->code + d->block_at[d->targets.at[i]];
	for (size_t i = 0; i < d->waits.len; i++)
		fn->waits[i] =
			d->waits.at[i] == VX_NONE ? NULL : fn->code + d->meet_at[d->waits.at[i]];
	fn->const_bytes = (uint32_t)d->const_data.len;
	fn->reg_bytes = (uint32_t)round_up(d->reg_bytes, 64);
	fn->local_bytes = (uint32_t)round_up(d->local_bytes, 16);
}

/* Decodes the parameters of every function first, because calls copy arguments into them. */
static int dec_functions(struct dec *base)
{
	struct dec *all = calloc(base->p->n_funcs, sizeof(*all));
	int error = all ? 0 : -ENOMEM;

	for (uint32_t k = 0; all && k < base->p->n_funcs; k++) {
		struct dec *d = &all[k];

		*d = *base;
		d->fn = &base->p->funcs[k];
		d->f = d->fn->ptx;
		d->is_entry = k == 0;
		layout_function(d);
		if (d->is_entry && !d->error)
			dec_forms(d);
		error = error ? error : d->error;
	}
	for (uint32_t k = 0; all && k < base->p->n_funcs; k++) {
		struct dec *d = &all[k];

		if (!error)
			dec_body(d);
		if (!error && !d->error)
			finish_function(d);
		error = error ? error : d->error;
		VEC_FREE(&d->code);
		VEC_FREE(&d->ext);
		VEC_FREE(&d->calls);
		VEC_FREE(&d->targets);
		VEC_FREE(&d->waits);
		strbuf_finish(&d->const_data);
	}
	free(all);
	return error;
}

int vgpu_decode(struct vgpu_kernel *k, struct vprogram **ret)
{
	ptx_func_list funcs = {0};
	struct vprogram *p = calloc(1, sizeof(*p));
	struct dec *d = calloc(1, sizeof(*d));
	int error = -ENOMEM;

	if (p)
		arena_init(&p->arena, (size_t)1 << 30);
	if (p && d) {
		pthread_mutex_lock(&k->mod->fusing);
		error = reach_all(k->mod, k->ptx, &funcs);
		if (!error)
			error = vgpu_fuse(k->mod, &funcs);
		pthread_mutex_unlock(&k->mod->fusing);
		d->k = k;
		d->how = k->mod->converge;
		d->p = p;
		d->a = &p->arena;
		p->n_funcs = (uint32_t)funcs.len;
		p->funcs = ARENA_ARRAY(d->a, struct vfunc, p->n_funcs + 1);
		if (!p->funcs)
			error = -ENOMEM;
		if (!error) {
			for (uint32_t i = 0; i < p->n_funcs; i++)
				p->funcs[i] = (struct vfunc){.ptx = funcs.at[i],
					.name = funcs.at[i]->sym->name,
					.index = i};
			layout_shared(d);
			error = d->error ? d->error : dec_functions(d);
		}
	}
	VEC_FREE(&funcs);
	free(d);
	if (error) {
		vgpu_program_free(p);
		return error;
	}
	vgpu_counts_begin(p);
	*ret = p;
	return 0;
}

void vgpu_program_free(struct vprogram *p)
{
	if (!p)
		return;
	vgpu_counts_end(p);
	arena_finish(&p->arena);
	free(p);
}
