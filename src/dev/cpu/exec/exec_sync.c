/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Operations between the lanes of a warp: shuffles, votes, matches, reductions, the warp barrier.
 * Each operation waits until every lane of its member mask has reached an operation of the same
 * kind with the same mask, or has exited. Lanes usually arrive together, as one fragment (a group
 * of lanes that execute together). Otherwise the lanes that have arrived wait, each at its own
 * instruction and with its own registers. */
#include "exec_ctl.h"

#include <string.h>

/* Operands and results of the participating lanes, copied from and to their registers. */
struct lanes {
	uint32_t mask; /* lanes that take part */
	uint32_t a[LANES], b[LANES], c[LANES];
	uint64_t a64[LANES];
	uint32_t d[LANES];
	uint32_t pred; /* the predicate result */
	uint32_t p;    /* the predicate operand */
};

static uint32_t shfl_source(
	const struct vinsn *in, unsigned lane, uint32_t b, uint32_t c, bool *ret_ok)
{
	uint32_t seg = c >> 8 & 31, clamp = c & 31, n = b & 31;
	uint32_t max = (lane & seg) | (clamp & ~seg), min = lane & seg;
	int j;

	switch (in->op) {
	case VS_SHFL_UP:
		j = (int)lane - (int)n;
		*ret_ok = j >= (int)max;
		break;
	case VS_SHFL_DOWN:
		j = (int)(lane + n);
		*ret_ok = j <= (int)max;
		break;
	case VS_SHFL_BFLY:
		j = (int)(lane ^ n);
		*ret_ok = j <= (int)max;
		break;
	default:
		j = (int)(min | (n & ~seg));
		*ret_ok = j <= (int)max;
		break;
	}
	return *ret_ok ? (uint32_t)j : lane;
}

static void compute_shfl(const struct vinsn *in, struct lanes *l)
{
	for (uint32_t m = l->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		bool ok;

		l->d[i] = l->a[shfl_source(in, i, l->b[i], l->c[i], &ok)];
		l->pred |= (uint32_t)ok << i;
	}
}

static uint32_t compute_reduce(const struct vinsn *in, const struct lanes *l)
{
	uint32_t r = l->a[__builtin_ctz(l->mask)];

	for (uint32_t m = l->mask & (l->mask - 1); m; m &= m - 1) {
		uint32_t v = l->a[__builtin_ctz(m)];

		switch (in->op) {
		case VS_REDUX_ADD:
			r += v;
			break;
		case VS_REDUX_MIN_U:
			r = MIN(r, v);
			break;
		case VS_REDUX_MAX_U:
			r = MAX(r, v);
			break;
		case VS_REDUX_MIN_S:
			r = (int32_t)r < (int32_t)v ? r : v;
			break;
		case VS_REDUX_MAX_S:
			r = (int32_t)r > (int32_t)v ? r : v;
			break;
		case VS_REDUX_AND:
			r &= v;
			break;
		case VS_REDUX_OR:
			r |= v;
			break;
		default:
			r ^= v;
			break;
		}
	}
	return r;
}

static void compute_match(const struct vinsn *in, struct lanes *l)
{
	uint64_t first = l->a64[__builtin_ctz(l->mask)];
	bool all = true;

	for (uint32_t m = l->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		l->d[i] = 0;
		for (uint32_t k = l->mask; k; k &= k - 1)
			if (l->a64[__builtin_ctz(k)] == l->a64[i])
				l->d[i] |= k & -k;
		all &= l->a64[i] == first;
	}
	if (in->op != VS_MATCH_ALL)
		return;
	l->pred = all ? l->mask : 0;
	for (unsigned i = 0; i < LANES; i++)
		l->d[i] = all ? l->mask : 0;
}

static void compute_vote(const struct vinsn *in, struct lanes *l)
{
	uint32_t yes = l->p & l->mask;
	bool r = in->op == VS_VOTE_ALL   ? yes == l->mask
		 : in->op == VS_VOTE_ANY ? yes != 0
					 : yes == l->mask || !yes;

	l->pred = r ? l->mask : 0;
	for (unsigned i = 0; i < LANES; i++)
		l->d[i] = yes; /* the result of a ballot */
}

