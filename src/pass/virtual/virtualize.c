/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Turns a body into code that runs one virtual block. The caller supplies the block ids. Changes to
 * the body:
 * - Unless the place has real exits (struct pass_place), all exits lead to one label. The barriers
 *   that whole warps reach then take the form that diverged lanes may execute (barrier instead of
 *   bar), also in callees.
 * - Callees that read ids get the ids as parameters, except ids that are constants.
 * - Special registers are legal only as the source of mov and cvt, so each is replaced within its
 *   own statement.
 *
 * pass_virtual_regs declares the added registers in the outermost scope, before the body. */
#include "base/map.h"
#include "pass/analysis/callees.h"
#include "pass/analysis/masks.h"
#include "pass/analysis/unread.h"
#include "pass/analysis/warps.h"
#include "pass/virtual/emit.h"
#include "pass/virtual/rounds.h"
#include "pass/virtual/twins.h"
#include "pass/virtual/virtual.h"
#include "ptx/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct virt {
	struct pass_writer *w;
	const struct pass_facts *facts;
	const struct pass_place *v;
	/* for each callee: its copy; NULL: the callee is called unchanged */
	struct ptx_func **copies;
	const struct ptx_func *f;
	bool is_entry;
	size_t at;         /* index of the entry statement that is being rewritten */
	uint32_t *numbers; /* for each statement of f: its instruction number; NULL: not recorded */
	uint64_t *read;    /* bit set of registers that f reads; NULL: atomics stay unchanged */
};

void pass_virtual_regs(struct pass_writer *w)
{
	pass_put(w, ".reg .b32 %hd_n; .reg .b32 %hd_ra; .reg .b32 %hd_rb; .reg .b16 %hd_h;\n"
		    ".reg .pred %hd_pa; .reg .pred %hd_pv;");
}

static void begin_notes(struct virt *x, const struct ptx_func *f, uint32_t ignored)
{
	if (!x->w->record || x->w->error)
		return;
	x->numbers = pass_record_numbers(f, ignored);
	x->w->error = x->numbers ? 0 : -ENOMEM;
}

/* Records that all code emitted since offset `from` implements statement i. */
static void note_since(struct virt *x, size_t from, size_t i)
{
	struct pass_writer *w = x->w;

	if (x->numbers && x->numbers[i] != PASS_OURS &&
		!pass_record_note(&w->numbers, from, w->out.len, x->numbers[i]))
		w->error = w->error ? w->error : -ENOMEM;
}

/* For each kind of id: the special register of dimension x, and the one for the vector of all
 * dimensions. */
static const struct {
	uint64_t x, all;
	enum pass_id id;
} kinds[] = {
	{PTX_SR_CTAID_X, PTX_SR_CTAID, PASS_CTAID},
	{PTX_SR_NCTAID_X, PTX_SR_NCTAID, PASS_NCTAID},
	{PTX_SR_TID_X, PTX_SR_TID, PASS_TID},
	{PTX_SR_NTID_X, PTX_SR_NTID, PASS_NTID},
};

/* Returns the operand that replaces a special register; NULL if the register stays. */
static const char *replacement(const struct pass_place *v, uint64_t special)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (special >= kinds[i].x && special < kinds[i].x + 3)
			return v->id[kinds[i].id + (special - kinds[i].x)];
	return special == PTX_SR_DYNAMIC_SMEM ? v->dynamic_bytes : NULL;
}

/* Emits dest = text for a 16-bit or 32-bit destination. */
static void write_id(struct virt *x, const struct ptx_opd *dest, bool narrow, const char *text)
{
	if (text[0] == '[') {
		pass_emit(x->w, "ld.param.u32 %%hd_n, %s;", text);
		if (!narrow) {
			pass_last(x->w)->opd[0] = *dest;
			return;
		}
		text = "%hd_n";
	}
	if (narrow)
		pass_emit(x->w, "cvt.u16.u32 %%hd_h, %s;", text);
	else
		pass_emit(x->w, "mov.u32 %%hd_n, %s;", text);
	pass_last(x->w)->opd[0] = *dest;
}

