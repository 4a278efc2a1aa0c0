/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What decides how a kernel can be steered. Objections are collected from the whole call tree; the
 * verdict is the worst tier that one of them asks for, with the first reason for it. */
#include "pass/private.h"

#include <errno.h>
#include <string.h>

static void check_module(struct ptx_module *m, struct pass_facts *facts, const struct ptx_func *f)
{
	if (m->address_bits != 64)
		pass_object(m, facts, PASS_HELD, NULL, "32-bit addresses");
	if (m->sm < 70 || m->version < 60)
		pass_object(m, facts, PASS_HELD, NULL,
			"written for sm_%u in PTX %u.%u; sm_70 and PTX 6.0 are needed", m->sm,
			m->version / 10, m->version % 10);
	for (size_t i = 0; i < f->directives.len; i++)
		if (strstr(f->directives.at[i], "cluster"))
			pass_object(m, facts, PASS_HELD, NULL, "is launched in clusters (%s)",
				f->directives.at[i]);
}

static void check_params(struct ptx_module *m, struct pass_facts *facts, const struct ptx_func *f)
{
	uint32_t bytes = 0, limit = m->version >= 81 ? 32764 : 4096;

	if (pass_param_layout(f, &bytes, NULL, NULL, 0) < 0 ||
		round_up(bytes, 8) + sizeof(struct ctl_args) > limit)
		pass_object(m, facts, PASS_HELD, NULL, "no room for one more parameter");
}

struct looking {
	struct ptx_module *m;
	struct pass_facts *facts;
	const struct ptx_stmt *s;
};

static void look_at_operand(void *user, struct ptx_opd *o)
{
	struct looking *l = user;

	if (o->kind == PTX_OPD_SYM && o->sym && o->sym->kind == PTX_SYM_VAR &&
		o->sym->space == PTX_SHARED)
		l->facts->uses_shared = true;
	if (o->kind != PTX_OPD_SPECIAL)
		return;
	if (o->value == PTX_SR_ENVREG &&
		(!strcmp(o->name, "%envreg1") || !strcmp(o->name, "%envreg2")))
		pass_object(
			l->m, l->facts, PASS_HELD, l->s, "waits for its whole grid (%s)", o->name);
	if (o->value == PTX_SR_OTHER && strstr(o->name, "cluster"))
		pass_object(l->m, l->facts, PASS_HELD, l->s, "reads %s", o->name);
}

static bool is_plain_cp_async(enum ptx_op op)
{
	return op == PTX_OP_cp_async || op == PTX_OP_cp_async_commit_group ||
	       op == PTX_OP_cp_async_wait_group || op == PTX_OP_cp_async_wait_all;
}

static void check_insn(
	struct ptx_module *m, struct pass_facts *facts, const struct ptx_stmt *s, bool in_callee)
{
	uint32_t flags = s->mn->flags;

	if (flags & PTX_F_UNKNOWN)
		pass_object(m, facts, PASS_HELD, s, "%s is not known", s->mn->text);
	/* Of a launch that is managed nobody is told to start early, and it follows nobody early
	 * itself: launches with that attribute are made as they are, and virtualize.c leaves this
	 * out. */
	if (flags & PTX_F_GRID && (in_callee || s->mn->op != PTX_OP_griddepcontrol))
		pass_object(m, facts, PASS_HELD, s, "%s concerns the whole grid or cluster",
			s->mn->text);
	if (s->mn->space == PTX_SHARED)
		facts->uses_shared = true;
	if (flags & PTX_F_BARRIER)
		facts->has_barriers = true;
	if (is_plain_cp_async(s->mn->op))
		facts->cp_async = true;
	else if (flags & PTX_F_ASYNC)
		pass_object(m, facts, PASS_GUARD, s,
			"%s: what it leaves behind in shared memory ends with the block",
			s->mn->text);
	if (s->mn->op == PTX_OP_setmaxnreg || s->mn->op == PTX_OP_alloca)
		pass_object(m, facts, PASS_GUARD, s, "%s lasts until the thread ends", s->mn->text);
	if (in_callee && s->mn->op == PTX_OP_exit)
		pass_object(m, facts, PASS_GUARD, s, "exit within a function");
}

static void check_funcs(struct ptx_module *m, struct pass_facts *facts)
{
	for (size_t i = 0; i < facts->callees.len; i++) {
		const struct ptx_func *f = facts->callees.at[i].f;

		for (size_t k = 0; k < f->body.len; k++) {
			struct ptx_stmt s = f->body.at[k];
			struct looking l = {m, facts, &s};

			if (s.kind == PTX_DECL && s.sym->space == PTX_SHARED)
				facts->uses_shared = true;
			if (s.kind != PTX_INSN)
				continue;
			check_insn(m, facts, &s, i > 0);
			ptx_visit_opds(&s, look_at_operand, &l);
		}
	}
}

static const char *launches_from_device(const char *name)
{
	static const char *const starts[] = {
		"cudaLaunchDevice", "cudaGetParameterBuffer", "cudaDeviceSynchronize"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return name;
	return NULL;
}

static void check_launches(struct ptx_module *m, struct pass_facts *facts)
{
	for (size_t i = 0; i < facts->callees.len; i++) {
		const struct ptx_func *f = facts->callees.at[i].f;

		for (size_t k = 0; k < f->body.len; k++) {
			const struct ptx_stmt *s = &f->body.at[k];
			const struct ptx_func *to;

			if (s->kind != PTX_INSN || s->mn->op != PTX_OP_call)
				continue;
			to = pass_call_target(s);
			if (to && launches_from_device(to->sym->name))
				pass_object(m, facts, PASS_HELD, s, "launches kernels itself");
		}
	}
}

int pass_facts_find(struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts)
{
	int r;

	*facts = (struct pass_facts){.verdict = {.tier = PASS_MANAGED}};
	arena_init(&facts->arena, 0);
	check_module(m, facts, f);
	check_params(m, facts, f);
	r = pass_callees_find(m, f, facts);
	if (r < 0)
		return r;
	check_launches(m, facts);
	check_funcs(m, facts);
	cfg_demand(m, f, &facts->demand);
	facts->uses_shared |= facts->demand.static_shared_bytes || facts->demand.dynamic_shared;
	r = cfg_build(&facts->arena, f, &facts->g);
	if (r == 0)
		r = pass_check_sync(m, facts);
	if (r == 0)
		r = pass_find_tails(m, facts);
	if (facts->demand.static_shared_bytes + PASS_SLOT_BYTES > PASS_SHARED_LIMIT)
		pass_object(m, facts, PASS_GUARD, NULL,
			"%llu bytes of static shared memory leave no room",
			(unsigned long long)facts->demand.static_shared_bytes);
	if (r == 0)
		r = pass_find_rising(facts);
	pass_check_spins(m, facts);
	facts->parting = r == 0 ? pass_find_parting(facts) : PASS_NO_PARTING;
	return r;
}

void pass_facts_finish(struct pass_facts *facts)
{
	VEC_FREE(&facts->callees);
	VEC_FREE(&facts->tails);
	VEC_FREE(&facts->leaves);
	arena_finish(&facts->arena);
}

void pass_classify(struct ptx_module *m, const struct ptx_func *f, struct pass_verdict *ret)
{
	struct pass_facts facts;

	if (pass_facts_find(m, f, &facts) < 0)
		pass_object(m, &facts, PASS_HELD, NULL, "out of memory");
	*ret = facts.verdict;
	pass_facts_finish(&facts);
}
