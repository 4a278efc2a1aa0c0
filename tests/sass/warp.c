/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parts of warps, and the instructions that split and join them. BSSY stores the active lanes in
 * a convergence register of each of these lanes. BSYNC holds a lane until all lanes in its mask
 * wait at that register, too. It does not wait for lanes that have exited, have left by BREAK,
 * or by now have another mask in the register that does not include the waiting lane: code in
 * another part, or a recursive call, may use the same register. Lanes of outer calls are then
 * released early. A block barrier counts each arriving part as one warp. */
#include "sass_ops.h"

#include <stdio.h>

static int64_t insn_at(const struct sass_x *x, uint64_t addr)
{
	uint64_t s = (addr - CODE_BASE) / CODE_SECTION, k = (addr - CODE_BASE) % CODE_SECTION / 16;

	if (addr < CODE_BASE || s >= x->code->n_sections || k >= x->code->sections[s].n ||
		addr % 16)
		return -1;
	return (int64_t)x->code->sections[s].first + (int64_t)k;
}

static uint64_t address_of(const struct sass_insn *in)
{
	return CODE_BASE + in->section * CODE_SECTION + in->at;
}

/* Moves lanes of the running part to a new one at the same instruction. */
struct sass_part *sass_split(struct sass_x *x, uint32_t lanes)
{
	struct sass_warp *w = x->w;
	struct sass_part *p = &w->part[w->n++];

	*p = *x->part;
	p->mask = lanes;
	x->part->mask &= ~lanes;
	return p;
}

static void drop_empty(struct sass_warp *w)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < w->n; k++) {
		if (!w->part[k].mask)
			continue;
		if (w->current == k)
			w->current = n;
		w->part[n++] = w->part[k];
	}
	w->n = n;
	if (w->current >= n)
		w->current = 0;
}

/* Makes waiting parts ready again; with `join`, parts at the same instruction become one. */
static void release(struct sass_warp *w, const bool which[LANES], bool join)
{
	for (uint32_t k = 0; k < w->n; k++) {
		if (!which[k] || !w->part[k].mask)
			continue;
		for (uint32_t l = 0; join && l < k; l++)
			if (which[l] && w->part[l].mask && w->part[l].pc == w->part[k].pc + 1 &&
				w->part[l].state == P_READY) {
				w->part[l].mask |= w->part[k].mask;
				w->part[k].mask = 0;
				break;
			}
		if (!w->part[k].mask)
			continue;
		w->part[k].state = P_READY;
		w->part[k].pc++;
	}
}

static bool gathers(const struct sass_part *p)
{
	return p->mask && (p->state == P_WARPSYNC || p->state == P_COLLECT);
}

/* The lanes for which a lane waits at BSYNC, itself included. Lanes at a WARPSYNC that needs
 * this lane are excluded: in recursive functions they have been released early, and an H100 does
 * not hang in this case. */
static uint32_t joined(const struct sass_warp *w, unsigned reg, unsigned lane)
{
	uint32_t lanes = 0;

	for (unsigned i = 0; i < LANES; i++)
		if (w->b[reg][lane] & w->live & 1u << i && w->b[reg][i] >> lane & 1)
			lanes |= 1u << i;
	for (uint32_t k = 0; k < w->n; k++)
		if (gathers(&w->part[k]) && w->part[k].arg >> lane & 1)
			lanes &= ~w->part[k].mask;
	return lanes;
}

static void check_bsync(struct sass_warp *w, unsigned reg)
{
	uint32_t waiting = 0, open = 0;
	bool which[LANES] = {0};

	for (uint32_t k = 0; k < w->n; k++)
		if (w->part[k].state == P_BSYNC && w->part[k].arg == reg)
			waiting |= w->part[k].mask;
	for (unsigned i = 0; i < LANES; i++)
		if (waiting >> i & 1 && !(joined(w, reg, i) & ~waiting))
			open |= 1u << i;
	for (uint32_t k = 0; k < w->n; k++)
		which[k] = w->part[k].state == P_BSYNC && w->part[k].arg == reg &&
			   w->part[k].mask & open;
	release(w, which, true);
}

/* Releases lanes that wait at BSYNC if the running part has changed convergence register `reg`. */
static void settle(struct sass_x *x, unsigned reg)
{
	check_bsync(x->w, reg);
	drop_empty(x->w);
	x->part = &x->w->part[x->w->current];
}