static bool is_narrow(const struct ptx_stmt *s)
{
	return s->mn->n_types && ptx_type_bytes(s->mn->type[0]) == 2;
}

/* Replaces mov.v4.u32 {a, b, c, d}, %ctaid. The destination may also be one vector register. The
 * fourth element is 0. */
static bool virtual_vector(struct virt *x, const struct ptx_stmt *s)
{
	size_t from = x->w->out.len;
	uint64_t first = PTX_SR_OTHER;
	bool list;

	if (s->mn->op != PTX_OP_mov || s->n != 2 || s->opd[1].kind != PTX_OPD_SPECIAL)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (s->opd[1].value == kinds[i].all)
			first = kinds[i].x;
	if (!replacement(x->v, first))
		return false;
	list = s->opd[0].kind == PTX_OPD_VECTOR;
	for (uint32_t i = 0; i < (list ? s->opd[0].n : 4); i++) {
		struct ptx_opd to = list ? s->opd[0].list[i] : s->opd[0];

		if (!list)
			to.selector = (uint8_t) "xyzw"[i];
		if (to.kind == PTX_OPD_REG)
			write_id(x, &to, is_narrow(s), i < 3 ? replacement(x->v, first + i) : "0");
	}
	pass_guard_since(x->w, from, s);
	return true;
}

static bool virtual_id(struct virt *x, const struct ptx_stmt *s)
{
	const char *text;
	size_t from = x->w->out.len;
	struct ptx_stmt copy;

	if (virtual_vector(x, s))
		return true;
	if (s->n != 2 || s->opd[1].kind != PTX_OPD_SPECIAL ||
		!(text = replacement(x->v, s->opd[1].value)))
		return false;
	if (s->mn->op == PTX_OP_mov) {
		write_id(x, &s->opd[0], is_narrow(s), text);
	} else { /* cvt: the source is replaced by a register */
		copy = ptx_copy_stmt(x->w->m, s);
		pass_emit(x->w, text[0] == '[' ? "ld.param.u32 %%hd_n, %s;" : "mov.u32 %%hd_n, %s;",
			text);
		copy.opd[1] = pass_last(x->w)->opd[0];
		pass_copy(x->w, &copy);
	}
	pass_guard_since(x->w, from, s);
	return true;
}

/* ---- barriers ---- */
/* Sets the barrier's number for this place. If the hardware block has more threads than the body,
 * also adds the body's thread count. */
static void place_barrier(struct virt *x, struct ptx_stmt *s)
{
	unsigned behind = ptx_has_mod(s->mn, "red") ? 1 : 0, at = behind;
	struct ptx_opd *opd = ARENA_ARRAY(&x->w->m->arena, struct ptx_opd, s->n + 1u);

	if (!opd || s->n <= at) {
		x->w->error = opd ? -EINVAL : -ENOMEM;
		return;
	}
	memcpy(opd, s->opd, s->n * sizeof(*opd));
	s->opd = opd;
	if (x->v->barrier) {
		opd[at] = pass_operand(x->w, "b32", x->v->barrier);
	} else if (x->v->barrier_first) {
		opd[at].value += x->v->barrier_first;
		opd[at].name = NULL;
	}
	if (!x->v->threads || s->n != at + 1 + behind)
		return; /* all threads take part, or the barrier already has a thread count */
	memmove(opd + at + 2, opd + at + 1, behind * sizeof(*opd));
	opd[at + 1] = (struct ptx_opd){.kind = PTX_OPD_IMM, .has_value = 1, .value = x->v->threads};
	if (x->v->count)
		opd[at + 1] = pass_operand(x->w, "b32", x->v->count);
	s->n++;
}