static void compute_result(const struct vinsn *in, struct lanes *l)
{
	uint32_t r;

	switch (in->op) {
	case VS_SHFL_IDX:
	case VS_SHFL_UP:
	case VS_SHFL_DOWN:
	case VS_SHFL_BFLY:
		compute_shfl(in, l);
		break;
	case VS_VOTE_ALL:
	case VS_VOTE_ANY:
	case VS_VOTE_UNI:
	case VS_VOTE_BALLOT:
		compute_vote(in, l);
		break;
	case VS_MATCH_ANY:
	case VS_MATCH_ALL:
		compute_match(in, l);
		break;
	case VS_ELECT:
		r = (uint32_t)__builtin_ctz(l->mask);
		l->pred = 1u << r;
		for (unsigned i = 0; i < LANES; i++)
			l->d[i] = r;
		break;
	case VS_WARP_BAR:
		break;
	default:
		r = compute_reduce(in, l);
		for (unsigned i = 0; i < LANES; i++)
			l->d[i] = r;
		break;
	}
}

static char *at(const struct vframe *f, uint32_t off)
{
	return (off & 1 ? (char *)f->fn->consts - 1 : f->regs) + off;
}

/* Copies the operands of the lanes in mask. in->vec is the number of bytes of operand a; in->size
 * is 1 if d is a predicate. */
static void gather_operands(
	const struct vfrag *f, const struct vinsn *in, uint32_t mask, struct lanes *l)
{
	bool vote = in->op >= VS_VOTE_ALL && in->op <= VS_VOTE_BALLOT;
	uint32_t p = 0;

	if (vote)
		p = *(uint32_t *)at(f->frame, in->a) ^ (in->round ? ~0u : 0);
	l->p |= p & mask;
	l->mask |= mask;
	if (vote || in->op == VS_WARP_BAR || in->op == VS_ELECT)
		return;
	for (uint32_t m = mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if (in->vec == 8)
			l->a64[i] = ((uint64_t *)at(f->frame, in->a))[i];
		else
			l->a64[i] = l->a[i] = ((uint32_t *)at(f->frame, in->a))[i];
		if (in->op <= VS_SHFL_BFLY) {
			l->b[i] = ((uint32_t *)at(f->frame, in->b))[i];
			l->c[i] = ((uint32_t *)at(f->frame, in->c))[i];
		}
	}
}

/* Writes the results. in->x is the second destination, a predicate, or VX_NONE. */
static void scatter_results(
	const struct vfrag *f, const struct vinsn *in, uint32_t mask, const struct lanes *l)
{
	uint32_t *d = (uint32_t *)(f->frame->regs + in->d);

	if (in->op == VS_WARP_BAR)
		return;
	if (in->d == VX_NONE) {
		/* only the predicate result is used */
	} else if (in->size) {
		*d = (*d & ~mask) | (l->pred & mask);
	} else {
		for (unsigned i = 0; i < LANES; i++)
			d[i] = mask >> i & 1 ? l->d[i] : d[i];
	}
	if (in->x != VX_NONE) {
		d = (uint32_t *)(f->frame->regs + in->x);
		*d = (*d & ~mask) | (l->pred & mask);
	}
}

/* Returns the member mask that this lane passes: the lanes that the operation waits for. */
static uint32_t member_mask(const struct vfrag *f, const struct vinsn *in, unsigned lane)
{
	return ((uint32_t *)at(f->frame, (uint32_t)in->imm))[lane];
}

static bool same_kind(const struct vinsn *a, const struct vinsn *b)
{
	return a == b || (a->fn == b->fn && a->op == b->op && a->vec == b->vec);
}

/* Releases lanes if all lanes of their operation have arrived. */
void vx_sync_check(struct vx *x, struct vwarp *w)
{
	bool again = true;

	while (again) {
		again = false;
		for (uint32_t i = 0; i < w->n && !again; i++) {
			struct vfrag *f = &w->frag[i];
			const struct vinsn *in = f->pc;
			uint32_t want, have = 0;
			struct lanes l;

			if (f->state != VF_SYNC)
				continue;
			want = member_mask(f, in, (unsigned)__builtin_ctz(f->mask));
			for (uint32_t k = 0; k < w->n; k++)
				if (w->frag[k].state == VF_SYNC && same_kind(w->frag[k].pc, in) &&
					member_mask(&w->frag[k], w->frag[k].pc,
						(unsigned)__builtin_ctz(w->frag[k].mask)) == want)
					have |= w->frag[k].mask;
			if (want & w->live & ~have)
				continue;
			memset(&l, 0, sizeof(l));
			for (uint32_t k = 0; k < w->n; k++)
				if (w->frag[k].mask & have)
					gather_operands(
						&w->frag[k], w->frag[k].pc, w->frag[k].mask, &l);
			compute_result(in, &l);
			for (uint32_t k = 0; k < w->n; k++) {
				struct vfrag *g = &w->frag[k];

				if (!(g->mask & have))
					continue;
				scatter_results(g, g->pc, g->mask, &l);
				g->state = VF_READY;
				g->pc++;
				w->waiting--;
			}
			w->spin = 0;
			vx_merge_equal(w, x->f ? &x->f : NULL);
			again = true;
		}
	}
}