/* Returns the lanes that wait at WARPSYNC.COLLECTIVE for the same set of lanes, `wants`. */
static uint32_t gathered(const struct sass_warp *w, uint32_t wants)
{
	uint32_t lanes = 0;

	for (uint32_t k = 0; k < w->n; k++)
		lanes |= gathers(&w->part[k]) && w->part[k].arg == wants ? w->part[k].mask : 0;
	return lanes;
}

/* Lets lanes that wait at several WARPSYNC.COLLECTIVE instructions run on together, after the
 * instruction of part `into`. ptxas uses the same registers at all such instructions of a
 * function. */
static void collect(struct sass_warp *w, uint32_t into, const bool which[LANES])
{
	struct sass_part *p = &w->part[into];

	for (uint32_t k = 0; k < w->n; k++)
		if (k != into && which[k] && w->part[k].state == P_COLLECT) {
			p->mask |= w->part[k].mask;
			w->part[k].mask = 0;
		}
	p->state = P_READY;
	p->pc++;
}

static void check_warpsync(struct sass_warp *w)
{
	for (uint32_t k = 0; k < w->n; k++) {
		uint32_t wants = w->part[k].arg;
		bool which[LANES] = {0};

		if (!gathers(&w->part[k]) || wants & w->live & ~gathered(w, wants))
			continue;
		for (uint32_t l = 0; l < w->n; l++)
			which[l] = gathers(&w->part[l]) && w->part[l].arg == wants;
		for (uint32_t l = 0; l < w->n; l++)
			if (which[l] && w->part[l].mask && w->part[l].state == P_COLLECT) {
				collect(w, l, which);
				which[l] = false;
			}
		release(w, which, true);
	}
}

void sass_barriers_check(struct sass_x *x, struct sass_warp *w)
{
	for (unsigned k = 0; k < 16; k++)
		check_bsync(w, k);
	check_warpsync(w);
	drop_empty(w);
	(void)x;
}

static enum sass_next wait(struct sass_x *x, enum sass_part_state state, uint32_t arg)
{
	x->part->state = state;
	x->part->arg = arg;
	sass_barriers_check(x, x->w);
	return N_WAIT;
}

/* Lets the lanes of the part that the guard excludes continue. Returns true if there are other
 * lanes. */
static bool set_apart(struct sass_x *x)
{
	uint32_t rest = x->active & ~x->mask;

	if (!x->mask)
		return false;
	if (rest)
		sass_split(x, rest)->pc++;
	return true;
}

static void set_barrier(struct sass_x *x, unsigned reg, uint32_t lanes)
{
	for (unsigned i = 0; i < LANES; i++)
		if (x->mask >> i & 1)
			x->w->b[reg][i] = lanes;
}

enum sass_next op_bssy(struct sass_x *x, const struct sass_insn *in)
{
	if (in->o[0].kind != O_BARRIER)
		return sass_unknown(x, in, "operands");
	if (!x->mask)
		return N_NEXT;
	set_barrier(x, in->o[0].reg, x->mask);
	settle(x, in->o[0].reg);
	return N_NEXT;
}

enum sass_next op_bsync(struct sass_x *x, const struct sass_insn *in)
{
	if (!set_apart(x))
		return N_NEXT;
	return wait(x, P_BSYNC, in->o[0].reg);
}

/* BREAK [p,] B */
enum sass_next op_break(struct sass_x *x, const struct sass_insn *in)
{
	unsigned reg = in->o[in->n - 1].reg;

	if (in->n > 2 || in->o[in->n - 1].kind != O_BARRIER)
		return sass_unknown(x, in, "operands");
	if (in->n == 2)
		x->mask &= get_pred(x, &in->o[0]);
	for (unsigned i = 0; i < LANES; i++)
		x->w->b[reg][i] &= ~x->mask;
	settle(x, reg);
	return N_NEXT;
}

enum sass_next op_bmov(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 t;

	if (!x->mask)
		return N_NEXT;
	if (in->o[0].kind == O_BARRIER) {
		const uint32_t *v = get32(x, &in->o[1], t);
		for (unsigned i = 0; i < LANES; i++)
			if (x->mask >> i & 1)
				x->w->b[in->o[0].reg][i] = v[i];
		settle(x, in->o[0].reg);
		return N_NEXT;
	}
	put32(x, &in->o[0], x->w->b[in->o[1].reg]);
	if (has(in, M_CLEAR)) {
		set_barrier(x, in->o[1].reg, 0);
		settle(x, in->o[1].reg);
	}
	return N_NEXT;
}