/* Returns bar.sync as barrier.sync, and drops ".aligned". */
static const struct ptx_mnem *apart_form(struct ptx_module *m, const struct ptx_mnem *mn)
{
	char text[128];
	size_t n = (size_t)snprintf(text, sizeof(text), "barrier");

	for (unsigned i = 0; i < mn->n_mods; i++)
		if (strcmp(mn->mods[i], "aligned") != 0 && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, ".%s", mn->mods[i]);
	return n < sizeof(text) ? ptx_get_mnem(m, text) : NULL;
}

/* Returns whether whole warps reach the barrier: it is a plain barrier or an aligned one. */
static bool takes_whole_warps(const struct ptx_stmt *s)
{
	return pass_is_plain_barrier(s) || s->mn->op == PTX_OP_bar || ptx_has_mod(s->mn, "aligned");
}

static void whole_barrier(struct virt *x, const struct ptx_stmt *s)
{
	struct ptx_stmt copy = ptx_copy_stmt(x->w->m, s);
	size_t from = x->w->out.len;

	pass_gather(x->w, x->v);
	pass_guard_since(x->w, from, s);
	copy.mn = apart_form(x->w->m, s->mn);
	if (!copy.mn) {
		x->w->error = -ENOMEM;
		return;
	}
	place_barrier(x, &copy);
	pass_copy(x->w, &copy);
}

static void virtual_barrier(struct virt *x, const struct ptx_stmt *s)
{
	size_t from = x->w->out.len;
	bool by_rounds = x->is_entry && pass_has_rounds(x->v);

	/* The barrier keeps its form, because control flow is unchanged or a partial warp may reach
	 * it. */
	if (x->v->real_exits || !takes_whole_warps(s)) {
		struct ptx_stmt copy = ptx_copy_stmt(x->w->m, s);

		place_barrier(x, &copy);
		pass_copy(x->w, &copy);
	} else if (!by_rounds || !pass_is_plain_barrier(s)) {
		whole_barrier(x, s);
	} else {
		pass_round_barrier(x->w, x->v, s);
		pass_guard_since(x->w, from, s);
		pass_round_failed(x->w, x->v);
	}
}

/* ---- calls ---- */
/* The names of ids in a callee. The name of the parameter is that of the register without '%'. */
static const char *const reg_names[] = {"%hd_cx", "%hd_cy", "%hd_cz", "%hd_gx", "%hd_gy", "%hd_gz",
	"%hd_ix", "%hd_iy", "%hd_iz", "%hd_jx", "%hd_jy", "%hd_jz"};
_Static_assert(ARRAY_LEN(reg_names) == PASS_IDS, "one for each");
#define PARAM_NAME(d) (reg_names[d] + 1)

/* Returns whether callers pass id d to the callee as an argument. They do not if the id is a
 * constant. */
static bool is_handed_down(const struct pass_place *v, const struct pass_callee *c, int d)
{
	return c->reads[d] && v->id[d] && (v->id[d][0] < '0' || v->id[d][0] > '9');
}

/* Declares a .param for one argument, and emits the store of `text` to it. */
static struct ptx_opd one_argument(struct virt *x, const char *text)
{
	unsigned number = x->w->m->fresh++;
	const char *reg = text;
	struct ptx_opd o;

	if (text[0] == '[') {
		pass_emit(x->w, "ld.param.u32 %%hd_n, %s;", text);
		reg = "%hd_n";
	}
	pass_emit(x->w, ".param .b32 hd_a%u;\nst.param.b32 [hd_a%u], %s;", number, number, reg);
	o = pass_last(x->w)->opd[0];
	return o.kind == PTX_OPD_ADDR ? o.list[0] : o;
}

