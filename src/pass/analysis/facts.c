/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Collects the facts of a kernel and its callees (body.h). The order of the checks matters, because
 * a verdict names the first trait that was found. */
#include "pass/analysis/callees.h"
#include "pass/analysis/find.h"
#include "pass/analysis/params.h"
#include "ptx/graft.h"

#include <errno.h>
#include <string.h>

static void check_module(
	const struct ptx_module *m, struct pass_facts *facts, const struct ptx_func *f)
{
	const char *cluster = ptx_bounds_cluster(f);

	if (m->address_bits != 64)
		pass_note(facts, PASS_IS_OTHER_MODULE, NULL, "32-bit addresses");
	if (m->sm < 70 || m->version < 60)
		pass_note(facts, PASS_IS_OTHER_MODULE, NULL,
			"written for sm_%u in PTX %u.%u: at least sm_70 and PTX 6.0 are needed",
			m->sm, m->version / 10, m->version % 10);
	if (cluster)
		pass_note(facts, PASS_IS_CLUSTER, NULL, "is launched in clusters (%s)", cluster);
}

/* ---- forms made by heddle, and names reserved for it ---- */
static const struct {
	const char *name;
	uint32_t bytes;
} form_params[] = {
	{CTL_PARAM, sizeof(struct ctl_args)},
	{CTL_PARAM "0", sizeof(struct ctl_args)},
	{PASS_SLICE_PARAM, PASS_SLICE_BYTES},
};

const struct ptx_sym *pass_form_param(const struct ptx_func *f)
{
	for (size_t i = 0; f->is_entry && i < f->params.len; i++)
		for (size_t k = 0; k < ARRAY_LEN(form_params); k++)
			if (!strcmp(f->params.at[i]->name, form_params[k].name) &&
				f->params.at[i]->bytes >= form_params[k].bytes)
				return f->params.at[i];
	return NULL;
}

static void check_form(struct pass_facts *facts, const struct ptx_func *f)
{
	if (pass_form_param(f))
		pass_note(facts, PASS_IS_FORM, NULL, PASS_FORM_REASON, pass_form_param(f)->name);
}

struct operand_check {
	const struct ptx_module *m;
	struct pass_facts *facts;
	const struct ptx_stmt *s;
};

static void check_operand(void *user, struct ptx_opd *o)
{
	struct operand_check *l = user;

	if (o->kind == PTX_OPD_SYM && o->sym && o->sym->kind == PTX_SYM_VAR &&
		o->sym->space == PTX_SHARED)
		l->facts->uses_shared = true;
	/* All dynamic shared memory of an imported kernel is called hd_pool (kernels.c). */
	if (o->kind == PTX_OPD_SYM && o->sym && o->sym->line && ptx_is_own_name(o->sym->name) &&
		strcmp(o->sym->name, "hd_pool") != 0 &&
		ptx_find_global(l->m, o->sym->name) == o->sym)
		pass_note(l->facts, PASS_USES_NAME, l->s,
			"uses '%.200s', a name that begins as those of heddle's own code: rename "
			"it",
			o->sym->name);
	if (o->kind != PTX_OPD_SPECIAL)
		return;
	if (o->value == PTX_SR_ENVREG &&
		(!strcmp(o->name, "%envreg1") || !strcmp(o->name, "%envreg2")))
		pass_note(l->facts, PASS_IS_GRID, l->s, "waits for its whole grid (%s)", o->name);
	if (o->value == PTX_SR_TOTAL_SMEM || o->value == PTX_SR_AGGR_SMEM)
		pass_note(l->facts, PASS_READS_TOTAL, l->s,
			"reads %s, whose value changes when the kernel shares a block", o->name);
	if (o->value == PTX_SR_RESERVED_SMEM) {
		l->facts->uses_shared = true;
		pass_note(l->facts, PASS_USES_RESERVED, l->s,
			"uses reserved shared memory (%s), which exists once for each block",
			o->name);
	}
	if (o->value == PTX_SR_GRIDID)
		pass_note(l->facts, PASS_READS_GRID, l->s,
			"reads %s, which differs between the launches that heddle makes of one",
			o->name);
	if (o->value == PTX_SR_WARPID || o->value == PTX_SR_NWARPID)
		pass_note(l->facts, PASS_READS_WARP, l->s,
			"reads %s, whose value changes when the kernel shares a block", o->name);
	if (o->value == PTX_SR_OTHER && strstr(o->name, "cluster"))
		pass_note(l->facts, PASS_IS_CLUSTER, l->s, "reads %s", o->name);
}

static bool is_plain_cp_async(enum ptx_op op)
{
	return op == PTX_OP_cp_async || op == PTX_OP_cp_async_commit_group ||
	       op == PTX_OP_cp_async_wait_group || op == PTX_OP_cp_async_wait_all;
}

static bool is_of_warpgroup(const struct ptx_mnem *mn)
{
	return !strncmp(mn->text, "wgmma.", 6) || !strncmp(mn->text, "tcgen05.ld", 10) ||
	       !strncmp(mn->text, "tcgen05.st", 10);
}