/* Makes the fragment (the group of lanes that executes this) wait, because other lanes of its
 * member mask have not arrived. If the fragment's lanes have different member masks, it is split by
 * mask, and each group waits separately. */
static const struct vinsn *wait_for_others(struct vx *x, const struct vinsn *in)
{
	struct vwarp *w = x->w;
	uint32_t left = x->mask;

	if (x->active & ~left)
		vx_split(x, x->active & ~left, in + 1);
	x->f->pc = in;
	for (;;) {
		uint32_t first = member_mask(x->f, in, (unsigned)__builtin_ctz(left)), same = 0;
		struct vfrag *f = x->f;

		for (uint32_t m = left; m; m &= m - 1)
			if (member_mask(x->f, in, (unsigned)__builtin_ctz(m)) == first)
				same |= m & -m;
		left &= ~same;
		if (left)
			f = vx_split(x, same, in);
		f->state = VF_SYNC;
		w->waiting++;
		if (!left)
			break;
	}
	x->f = NULL;
	vx_sync_check(x, w);
	return NULL;
}

/* Shuffles the whole warp with constant operands. The table contains the source lane of each of the
 * 32 lanes, followed by the mask of lanes whose source is in range. */
static const struct vinsn *shfl_table(struct vx *x, const struct vinsn *in)
{
	const uint32_t *a = VX_U32(x, in->a), *table = x->f->frame->fn->ext + in->table;
	uint32_t *d, r[LANES];

	for (unsigned i = 0; i < LANES; i++)
		r[i] = a[table[i]];
	if (in->d != VX_NONE) {
		d = VX_U32(x, in->d);
		memcpy(d, r, sizeof(r));
	}
	if (in->x != VX_NONE)
		VX_PRED(x, in->x) = table[LANES];
	return in + 1;
}

void vx_shfl_table(unsigned op, uint32_t b, uint32_t c, uint32_t ret[LANES + 1])
{
	const struct vinsn in = {.op = (uint8_t)op};

	ret[LANES] = 0;
	for (unsigned i = 0; i < LANES; i++) {
		bool ok;

		ret[i] = shfl_source(&in, i, b, c, &ok);
		ret[LANES] |= (uint32_t)ok << i;
	}
}

/* Executes the operation at once if all lanes have the same member mask and all its lanes are
 * here. */
const struct vinsn *vop_sync(struct vx *x, const struct vinsn *in)
{
	const uint32_t *member = VX_U32(x, (uint32_t)in->imm);
	uint32_t mask = x->mask, want;
	struct lanes l;

	if (!mask)
		return in + 1;
	if (in->flags & VI_TABLE && mask == ~0u)
		return shfl_table(x, in);
	want = member[__builtin_ctz(mask)];
	for (uint32_t m = mask; m && !((uint32_t)in->imm & 1); m &= m - 1)
		if (member[__builtin_ctz(m)] != want)
			return wait_for_others(x, in);
	if (want & x->w->live & ~mask)
		return wait_for_others(x, in);
	if (in->op == VS_WARP_BAR)
		return in + 1;
	l.mask = l.pred = l.p = 0;
	if (in->op <= VS_SHFL_BFLY && mask != ~0u)
		memset(l.a, 0, sizeof(l.a));
	gather_operands(x->f, in, mask, &l);
	compute_result(in, &l);
	scatter_results(x->f, in, mask, &l);
	return in + 1;
}

const struct vinsn *vop_activemask(struct vx *x, const struct vinsn *in)
{
	uint32_t *d = VX_U32(x, in->d), m = x->mask;

	for (unsigned i = 0; i < LANES; i++)
		d[i] = m >> i & 1 ? m : d[i];
	return in + 1;
}