static bool virtual_call(struct virt *x, const struct ptx_stmt *s)
{
	const struct pass_callee *c = pass_called(x->facts, s);
	const struct ptx_func *to = c ? x->copies[c - x->facts->callees.at] : NULL;
	struct ptx_opd more[PASS_IDS], *opd, *list;
	unsigned n = 0, at = 0, n_opd;
	struct ptx_stmt copy;

	if (!to)
		return false;
	for (int d = 0; d < PASS_IDS; d++)
		if (is_handed_down(x->v, c, d))
			more[n++] = one_argument(x, x->v->id[d]);
	copy = ptx_copy_stmt(x->w->m, s);
	while (at < copy.n && copy.opd[at].kind != PTX_OPD_SYM)
		at++;
	n_opd = MAX(copy.n, at + 2);
	opd = ARENA_ARRAY(&x->w->m->arena, struct ptx_opd, n_opd);
	list = ARENA_ARRAY(&x->w->m->arena, struct ptx_opd, n + 256);
	if (!opd || !list || at == copy.n)
		goto fail;
	memcpy(opd, copy.opd, copy.n * sizeof(*opd));
	opd[at].sym = to->sym;
	opd[at].name = to->sym->name;
	if (copy.n == at + 1)
		opd[at + 1] = (struct ptx_opd){.kind = PTX_OPD_TUPLE};
	if (opd[at + 1].kind != PTX_OPD_TUPLE || opd[at + 1].n > 250)
		goto fail;
	if (opd[at + 1].n) /* the operand list is empty for a call without arguments */
		memcpy(list, opd[at + 1].list, opd[at + 1].n * sizeof(*list));
	memcpy(list + opd[at + 1].n, more, n * sizeof(*list));
	opd[at + 1].list = list;
	opd[at + 1].n += n;
	copy.opd = opd;
	copy.n = (uint8_t)n_opd;
	pass_copy(x->w, &copy);
	return true;
fail:
	x->w->error = -EINVAL;
	return true;
}

/* ---- lanes that exit before a warp operation ---- */

static const struct pass_leave *leave_at(const struct virt *x)
{
	for (size_t i = 0; i < x->facts->leaves.len && x->is_entry && x->v->end; i++)
		if (x->facts->leaves.at[i].at == x->at)
			return &x->facts->leaves.at[i];
	return NULL;
}

/* Emitted before an exit that all remaining lanes reach. Computes the mask of lanes that do not
 * exit. */
static void keep_stayers(struct virt *x, const struct pass_leave *l, const struct ptx_stmt *s)
{
	struct ptx_opd *stays;

	pass_put(x->w, "vote.sync.ballot.b32 %hd_here, %hd_pv, %hd_here;");
	stays = &pass_last(x->w)->opd[1];
	stays->reg = s->guard;
	stays->negated = l->taken != (s->guard_negated != 0) ? '!' : 0;
}

static bool holds_mask(const struct virt *x, const struct ptx_stmt *s)
{
	return x->facts->leaves.len && x->is_entry && x->v->end && pass_mask_of(s);
}

/* Emits a warp operation whose member mask is restricted to the lanes that have not exited. */
static void among_stayers(struct virt *x, const struct ptx_stmt *s)
{
	struct ptx_stmt copy = ptx_copy_stmt(x->w->m, s);

	pass_put(x->w, "and.b32 %hd_m, %hd_here, %hd_here;");
	pass_last(x->w)->opd[2] = copy.opd[copy.n - 1];
	copy.opd[copy.n - 1] = pass_last(x->w)->opd[0];
	pass_copy(x->w, &copy);
}

/* ---- shared memory ---- */
static const struct pass_move *move_of(const struct virt *x, const struct ptx_sym *sym)
{
	for (size_t i = 0; i < x->v->n_moves && (x->v->shared || x->v->base); i++)
		if (x->v->moves[i].from == sym)
			return &x->v->moves[i];
	return NULL;
}

static void move_operand(void *user, struct ptx_opd *o)
{
	const struct virt *x = user;
	const struct pass_move *move = o->kind == PTX_OPD_SYM && o->sym ? move_of(x, o->sym) : NULL;

	if (!move)
		return;
	o->sym = x->v->shared;
	o->name = o->sym->name;
	o->value = move->at + (o->has_value ? o->value : 0);
	o->has_value = 1;
}

/* Replaces a moved variable by an offset from a base register. An address operand gets register
 * plus offset; for any other operand, the sum is computed. */