/* .COLLECTIVE: the lanes gather and run the following code together up to ENDCOLLECTIVE; then
 * each continues at its own label. Lanes with different masks gather separately. */
enum sass_next op_warpsync(struct sass_x *x, const struct sass_insn *in)
{
	const struct sass_opd *to = &in->o[in->n - 1];
	bool collective = has(in, M_COLLECTIVE);
	lanes32 t;

	if (collective && (to->kind != O_LABEL || insn_at(x, (uint64_t)to->imm) < 0))
		return sass_unknown(x, in, "operands");
	if (!set_apart(x))
		return N_NEXT;
	for (unsigned i = 0; i < LANES; i++)
		t[i] = ~0u;
	if (!has(in, M_ALL))
		memcpy(t, get32(x, &in->o[0], (lanes32){0}), sizeof(t));
	for (unsigned i = 0; i < LANES; i++)
		if (collective && x->part->mask >> i & 1)
			x->w->back[i] = (uint32_t)insn_at(x, (uint64_t)to->imm);
	for (;;) {
		uint32_t m = x->part->mask, first = t[__builtin_ctz(m)], same = 0;
		struct sass_part *p = x->part;

		for (unsigned i = 0; i < LANES; i++)
			same |= (m >> i & 1 && t[i] == first) ? 1u << i : 0;
		if (same != m)
			p = sass_split(x, same);
		p->state = collective ? P_COLLECT : P_WARPSYNC;
		p->arg = first;
		if (same == m)
			break;
	}
	sass_barriers_check(x, x->w);
	return N_WAIT;
}

enum sass_next op_endcollective(struct sass_x *x, const struct sass_insn *in)
{
	const uint32_t *back = x->w->back;

	(void)in;
	if (!set_apart(x))
		return N_NEXT;
	for (;;) {
		uint32_t m = x->part->mask, first = back[__builtin_ctz(m)], same = 0;

		for (unsigned i = 0; i < LANES; i++)
			same |= (m >> i & 1 && back[i] == first) ? 1u << i : 0;
		if (same == m) {
			x->part->pc = first;
			return N_SET;
		}
		sass_split(x, same)->pc = first;
	}
}

static enum sass_next jump(struct sass_x *x, const struct sass_insn *in, uint64_t to)
{
	int64_t k = insn_at(x, to);

	if (k < 0) {
		sass_fault(x, in, VGPU_FAULT_PC, (unsigned)__builtin_ctz(x->part->mask),
			"jump to 0x%llx, which is no code", (unsigned long long)to);
		return N_WAIT;
	}
	x->part->pc = (uint32_t)k;
	return N_SET;
}

/* BRA [p,] label; .DIV u, label: jumps if lanes of u are missing here, or are excluded by the
 * guard. */
enum sass_next op_bra(struct sass_x *x, const struct sass_insn *in)
{
	const struct sass_opd *to = &in->o[in->n - 1];

	if (to->kind != O_LABEL || has(in, M_U) || has(in, M_ANY))
		return sass_unknown(x, in, "operands");
	if (has(in, M_DIV)) {
		lanes32 t;
		uint32_t wants = get32(x, &in->o[0], t)[0];
		if (in->n != 2)
			return sass_unknown(x, in, "operands");
		if (!(wants & x->w->live & ~x->mask))
			x->mask = 0;
	} else if (in->n == 2 && (in->o[0].kind == O_PRED || in->o[0].kind == O_UPRED)) {
		x->mask &= get_pred(x, &in->o[0]);
	} else if (in->n != 1) {
		return sass_unknown(x, in, "operands");
	}
	if (!set_apart(x))
		return N_NEXT;
	return jump(x, in, (uint64_t)to->imm);
}

/* Each lane jumps to its own address; lanes with the same address stay together. */
static enum sass_next jump_each(
	struct sass_x *x, const struct sass_insn *in, const uint64_t to[LANES])
{
	if (!set_apart(x))
		return N_NEXT;
	for (;;) {
		uint32_t m = x->part->mask, same = 0;
		uint64_t first = to[__builtin_ctz(m)];

		for (unsigned i = 0; i < LANES; i++)
			if (m >> i & 1 && to[i] == first)
				same |= 1u << i;
		if (same == m)
			return jump(x, in, first);
		int64_t k = insn_at(x, first);
		if (k < 0)
			return jump(x, in, first);
		sass_split(x, same)->pc = (uint32_t)k;
	}
}

