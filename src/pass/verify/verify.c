/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The main part of the verifier: the order of the checks, and the text of findings (verify.h). The
 * checks compare pairs of functions, one of an original kernel and one of the rewritten code. At
 * first there is one pair for each kernel: the kernel and the rewritten code's entry. Each call
 * that a check meets adds a pair: the function that the kernel calls, and the function that the
 * rewritten code calls in its place. */
#include "pass/verify/verify_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_MAX 40

static const char *const rule_names[PASS_RULES] = {"flow", "code", "ids", "barriers", "convergence",
	"shared memory", "carry", "parameters", "globals", "rounding"};

const char *pass_rule_name(enum pass_rule rule)
{
	return rule < PASS_RULES ? rule_names[rule] : "";
}

/* ---- reporting findings ---- */
static uint32_t lines_in(const char *text, size_t len)
{
	uint32_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

static uint32_t lines_of_body(const struct ptx_func *f, size_t from, size_t end)
{
	struct strbuf text = {0};
	uint32_t n;

	for (size_t i = from; i < end; i++)
		ptx_print_stmt(f, &f->body.at[i], &text);
	n = lines_in(text.at, text.len);
	strbuf_finish(&text);
	return n;
}

/* Returns the line of a statement in the printed module; 0 if it cannot be found. */
static uint32_t line_of(const struct ptx_module *m, const struct ptx_func *f, uint32_t at)
{
	struct strbuf all = {0}, one = {0};
	uint32_t line = 0;
	const char *there;

	ptx_print(m, &all);
	ptx_print_func(m, f, &one);
	there = all.at && one.at ? strstr(all.at, one.at) : NULL;
	/* The closing brace follows the body. */
	if (there)
		line = lines_in(all.at, (size_t)(there - all.at) + one.len) -
		       lines_of_body(f, at, f->body.len);
	strbuf_finish(&all);
	strbuf_finish(&one);
	return line;
}

const char *verify_text(struct verify_pair *p, const struct ptx_func *f, uint32_t at)
{
	struct strbuf text = {0};
	const char *from, *copy;
	size_t n;

	if (at >= f->body.len)
		return "the end";
	ptx_print_stmt(f, &f->body.at[at], &text);
	from = text.at ? text.at + strspn(text.at, " \t\n") : "";
	n = strcspn(from, "\n");
	copy = arena_strndup(&p->v->arena, from, MIN(n, 120));
	strbuf_finish(&text);
	return copy ? copy : "";
}

void verify_tell(struct verify_pair *p, enum pass_rule rule, uint32_t at, uint32_t plain,
	const char *fmt, ...)
{
	struct verify *v = p->v;
	uint64_t key = ((uint64_t)rule << 56 | (uint64_t)p->k << 48) ^ (uint64_t)(at + 1) << 24 ^
		       (plain + 1);
	char what[700], from[160] = "";
	va_list ap;

	for (size_t i = 0; i < v->told.len; i++)
		if (v->told.at[i] == key)
			return;
	v->found++;
	if (v->told.len == FINDINGS_MAX)
		return;
	if (!VEC_PUSH(&v->told, key))
		v->failed = true;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (plain < p->p->body.len)
		snprintf(from, sizeof(from), ", line %u", p->p->body.at[plain].line);
	diag_add(v->diags, DIAG_ERROR, at < p->q->body.len ? line_of(v->r->m, p->q, at) : 0, 1, 1,
		"%s: %s (kernel '%.200s'%s)", rule_names[rule], what, p->g->from->name, from);
}

/* ---- pairs of functions ---- */
/* Lists the indices of a function's instructions. */
static uint32_t *list_instructions(struct verify *v, const struct ptx_func *f, uint32_t *ret_n)
{
	uint32_t *to = ARENA_ARRAY(&v->arena, uint32_t, f->body.len + 1), n = 0;

	for (uint32_t i = 0; to && i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_INSN)
			to[n++] = i;
	*ret_n = n;
	return to;
}

static bool find_origins(struct verify_pair *p)
{
	struct verify *v = p->v;
	const struct pass_recorded *rec = pass_record_find(v->r->record, p->q);
	uint32_t n, n_now, at = 0, *insns = list_instructions(v, p->p, &n);
	uint32_t *now = list_instructions(v, p->q, &n_now);

	p->of = ARENA_ARRAY(&v->arena, uint32_t, p->q->body.len + 1);
	if (!insns || !now || !p->of)
		return false;
	for (uint32_t i = 0; i < p->q->body.len; i++) {
		const struct pass_origin *o = rec && i < rec->of.len ? &rec->of.at[i] : NULL;
		bool is_insn = p->q->body.at[i].kind == PTX_INSN;

		p->of[i] = NONE;
		if (o && o->kernel == p->k && is_insn) {
			if (o->insn < n)
				p->of[i] = insns[o->insn];
			else
				verify_tell(p, PASS_RULE_CODE, i, NONE,
					"the pass's record says that it is instruction %u, but "
					"there are only %u",
					o->insn, n);
		} else if (!rec && is_insn) {
			p->of[i] = at < n ? insns[at] : NONE;
			at++;
		}
		p->leaves |= is_insn && p->of[i] != NONE &&
			     (p->q->body.at[i].mn->op == PTX_OP_ret ||
				     p->q->body.at[i].mn->op == PTX_OP_exit);
	}
	if (!rec && n != n_now)
		verify_tell(p, PASS_RULE_CODE, NONE, NONE,
			"the function '%.200s' has %u instructions in place of %u", p->q->sym->name,
			n_now, n);
	return true;
}

static uint32_t *no_regs(struct verify *v, size_t n)
{
	uint32_t *to = arena_alloc(&v->arena, (n + 1) * sizeof(*to));

	if (to)
		memset(to, 0xff, (n + 1) * sizeof(*to));
	return to;
}

void verify_add_pair(
	struct verify *v, unsigned k, const struct ptx_func *plain, const struct ptx_func *now)
{
	struct verify_pair *p;
	bool ok;

	for (size_t i = 0; i < v->pairs.len; i++)
		if (v->pairs.at[i]->k == k && v->pairs.at[i]->p == plain &&
			v->pairs.at[i]->q == now)
			return;
	p = ARENA_NEW(&v->arena, struct verify_pair);
	if (!p || !VEC_PUSH(&v->pairs, p)) {
		v->failed = true;
		return;
	}
	*p = (struct verify_pair){.v = v, .k = k, .g = &v->kernel[k], .p = plain, .q = now};
	p->entry = now == v->r->f;
	p->reg = no_regs(v, plain->regs.len);
	p->back = no_regs(v, now->regs.len);
	ok = p->reg && p->back && cfg_build(&v->arena, plain, &p->pg) == 0;
	p->qg = p->entry ? v->host : NULL;
	if (ok && !p->qg)
		ok = cfg_build(&v->arena, now, &p->qg) == 0;
	v->failed |= !ok || !find_origins(p);
}

struct verify_pair *verify_owner(struct verify *v, uint32_t at)
{
	for (unsigned k = 0; k < v->r->n; k++)
		if (v->pairs.at[k]->of[at] != NONE)
			return v->pairs.at[k];
	return NULL;
}

/* ---- registers ---- */
struct writing {
	struct verify_pair *p, *by;
	uint32_t at;
};

/* Reports a kernel's statement that uses a register or an id of another kernel. */
static void look_at_read(struct writing *w, uint32_t reg)
{
	const struct verify *v = w->p->v;

	for (unsigned k = 0; w->p->entry && k < v->r->n; k++) {
		bool is_id = false;

		for (unsigned i = 0; i < PASS_IDS; i++)
			is_id |= v->kernel[k].id_reg[i] == reg;
		if (k != w->p->k && (is_id || v->pairs.at[k]->back[reg] != NONE))
			verify_tell(w->p, is_id ? PASS_RULE_IDS : PASS_RULE_CODE, w->at,
				w->p->of[w->at], "`%s` uses a register of kernel '%.200s'",
				verify_text(w->p, w->p->q, w->at), v->kernel[k].from->name);
	}
}

static void look_at_write(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct writing *w = user;

	(void)opd;
	if (w->by == w->p)
		look_at_read(w, reg);
	else if (role & PTX_DEF && w->p->back[reg] != NONE)
		verify_tell(w->p, PASS_RULE_CODE, w->at, NONE,
			"`%s`, which is not of this kernel, writes one of its registers",
			verify_text(w->p, w->p->q, w->at));
}

/* Checks the use of registers. Statements that implement no instruction of the kernel must not
 * write its registers. Statements of the kernel must not use another kernel's registers. */
static void look_at_registers(struct verify_pair *p)
{
	for (uint32_t i = 0; i < p->q->body.len; i++) {
		struct writing w = {p, NULL, i};

		if (p->q->body.at[i].kind != PTX_INSN)
			continue;
		w.by = p->of[i] != NONE ? p : NULL;
		ptx_visit_regs(p->q, &p->q->body.at[i], look_at_write, &w);
	}
}

/* ---- running all checks ---- */
static bool begin(struct verify *v)
{
	const struct pass_result *r = v->r;

	if (cfg_build(&v->arena, r->f, &v->host) < 0)
		return false;
	for (unsigned k = 0; k < r->n; k++) {
		struct verify_kernel *g = &v->kernel[k];
		const uint32_t *b = r->kernels[k].block;

		g->from = &r->kernels[k];
		g->f = ptx_find_func(r->kernels[k].m, r->kernels[k].name);
		if (!g->f || !g->f->has_body)
			return false;
		g->threads = (uint32_t)round_up((uint64_t)b[0] * b[1] * b[2], 32);
		memset(g->barrier, 255, sizeof(g->barrier));
		memset(g->id_reg, 0xff, sizeof(g->id_reg));
		verify_add_pair(v, k, g->f, r->f);
	}
	return !v->failed;
}

/* Checks that no kernel reads the hardware's ids. A kernel may keep its thread ids if the entry's
 * blocks have the shape of its own. */
static void look_for_ids(struct verify *v)
{
	const struct pass_merged *form = v->r->form;
	struct pass_left left[CTL_MAX_MERGED];

	for (unsigned k = 0; k < v->r->n; k++) {
		const uint32_t *block = v->r->kernels[k].block;

		left[k] = (struct pass_left)PASS_LEFT_BLOCK;
		left[k].sizes = form != NULL;
		for (unsigned i = PASS_TID; form && i < PASS_IDS; i++)
			left[k].id[i] = memcmp(block, form->block, sizeof(form->block)) != 0;
	}
	v->found += !pass_verify_left(v->r->m, v->r->f, left, v->r->n, v->diags);
}

static void run_checks(struct verify *v)
{
	look_for_ids(v);
	/* The loop also visits pairs that verify_flow adds for calls. */
	for (size_t i = 0; i < v->pairs.len && !v->failed; i++)
		verify_flow(v->pairs.at[i]);
	for (size_t i = 0; i < v->pairs.len && !v->failed; i++) {
		verify_carry(v->pairs.at[i]);
		verify_rounding(v->pairs.at[i]);
		verify_forms(v->pairs.at[i]);
		look_at_registers(v->pairs.at[i]);
	}
	if (v->failed)
		return;
	verify_threads(v);
	verify_places(v);
	verify_id_registers(v);
	verify_disjoint(v);
	if (v->r->form)
		verify_order(v);
	verify_convergence(v);
	verify_meetings(v);
}

bool pass_verify(const struct pass_result *r, struct diag_list *diags)
{
	struct verify *v = r->n && r->n <= CTL_MAX_MERGED ? calloc(1, sizeof(*v)) : NULL;
	bool fine;

	if (!v) {
		diag_add(diags, DIAG_ERROR, 0, 0, 1, "the result cannot be verified");
		return false;
	}
	v->r = r;
	v->diags = diags;
	arena_init(&v->arena, 0);
	if (begin(v))
		run_checks(v);
	else
		v->failed = true;
	if (v->failed)
		diag_add(
			diags, DIAG_ERROR, 0, 0, 1, "the result cannot be verified: out of memory");
	fine = !v->failed && !v->found;
	for (unsigned k = 0; k < r->n; k++) {
		VEC_FREE(&v->kernel[k].syms);
		VEC_FREE(&v->kernel[k].places);
	}
	VEC_FREE(&v->pairs);
	VEC_FREE(&v->told);
	arena_finish(&v->arena);
	free(v);
	return fine;
}