static void move_behind(struct virt *x, const struct ptx_mnem *mn, struct ptx_opd *o)
{
	bool in_address = o->kind == PTX_OPD_ADDR && o->n;
	struct ptx_opd *sym = in_address ? &o->list[0] : o;
	const struct pass_move *move =
		sym->kind == PTX_OPD_SYM && sym->sym ? move_of(x, sym->sym) : NULL;
	uint64_t at = move ? move->at + (sym->has_value ? sym->value : 0) : 0;

	if (!move)
		return;
	if (in_address) {
		o->value += at;
		o->has_value = 1;
		o->name = NULL;
		*sym = pass_operand(x->w, "b32", move->base ? move->base : x->v->base);
		return;
	}
	pass_emit(x->w, "add.u32 %%hd_sa, %s, %llu;", move->base ? move->base : x->v->base,
		(unsigned long long)at);
	*o = pass_operand(x->w, "b32", "%hd_sa");
	if (mn->n_types && ptx_type_bytes(mn->type[0]) == 8) {
		pass_put(x->w, "cvt.u64.u32 %hd_sb, %hd_sa;");
		*o = pass_operand(x->w, "b64", "%hd_sb");
	}
}

static void find_moved(void *user, struct ptx_opd *o)
{
	struct virt *x = user;

	if (o->kind == PTX_OPD_SYM && o->sym && move_of(x, o->sym))
		/* for example, if a list contains the variable */
		x->w->error = x->w->error ? x->w->error : -EINVAL;
}

/* Returns a copy of the statement that uses the new location of shared variables. */
static struct ptx_stmt move_variables(struct virt *x, const struct ptx_stmt *s)
{
	struct ptx_stmt copy = *s;

	if (x->v->base && s->kind == PTX_INSN) {
		copy = ptx_copy_stmt(x->w->m, s);
		for (unsigned i = 0; i < copy.n; i++)
			move_behind(x, copy.mn, &copy.opd[i]);
		ptx_visit_opds(&copy, find_moved, x);
	} else if (x->v->shared && s->kind == PTX_INSN) {
		copy = ptx_copy_stmt(x->w->m, s);
		ptx_visit_opds(&copy, move_operand, x);
	}
	return copy;
}

/* ---- rewriting the body ---- */
static void virtual_exit(struct virt *x, const struct ptx_stmt *s)
{
	size_t from = x->w->out.len;

	pass_emit(x->w, "bra %s;", x->v->end->name);
	pass_guard_since(x->w, from, s);
}

static bool is_declared_elsewhere(const struct virt *x, const struct ptx_stmt *s)
{
	return s->kind == PTX_DECL && (s->sym == x->v->declared || move_of(x, s->sym));
}

/* Returns whether a statement is a pragma that is not valid at this place. All pragmas are hints, so
 * the code is correct without them.
 * - used_bytes_mask describes the next load, and other statements may come between the two.
 * - enable_smem_spilling is an error in an entry with dynamic shared memory. */
static bool is_lost_pragma(const struct virt *x, const struct ptx_stmt *s)
{
	if (s->kind != PTX_DIRECTIVE || s->sym || !s->text ||
		strncmp(s->text, ".pragma", strlen(".pragma")) != 0)
		return false;
	return strstr(s->text, "\"used_bytes_mask ") ||
	       (x->v->dynamic_bytes && strstr(s->text, "\"enable_smem_spilling\""));
}

/* Emits `red` for an atomic whose result is unused (unread.c). */
static void emit_reduction(struct virt *x, const struct ptx_stmt *s)
{
	struct ptx_stmt copy = ptx_copy_stmt(x->w->m, s);
	char text[128];
	int n = snprintf(text, sizeof(text), "red%s", s->mn->text + strlen("atom"));

	copy.mn = n < (int)sizeof(text) ? ptx_get_mnem(x->w->m, text) : NULL;
	if (!copy.mn) {
		x->w->error = -ENOMEM;
		return;
	}
	copy.opd++;
	copy.n--;
	pass_copy(x->w, &copy);
}