/* BRX r imm: relative to the next instruction. */
enum sass_next op_brx(struct sass_x *x, const struct sass_insn *in)
{
	lanes64 t;
	lanes32 lo;
	uint64_t next = address_of(in) + 16;
	int64_t off = in->n > 1 ? (in->o[1].neg ? -in->o[1].imm : in->o[1].imm) : 0;

	if (in->n > 2 || in->o[0].kind != O_REG)
		return sass_unknown(x, in, "operands");
	/* The table holds 32-bit offsets. */
	const uint32_t *r = get_word(x, &in->o[0], 0, lo);
	for (unsigned i = 0; i < LANES; i++)
		t[i] = next + (uint64_t)(int64_t)(int32_t)r[i] + (uint64_t)off;
	return jump_each(x, in, t);
}

/* The driver would provide malloc, free, vprintf and the like; they are missing here. */
static enum sass_next call_builtin(struct sass_x *x, const struct sass_insn *in, uint64_t to)
{
	char why[80] = "a call of a function of the driver";

	for (uint32_t k = 0; k < x->code->n_relocs; k++)
		if (sass_builtin(x->code->relocs[k].symbol) == to)
			snprintf(why, sizeof(why), "a call of the driver's %.40s",
				x->code->relocs[k].symbol);
	return sass_unknown(x, in, why);
}

/* CALL and RET to a label or to the address in a register; with .REL, relative to a label. */
static enum sass_next far(struct sass_x *x, const struct sass_insn *in)
{
	lanes64 t;
	uint64_t from = 0;

	if (in->n == 1 && in->o[0].kind == O_LABEL) {
		if (!set_apart(x))
			return N_NEXT;
		return jump(x, in, (uint64_t)in->o[0].imm);
	}
	if (in->o[0].kind != O_REG)
		return sass_unknown(x, in, "operands");
	get64(x, &in->o[0], t);
	if (in->n == 2 && in->o[1].kind == O_LABEL)
		from = (uint64_t)in->o[1].imm;
	else if (has(in, M_REL))
		return sass_unknown(x, in, "operands");
	for (unsigned i = 0; i < LANES; i++)
		t[i] += t[i] >= CODE_BASE ? 0 : from;
	for (unsigned i = 0; i < LANES; i++)
		if (x->mask >> i & 1 && t[i] >= BUILTIN_BASE)
			return call_builtin(x, in, t[i]);
	return jump_each(x, in, t);
}

enum sass_next op_call(struct sass_x *x, const struct sass_insn *in)
{
	return far(x, in);
}

enum sass_next op_ret(struct sass_x *x, const struct sass_insn *in)
{
	return far(x, in);
}

enum sass_next op_lepc(struct sass_x *x, const struct sass_insn *in)
{
	lanes64 t;

	if (in->n != 2 || in->o[1].kind != O_LABEL)
		return sass_unknown(x, in, "operands");
	for (unsigned i = 0; i < LANES; i++)
		t[i] = (uint64_t)in->o[1].imm;
	put64(x, &in->o[0], t);
	return N_NEXT;
}

/* Gives the turn to another part of the warp, if there is one. */
void sass_give_turn(struct sass_warp *w)
{
	w->ran = 0;
	w->current = (w->current + 1) % w->n;
}

enum sass_next op_yield(struct sass_x *x, const struct sass_insn *in)
{
	(void)in;
	x->part->pc++;
	sass_give_turn(x->w);
	return N_WAIT;
}

enum sass_next op_nanosleep(struct sass_x *x, const struct sass_insn *in)
{
	(void)in;
	x->part->pc++;
	x->w->asleep = true;
	sass_give_turn(x->w);
	return N_WAIT;
}

/* ---- block barriers ---- */

static uint32_t live_warps(const struct vgpu_block *b)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < b->n_warps; k++)
		n += b->warps[k].live != 0;
	return n;
}

/* Opens the barrier if enough threads have arrived. */
void sass_bar_check(struct sass_x *x, unsigned id)
{
	struct sass_bar *bar = &x->b->bar[id];
	uint32_t want = bar->expected ? bar->expected : live_warps(x->b);

	if (!bar->arrived || bar->arrived < want)
		return;
	for (uint32_t k = 0; k < x->b->n_warps; k++) {
		struct sass_warp *w = &x->b->warps[k];

		for (uint32_t l = 0; l < w->n; l++)
			if (w->part[l].state == P_BAR && w->part[l].arg == id) {
				w->part[l].state = P_READY;
				w->part[l].pc++;
				w->red_count = bar->count;
				w->red_pred = (bar->all ? 1 : 0) | (bar->any ? 2 : 0);
			}
	}
	*bar = (struct sass_bar){0};
}