static void check_insn(struct pass_facts *facts, const struct ptx_stmt *s, bool in_callee)
{
	uint32_t flags = s->mn->flags;

	if (flags & PTX_F_UNKNOWN)
		pass_note(facts, PASS_IS_UNKNOWN, s, "unknown instruction %s", s->mn->text);
	/* griddepcontrol is allowed in the kernel itself, and virtualize.c drops it. It only has an
	 * effect together with programmatic stream serialization, a launch attribute that lets a
	 * launch start before the previous one has ended. The shim runs launches with this
	 * attribute unchanged (shim/launch/admit.c), so rewritten kernels never have it. */
	if (flags & PTX_F_GRID && (in_callee || s->mn->op != PTX_OP_griddepcontrol))
		pass_note(facts, PASS_IS_GRID, s, "%s acts on the whole grid or cluster",
			s->mn->text);
	if (s->mn->space == PTX_SHARED)
		facts->uses_shared = true;
	if (flags & PTX_F_BARRIER)
		facts->has_barriers = true;
	if (is_plain_cp_async(s->mn->op))
		facts->cp_async = true;
	else if (flags & PTX_F_ASYNC)
		pass_note(facts, PASS_LEAVES_ASYNC, s,
			"%s changes shared memory asynchronously, perhaps after the block's end",
			s->mn->text);
	if (is_of_warpgroup(s->mn))
		pass_note(facts, PASS_USES_WARPGROUP, s,
			"%s needs four successive warps that begin at a multiple of four: name "
			"this kernel first",
			s->mn->text);
	if (s->mn->op == PTX_OP_setmaxnreg || s->mn->op == PTX_OP_alloca)
		pass_note(facts, PASS_LASTS, s, "the effect of %s lasts until the thread ends",
			s->mn->text);
	if (in_callee && s->mn->op == PTX_OP_exit)
		pass_note(facts, PASS_EXITS_DEEP, s, "a called function contains an exit");
}

static void check_params(
	struct pass_facts *facts, const struct ptx_func *f, const struct ptx_stmt *s)
{
	const struct ptx_sym *odd = f->is_entry ? pass_odd_param(f, s) : NULL;

	if (odd)
		pass_note(facts, PASS_ODD_PARAM, s, "%s of parameter %s", s->mn->text, odd->name);
	else if (pass_knows_param_space(f, s))
		pass_note(facts, PASS_ODD_PARAM, s, "%s, of parameters", s->mn->text);
}

static void check_funcs(const struct ptx_module *m, struct pass_facts *facts)
{
	for (size_t i = 0; i < facts->callees.len; i++) {
		const struct ptx_func *f = facts->callees.at[i].f;

		for (size_t k = 0; k < f->body.len; k++) {
			struct ptx_stmt s = f->body.at[k];
			struct operand_check l = {m, facts, &f->body.at[k]};

			if (s.kind == PTX_DECL && s.sym->space == PTX_SHARED)
				facts->uses_shared = true;
			if (s.kind != PTX_INSN)
				continue;
			check_insn(facts, &f->body.at[k], i > 0);
			check_params(facts, f, &f->body.at[k]);
			ptx_visit_opds(&s, check_operand, &l);
		}
	}
}

static const char *launches_kernels(const char *name)
{
	static const char *const starts[] = {
		"cudaLaunchDevice", "cudaGetParameterBuffer", "cudaDeviceSynchronize"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return name;
	return NULL;
}

static void check_launches(struct pass_facts *facts)
{
	for (size_t i = 0; i < facts->callees.len; i++) {
		const struct ptx_func *f = facts->callees.at[i].f;

		for (size_t k = 0; k < f->body.len; k++) {
			const struct ptx_stmt *s = &f->body.at[k];
			const struct ptx_func *to;

			if (s->kind != PTX_INSN || s->mn->op != PTX_OP_call)
				continue;
			to = pass_call_target(s);
			if (to && launches_kernels(to->sym->name))
				pass_note(facts, PASS_LAUNCHES, s, "launches kernels itself");
		}
	}
}

int pass_facts_find(const struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts)
{
	int r;

	*facts = (struct pass_facts){.parting = PASS_NO_PARTING};
	arena_init(&facts->arena, 0);
	check_form(facts, f);
	check_module(m, facts, f);
	r = pass_callees_find(m, f, facts);
	if (r < 0)
		return r;
	check_launches(facts);
	check_funcs(m, facts);
	cfg_demand(m, f, &facts->demand);
	facts->uses_shared |= facts->demand.static_shared_bytes || facts->demand.dynamic_shared;
	r = cfg_build(&facts->arena, f, &facts->g);
	if (r == 0)
		r = pass_check_sync(facts);
	if (r == 0)
		r = pass_find_tails(facts);
	if (r == 0)
		r = pass_find_rising(facts);
	pass_check_spins(facts);
	if (r == 0)
		facts->parting = pass_find_parting(facts);
	return r;
}

void pass_facts_finish(struct pass_facts *facts)
{
	VEC_FREE(&facts->callees);
	VEC_FREE(&facts->tails);
	VEC_FREE(&facts->leaves);
	arena_finish(&facts->arena);
}