static void virtual_stmt(struct virt *x, const struct ptx_stmt *stmt)
{
	struct ptx_stmt at_home = move_variables(x, stmt), *s = &at_home;

	if (s->kind != PTX_INSN) {
		if (!is_declared_elsewhere(x, s) && !is_lost_pragma(x, s))
			pass_copy(x->w, s);
		return;
	}
	if (s->mn->op == PTX_OP_griddepcontrol)
		return; /* it only affects overlapping grids; see facts.c */
	if (leave_at(x))
		keep_stayers(x, leave_at(x), s);
	if (x->is_entry && x->v->end && (s->mn->op == PTX_OP_ret || s->mn->op == PTX_OP_exit))
		virtual_exit(x, s);
	else if (s->mn->flags & PTX_F_BARRIER)
		virtual_barrier(x, s);
	else if (holds_mask(x, s))
		among_stayers(x, s);
	else if (s->mn->op == PTX_OP_call && virtual_call(x, s))
		return;
	else if (x->is_entry && x->v->params && pass_put_param(x->w, x->f, x->v, s))
		return;
	else if (x->read && pass_is_unread(s, x->read))
		emit_reduction(x, s);
	else if (!virtual_id(x, s))
		pass_copy(x->w, s);
}

/* Returns the body's length without a trailing `ret`. No code follows that `ret`, so it needs no
 * jump. */
static size_t without_last_ret(const struct ptx_func *f)
{
	size_t n = f->body.len;
	const struct ptx_stmt *s;

	if (n == 0)
		return 0;
	s = &f->body.at[n - 1];
	return s->kind == PTX_INSN && s->mn->op == PTX_OP_ret && s->guard == PTX_NO_REG ? n - 1 : n;
}

/* Emits a vote that sends warps with exiting lanes to the second copy. */
static void vote_to_stay(struct virt *x, const struct ptx_stmt *s)
{
	struct ptx_opd *leaves;

	pass_put(x->w, "vote.sync.any.pred %hd_pv, %hd_pv, -1;");
	leaves = &pass_last(x->w)->opd[1];
	leaves->reg = s->guard;
	leaves->negated = s->guard_negated ? '!' : 0;
	pass_put(x->w, "@%hd_pv bra $hd_parted;");
}

/* Emits the body a second time from facts->parting on, the early exit after which it is duplicated
 * (parting.c). The copy has new labels and is otherwise unchanged. Declarations of the outermost
 * scope are not repeated. */
static void emit_second_copy(struct virt *x, const struct ptx_func *f, size_t n)
{
	pass_twins twins = {0};
	unsigned depth = 0;
	size_t from;
	int r = pass_twins_find(x->w, f, x->facts->parting, &twins);

	x->w->error = x->w->error ? x->w->error : r;
	pass_emit(x->w, "bra %s;\n$hd_parted:\n", x->v->end->name);
	for (size_t i = x->facts->parting; i < n && x->w->error == 0; i++) {
		const struct ptx_stmt *s = &f->body.at[i];
		struct ptx_stmt copy;

		depth += s->kind == PTX_OPEN;
		depth -= s->kind == PTX_CLOSE;
		if (s->kind == PTX_DECL && depth == 0)
			continue;
		if (s->kind == PTX_LABEL) {
			pass_emit(x->w, "%s:\n", pass_twin_of(&twins, s->sym)->name);
			continue;
		}
		copy = s->kind == PTX_INSN ? pass_twin_stmt(x->w->m, &twins, s) : *s;
		x->at = i;
		from = x->w->out.len;
		virtual_stmt(x, &copy);
		note_since(x, from, i);
	}
	VEC_FREE(&twins);
}

static void emit_in_tail(void *user, size_t at, const struct ptx_stmt *s, struct ptx_sym *end)
{
	struct virt x = *(struct virt *)user;
	struct pass_place v = *x.v;
	size_t from = x.w->out.len;

	v.end = end;
	x.v = &v;
	virtual_stmt(&x, s);
	note_since(&x, from, at);
}