static enum sass_next bar_arrive(
	struct sass_x *x, const struct sass_insn *in, unsigned id, uint32_t threads, uint32_t pred)
{
	struct sass_bar *bar = &x->b->bar[id];

	if (!bar->arrived)
		*bar = (struct sass_bar){.all = 1};
	bar->expected = threads / LANES;
	bar->arrived++;
	bar->count += (uint32_t)__builtin_popcount(pred & x->part->mask);
	bar->any |= (pred & x->part->mask) != 0;
	bar->all &= !(x->part->mask & ~pred);
	if (has(in, M_ARV)) {
		x->part->pc++;
	} else {
		x->part->state = P_BAR;
		x->part->arg = id;
	}
	sass_bar_check(x, id);
	return has(in, M_ARV) ? N_SET : N_WAIT;
}

/* BAR.x id [, threads] [, predicate]; a single register holds both if neither is constant. */
enum sass_next op_bar(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 ta, tb;
	unsigned n = in->n, lane;
	uint32_t pred = ~0u, id, threads = 0;

	if (!set_apart(x))
		return N_NEXT;
	lane = (unsigned)__builtin_ctz(x->mask);
	if (has(in, M_RED)) {
		if (in->o[n - 1].kind != O_PRED)
			return sass_unknown(x, in, "operands");
		pred = get_pred(x, &in->o[--n]);
	}
	if (n < 1 || n > 2)
		return sass_unknown(x, in, "operands");
	id = get32(x, &in->o[0], ta)[lane];
	if (n == 2) {
		threads = get32(x, &in->o[1], tb)[lane];
		if (in->o[0].kind == O_REG && in->o[1].kind == O_REG) {
			if (in->o[0].reg != in->o[1].reg)
				return sass_unknown(x, in, "two registers");
			threads = id >> 16 & 0xfff;
			id &= 15;
		}
	} else if (in->o[0].kind == O_REG) {
		id &= 15;
	}
	if (id > 15)
		return sass_unknown(x, in, "a barrier beyond 15");
	return bar_arrive(x, in, id, threads, pred);
}

/* B2R.RESULT r, p: the result of the last reduction. */
enum sass_next op_b2r(struct sass_x *x, const struct sass_insn *in)
{
	const struct sass_insn *bar = in - 1;
	lanes32 t;
	uint32_t p;

	if (!has(in, M_RESULT))
		return sass_unknown(x, in, "operands");
	for (unsigned k = 0; k < 24 && !(bar->fn == op_bar && has(bar, M_RED)); k++)
		bar--;
	if (bar->fn != op_bar || bar->section != in->section)
		return sass_unknown(x, in, "no reduction ahead");
	p = has(bar, M_AND) ? x->w->red_pred & 1 : x->w->red_pred >> 1;
	for (unsigned i = 0; i < LANES; i++)
		t[i] = x->w->red_count;
	put32(x, &in->o[0], t);
	if (in->n > 1)
		put_pred(x, &in->o[1], p ? ~0u : 0);
	return N_NEXT;
}

/* ---- exits ---- */

void sass_remove(struct sass_x *x, uint32_t lanes)
{
	struct sass_warp *w = x->w;

	w->live &= ~lanes;
	x->part->mask &= ~lanes;
	sass_barriers_check(x, w);
	for (unsigned k = 0; k < 16 && !w->live; k++)
		if (!x->b->bar[k].expected)
			sass_bar_check(x, k);
}

/* EXIT [p] */
enum sass_next op_exit(struct sass_x *x, const struct sass_insn *in)
{
	if (in->n > 1 || (in->n && in->o[0].kind != O_PRED))
		return sass_unknown(x, in, "operands");
	if (in->n)
		x->mask &= get_pred(x, &in->o[0]);
	if (!set_apart(x))
		return N_NEXT;
	sass_remove(x, x->part->mask);
	return N_WAIT;
}

enum sass_next op_trap(struct sass_x *x, const struct sass_insn *in)
{
	if (!x->mask)
		return N_NEXT;
	sass_fault(x, in, VGPU_FAULT_TRAP, (unsigned)__builtin_ctz(x->mask), "trap");
	return N_WAIT;
}
