/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* cfg_tool write FILE            converts every function to a graph, and writes it from that
 * cfg_tool shuffle FILE [SEED]   the same, but puts each block's statements into a random order
 *                                that registers and must_order allow. If an instruction's effects
 *                                are incomplete, the shuffled code computes other results.
 * Validates the module and prints it. */
#include "draft_from.h"
#include "must_order.h"
#include "ptx/graft.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* maximum number of units in a shuffled block: each is compared with every other one */
#define BLOCK_MAX 3000

static struct diag_list *diags;
static uint64_t seed, drawn;
static unsigned long moved, units;

/* Statements that stay together: a single statement, or a call with its braces. must_order keeps
 * the order of instructions that use the carry flag. */
struct unit {
	uint32_t first, n;
	uint32_t waits; /* number of units that must come before */
};

struct shuffle {
	const struct ptx_func *f;
	const ptx_body *old;
	VEC(struct unit) units;
	uint8_t *before; /* [i * n + k]: i must come before k */
	/* Registers of the current unit, as bits 1 (read) and 2 (written). */
	uint8_t *regs;
	uint8_t clash;
};

static void mark_reg(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct shuffle *s = user;

	s->regs[reg] |= (uint8_t)role;
}

static void look_at_reg(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct shuffle *s = user;

	if ((role & PTX_DEF && s->regs[reg]) || s->regs[reg] & PTX_DEF)
		s->clash = 1;
}

static bool is_fixed(const struct ptx_stmt *s)
{
	return s->kind != PTX_INSN && s->kind != PTX_OPEN && s->kind != PTX_CLOSE;
}

static int find_units(struct shuffle *s)
{
	for (uint32_t i = 0; i < s->old->len;) {
		struct unit u = {.first = i, .n = 1};

		if (s->old->at[i].kind == PTX_OPEN)
			while (s->old->at[i + u.n - 1].kind != PTX_CLOSE)
				u.n++;
		if (!VEC_PUSH(&s->units, u))
			return -ENOMEM;
		i += u.n;
	}
	return 0;
}

static bool must_stay(const struct shuffle *s, const struct unit *a, const struct unit *b)
{
	for (uint32_t i = a->first; i < a->first + a->n; i++) {
		struct cfg_effects x = cfg_effects_of(&s->old->at[i]);

		if (is_fixed(&s->old->at[i]) && a->n == 1)
			return true;
		for (uint32_t k = b->first; k < b->first + b->n; k++) {
			struct cfg_effects y = cfg_effects_of(&s->old->at[k]);

			if ((is_fixed(&s->old->at[k]) && b->n == 1) || must_order(&x, &y))
				return true;
		}
	}
	return false;
}

static void clear_regs(struct shuffle *s, const struct unit *u)
{
	memset(s->regs, 0, s->f->regs.len);
}

static void find_order(struct shuffle *s)
{
	size_t n = s->units.len;

	for (size_t a = 0; a < n; a++) {
		struct unit *u = &s->units.at[a];

		clear_regs(s, u);
		for (uint32_t i = u->first; i < u->first + u->n; i++)
			ptx_visit_regs(s->f, &s->old->at[i], mark_reg, s);
		for (size_t b = a + 1; b < n; b++) {
			struct unit *v = &s->units.at[b];

			s->clash = 0;
			for (uint32_t i = v->first; i < v->first + v->n; i++)
				ptx_visit_regs(s->f, &s->old->at[i], look_at_reg, s);
			if (s->clash || must_stay(s, u, v)) {
				s->before[a * n + b] = 1;
				v->waits++;
			}
		}
	}
}

/* Draws one of the units that wait for no other, appends it, and repeats. */
static int put_units(struct shuffle *s, ptx_body *out)
{
	size_t n = s->units.len;

	for (size_t done = 0; done < n; done++) {
		size_t ready = 0, pick;

		for (size_t i = 0; i < n; i++)
			ready += s->units.at[i].waits == 0;
		pick = random_bits(seed, drawn++) % ready;
		for (size_t i = 0; i < n; i++) {
			struct unit *u = &s->units.at[i];

			if (u->waits || pick-- > 0)
				continue;
			moved += i != done;
			units++;
			u->waits = UINT32_MAX;
			for (uint32_t k = u->first; k < u->first + u->n; k++)
				if (!VEC_PUSH(out, s->old->at[k]))
					return -ENOMEM;
			for (size_t k = i + 1; k < n; k++)
				s->units.at[k].waits -= s->before[i * n + k];
			break;
		}
	}
	return 0;
}

static int shuffle_part(const struct ptx_func *f, ptx_body *body)
{
	struct shuffle s = {.f = f, .old = body};
	ptx_body out = {0};
	int r = find_units(&s);

	if (r == 0 && s.units.len <= BLOCK_MAX) {
		s.before = calloc(s.units.len * s.units.len + 1, 1);
		s.regs = calloc(f->regs.len + 1, 1);
		r = s.before && s.regs ? 0 : -ENOMEM;
		if (r == 0) {
			find_order(&s);
			r = put_units(&s, &out);
		}
		if (r == 0) {
			ptx_body old = *body;

			*body = out;
			out = old;
		}
	}
	VEC_FREE(&out);
	VEC_FREE(&s.units);
	free(s.before);
	free(s.regs);
	return r;
}

static int rewrite(struct ptx_module *m, struct ptx_func *f, bool shuffle)
{
	struct cfg_draft d = {0};
	ptx_body body;
	struct arena a;
	struct cfg *g;
	int r = ptx_flatten(m, f, diags);

	arena_init(&a, 0);
	if (r == 0)
		r = cfg_build(&a, f, &g);
	if (r == 0)
		r = draft_from(g, &d);
	for (size_t i = 0; r == 0 && shuffle && i < d.parts.len; i++)
		r = shuffle_part(f, &d.parts.at[i].stmts);
	if (r == 0)
		r = cfg_write(m, f, &d, &body, NULL);
	if (r == 0) {
		VEC_FREE(&f->body);
		f->body = body;
	}
	cfg_draft_finish(&d);
	arena_finish(&a);
	return r;
}

static int run(int argc, char **argv, struct diag_list *list)
{
	struct ptx_module *m = argc > 2 ? tool_parse_file(argv[2], list) : NULL;
	struct strbuf out = {0};
	int r = m ? 0 : -EINVAL;

	diags = list;
	seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	for (size_t i = 0; r == 0 && i < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func->has_body)
			r = rewrite(m, m->items.at[i].func, !strcmp(argv[1], "shuffle"));
	if (r == 0 && ptx_validate(m, diags))
		r = -EINVAL;
	if (r == 0)
		ptx_print(m, &out);
	if (out.at)
		fwrite(out.at, 1, out.len, stdout);
	if (units)
		fprintf(stderr, "%lu of %lu moved\n", moved, units);
	strbuf_finish(&out);
	ptx_module_free(m);
	return r;
}

int main(int argc, char **argv)
{
	return tool_main(argc, argv, run);
}