static int virtual_callees(struct virt *x);

static void find_unread_atomics(struct virt *x)
{
	if (!x->v->merged || x->w->error)
		return;
	x->read = pass_find_read(x->f);
	x->w->error = x->read ? 0 : -ENOMEM;
}

int pass_put_body(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at)
{
	const struct pass_facts *facts = at->facts;
	struct virt x = {w, facts, at, NULL, f, true, 0, NULL, NULL};
	size_t n = at->end ? without_last_ret(f) : f->body.len;
	bool twice = at->end && facts->parting != PASS_NO_PARTING;
	struct pass_tails_put tails = {.at = at};

	x.copies = arena_zalloc(&w->m->arena, (facts->callees.len + 1) * sizeof(*x.copies));
	w->error = w->error || x.copies ? w->error : -ENOMEM;
	w->error = w->error ? w->error : virtual_callees(&x);
	begin_notes(&x, f, w->record ? w->record->ignored : 0);
	find_unread_atomics(&x);
	if (at->end)
		pass_tails_begin(w, &tails);
	if (at->end && facts->leaves.len)
		pass_put(w, ".reg .b32 %hd_here; .reg .b32 %hd_m;\nmov.u32 %hd_here, -1;");
	for (size_t i = 0; i < n && w->error == 0; i++) {
		size_t from = w->out.len;

		x.at = i;
		if (!at->end || !pass_tail_branch(w, &tails, i, &f->body.at[i])) {
			if (twice && i == facts->parting)
				vote_to_stay(&x, &f->body.at[i]);
			else
				virtual_stmt(&x, &f->body.at[i]);
		}
		note_since(&x, from, i);
	}
	if (twice)
		emit_second_copy(&x, f, n);
	if (at->end && facts->tails.len) {
		pass_emit(w, "bra %s;\n", at->end->name);
		pass_tails_write(w, &tails, emit_in_tail, &x);
	}
	free(x.numbers);
	free(x.read);
	return w->error;
}

/* ---- copies of callees that read ids or have barriers; they have additional parameters ---- */
static int add_id_params(struct pass_writer *w, struct ptx_func *f, const struct pass_place *v,
	const struct pass_callee *c)
{
	char text[64];

	for (int d = 0; d < PASS_IDS; d++) {
		if (!is_handed_down(v, c, d))
			continue;
		snprintf(text, sizeof(text), ".param .b32 %s", PARAM_NAME(d));
		if (!ptx_add_param(w->m, f, w->diags, text))
			return -EINVAL;
	}
	return 0;
}

static int virtual_callee(const struct virt *outer, size_t k)
{
	const struct pass_callee *c = &outer->facts->callees.at[k];
	struct ptx_func *f = outer->copies[k];
	struct pass_place own = *outer->v;
	struct pass_writer w = {
		.m = outer->w->m, .f = f, .diags = outer->w->diags, .record = outer->w->record};
	struct virt x = {&w, outer->facts, &own, outer->copies, f, false, 0, NULL, NULL};

	own.end = NULL;
	pass_virtual_regs(&w);
	for (int d = 0; d < PASS_IDS; d++)
		if (is_handed_down(outer->v, c, d)) {
			pass_emit(&w, ".reg .b32 %s;\nld.param.u32 %s, [%s];", reg_names[d],
				reg_names[d], PARAM_NAME(d));
			own.id[d] = reg_names[d];
		}
	begin_notes(&x, f, 0);
	find_unread_atomics(&x);
	for (size_t i = 0; i < f->body.len && w.error == 0; i++) {
		size_t from = w.out.len;

		virtual_stmt(&x, &f->body.at[i]);
		note_since(&x, from, i);
	}
	free(x.numbers);
	free(x.read);
	if (w.error == 0 && w.record)
		w.error = pass_record_func(w.record, f, &w.numbers);
	if (w.error == 0) {
		VEC_FREE(&f->body);
		f->body = w.out;
	} else {
		VEC_FREE(&w.out);
	}
	pass_writer_finish(&w);
	return w.error;
}

/* Declares a copy of a callee. All copies are declared first, because they may call each other in
 * any order. */
static int declare_copy(struct ptx_module *m, const struct ptx_func *copy, size_t at)
{
	struct ptx_func *f = ARENA_NEW(&m->arena, struct ptx_func);
	struct ptx_item it = {PTX_ITEM_FUNC, copy->line, {.func = f}};

	if (!f || !VEC_PUSH(&m->items, it))
		return -ENOMEM;
	memmove(&m->items.at[at + 1], &m->items.at[at], (m->items.len - 1 - at) * sizeof(it));
	m->items.at[at] = it;
	f->sym = copy->sym;
	f->sym->redeclared = true;
	f->line = copy->line;
	f->is_noreturn = copy->is_noreturn;
	f->no_param_list = copy->no_param_list && copy->params.len == 0;
	for (size_t i = 0; i < copy->rets.len; i++)
		if (!VEC_PUSH(&f->rets, copy->rets.at[i]))
			return -ENOMEM;
	for (size_t i = 0; i < copy->params.len; i++)
		if (!VEC_PUSH(&f->params, copy->params.at[i]))
			return -ENOMEM;
	return 0;
}

static size_t first_copy(const struct virt *x)
{
	const struct ptx_module *m = x->w->m;

	for (size_t i = 0; x->facts->callees.len > 1 && i < m->items.len; i++)
		for (size_t k = 1; k < x->facts->callees.len; k++)
			if (m->items.at[i].kind == PTX_ITEM_FUNC && x->copies[k] &&
				m->items.at[i].func == x->copies[k])
				return i;
	return m->items.len;
}

static int copy_callee(struct virt *x, size_t k)
{
	const struct pass_callee *c = &x->facts->callees.at[k];
	struct pass_writer *w = x->w;
	struct ptx_func *to;
	char name[512];

	snprintf(name, sizeof(name), "hd_%.200s_%.200s", w->f->sym->name, c->f->sym->name);
	while (ptx_is_known(w->m, name))
		snprintf(name, sizeof(name), "hd_%.200s_%.200s_%u", w->f->sym->name,
			c->f->sym->name, w->m->fresh++);
	to = ptx_clone_func(w->m, c->f, name, w->f);
	if (!to || !VEC_PUSH(&w->copies, to))
		return -ENOMEM;
	to->no_param_list = false;
	x->copies[k] = to;
	return add_id_params(w, to, x->v, c);
}

static int virtual_callees(struct virt *x)
{
	struct ptx_module *m = x->w->m;
	const struct pass_facts *facts = x->facts;
	struct hash_map of = {0}; /* maps each function to its callee record */
	const struct pass_callee *c;
	size_t at;
	int r = 0;

	for (size_t k = 1; r == 0 && k < facts->callees.len; k++)
		if (!hash_map_put_at(&of, facts->callees.at[k].f, (void *)&facts->callees.at[k]))
			r = -ENOMEM;
	/* Create all copies before filling them, because they may call each other. */
	for (size_t i = 0; r == 0 && facts->callees.len > 1 && i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];

		c = it->kind == PTX_ITEM_FUNC ? hash_map_at(&of, it->func) : NULL;
		if (c && !x->copies[c - facts->callees.at] && pass_needs_copy(x->v, c))
			r = copy_callee(x, (size_t)(c - facts->callees.at));
	}
	hash_map_free(&of);
	at = first_copy(x);
	for (size_t k = 1; r == 0 && k < facts->callees.len; k++)
		if (x->copies[k])
			r = declare_copy(m, x->copies[k], at);
	for (size_t k = 1; r == 0 && k < facts->callees.len; k++)
		if (x->copies[k])
			r = virtual_callee(x, k);
	return r;
}
