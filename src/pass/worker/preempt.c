/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes the preemptible form of a kernel: virtualizes the body and puts it into a worker or a guard
 * (FLEP, section 4.1, figure 4 (c); control.h has the protocol). Requires an entry with a body. The
 * rewritten kernel has the kernel's name and one more parameter. */
#include "pass/passes.h"
#include "pass/worker/worker.h"
#include "ptx/graft.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PASS_SHARED_LIMIT 49152 /* limit of an entry's static shared memory, in bytes */

const char *pass_tier_name(enum pass_tier tier)
{
	static const char *const names[] = {
		[PASS_MANAGED] = "managed",
		[PASS_GUARD] = "guard",
		[PASS_HELD] = "held",
	};

	return names[tier];
}

static const char *const order_names[PASS_ORDERS] = {
	[PASS_ORDER_ROW] = "row",
	[PASS_ORDER_COLUMN] = "column",
	[PASS_ORDER_HILBERT] = "hilbert",
};

const char *pass_order_name(enum pass_order order)
{
	return order_names[order];
}

bool pass_order_find(const char *name, enum pass_order *ret)
{
	for (unsigned i = 0; i < PASS_ORDERS; i++) {
		if (strcmp(order_names[i], name) != 0)
			continue;
		*ret = (enum pass_order)i;
		return true;
	}
	return false;
}

/* ---- classification ---- */

/* The tier that each trait of a kernel leads to. Traits that are not listed do not affect
 * preemption. */
static const enum pass_tier tiers[PASS_TRAITS] = {
	[PASS_IS_FORM] = PASS_HELD,
	[PASS_USES_NAME] = PASS_HELD,
	[PASS_IS_OTHER_MODULE] = PASS_HELD,
	[PASS_IS_CLUSTER] = PASS_HELD,
	[PASS_IS_GRID] = PASS_HELD,
	[PASS_IS_UNKNOWN] = PASS_HELD,
	[PASS_CALLS_ELSEWHERE] = PASS_HELD,
	[PASS_CALLS_POINTER] = PASS_HELD,
	[PASS_LAUNCHES] = PASS_HELD,
	[PASS_SHARES_CODE] = PASS_HELD,
	[PASS_LEAVES_ASYNC] = PASS_GUARD,
	[PASS_LASTS] = PASS_GUARD,
	[PASS_EXITS_DEEP] = PASS_GUARD,
	[PASS_BARRIER_REGISTER] = PASS_GUARD,
	[PASS_BARRIER_HALF] = PASS_GUARD,
	[PASS_BARRIER_APART] = PASS_GUARD,
	[PASS_NO_TAILS] = PASS_GUARD,
	[PASS_LANES_LEFT] = PASS_GUARD,
	[PASS_SPINS_DEEP] = PASS_GUARD,
	[PASS_READS_TOTAL] = PASS_HELD, /* heddle's form adds a slot to shared memory */
};

/* Lowers the tier to `tier` if the tier was better so far. The reason stays that of the first
 * finding that led to the lowest tier. */
static void lower_tier(struct pass_verdict *v, enum pass_tier tier, const struct pass_finding *f)
{
	if (tier > v->tier)
		*v = (struct pass_verdict){tier, f->reason, f->line, f->col};
}

static void lower_to(struct ptx_module *m, struct pass_verdict *v, enum pass_tier tier,
	const char *fmt, unsigned long long n)
{
	struct pass_finding f = {.reason = arena_printf(&m->arena, fmt, n)};

	lower_tier(v, tier, &f);
}

/* Returns the number of the barrier that code around the body uses for all threads of a worker.
 * This is 0 if the kernel's use of barrier 0 permits it, or if no other number is free
 * (classify_facts then chooses the guard form). */
static unsigned own_barrier(const struct pass_facts *facts)
{
	unsigned left = (uint16_t)~facts->barrier_ids & ~1u;

	if (!facts->keeps_barrier_0 || facts->barriers != PASS_BAR_NONE || !left)
		return 0;
	return 31 - (unsigned)__builtin_clz(left);
}

/* Finds the tier of a kernel from its facts and from what the pass needs: one more parameter, a
 * barrier number, and shared memory for the slot. The reason is in m's arena. */
static void classify_facts(struct ptx_module *m, const struct ptx_func *f,
	const struct pass_facts *facts, struct pass_verdict *ret)
{
	uint32_t bytes = 0, limit = m->version >= 81 ? 32764 : 4096;
	uint64_t shared = facts->demand.static_shared_bytes;

	*ret = (struct pass_verdict){.tier = PASS_MANAGED};
	if (pass_param_layout(f, &bytes, NULL, NULL, 0) < 0 ||
		round_up(bytes, 8) + sizeof(struct ctl_args) > limit)
		lower_to(m, ret, PASS_HELD, "its parameters leave no room for one more", 0);
	for (unsigned i = 0; i < facts->n_found; i++)
		lower_tier(ret, tiers[facts->order[i]], &facts->found[facts->order[i]]);
	if (facts->keeps_barrier_0 && facts->barriers == PASS_BAR_NONE && !own_barrier(facts))
		lower_to(m, ret, PASS_GUARD, "it uses all 16 barriers", 0);
	if (shared + PASS_SLOT_BYTES > PASS_SHARED_LIMIT)
		lower_to(m, ret, PASS_GUARD,
			"its %llu bytes of static shared memory leave no room for heddle's",
			shared);
	if (ret->reason)
		ret->reason = arena_strndup(&m->arena, ret->reason, strlen(ret->reason));
}

void pass_classify(struct ptx_module *m, const struct ptx_func *f, struct pass_verdict *ret,
	struct pass_wait *ret_wait)
{
	const char *large = pass_too_large(&m->arena, m, f);
	const struct ptx_stmt *at;
	struct pass_facts facts;

	if (large) {
		*ret = (struct pass_verdict){PASS_HELD, large, 0, 0};
		if (ret_wait)
			*ret_wait = (struct pass_wait){0};
		return;
	}
	if (pass_facts_find(m, f, &facts) < 0)
		*ret = (struct pass_verdict){PASS_HELD, "out of memory", 0, 0};
	else
		classify_facts(m, f, &facts, ret);
	at = facts.waits_at;
	if (ret_wait)
		*ret_wait =
			(struct pass_wait){facts.rising_order, at ? at->line : 0, at ? at->col : 0};
	pass_facts_finish(&facts);
}

/* Returns the order of blocks. Row order is chosen, whatever is wanted, in two cases:
 * - Blocks may wait for blocks with lower numbers.
 * - The kernel does not read both x and y of its block id, so another order cannot help its
 *   locality. */
static enum pass_order choose_order(const struct pass_facts *facts, enum pass_order wanted)
{
	const bool *reads = facts->callees.at[0].reads + PASS_CTAID;

	return facts->rising_order || !reads[0] || !reads[1] ? PASS_ORDER_ROW : wanted;
}

static void fill_info(struct ptx_module *m, const struct ptx_func *f,
	const struct pass_facts *facts, enum pass_tier tier, struct pass_kernel_info *ret)
{
	uint32_t bytes = 0;

	pass_param_layout(f, &bytes, NULL, NULL, 0);
	*ret = (struct pass_kernel_info){
		.tier = tier,
		.arg_offset = (uint32_t)round_up(bytes, 8),
		.n_params = (uint32_t)f->params.len,
		.rising_order = facts->rising_order,
		.one_dimensional = tier == PASS_MANAGED && facts->one_dimensional,
		.keeps_masks = tier == PASS_MANAGED && facts->leaves.len,
		.reads_shared_size = facts->callees.at[0].sizes,
		.block_local = !facts->uses_shared && !facts->has_barriers,
		.added_static_shared_bytes = PASS_SLOT_BYTES,
	};
	ret->param_bytes = ret->arg_offset + (uint32_t)sizeof(struct ctl_args);
}

/* ---- writing the managed and guard forms ---- */

/* Returns a shared variable of the kernel that can hold the slot before the body runs, or NULL. */
static struct ptx_sym *find_overlay(const struct pass_facts *facts)
{
	const struct ptx_func *f = facts->callees.at[0].f;

	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind == PTX_DECL && s->sym->kind == PTX_SYM_VAR &&
			s->sym->space == PTX_SHARED && s->sym->bytes >= 16)
			return s->sym;
	}
	return NULL;
}

static void write_managed(struct pass_writer *w, struct pass_place *at)
{
	at->end = ptx_new_label(w->m, w->f, "end");
	if (!at->end) {
		w->error = -ENOMEM;
		return;
	}
	pass_emit_worker_head(w, at);
	pass_put_body(w, w->f, at);
	pass_emit(w, "%s:", at->end->name);
	pass_emit_worker_tail(w, at);
}

static void write_guard(struct pass_writer *w, struct pass_place *at, struct ptx_sym *overlay)
{
	if (overlay) {
		struct ptx_stmt decl = {.kind = PTX_DECL, .guard = PTX_NO_REG, .sym = overlay};

		/* the slot is written with 16-byte stores */
		w->error = w->error ? w->error : ptx_raise_align(w->m, overlay, 16);
		pass_copy(w, &decl);
		at->declared = overlay;
	}
	at->real_exits = true;
	pass_emit_guard_head(w, at, overlay);
	pass_put_body(w, w->f, at);
	pass_emit_guard_tail(w);
}

static int rewrite_entry(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags,
	struct pass_place *at, enum pass_tier tier, struct ptx_sym *overlay,
	struct pass_record *record)
{
	struct pass_writer w = {.m = m, .f = f, .diags = diags, .record = record};
	char decl[64];

	snprintf(decl, sizeof(decl), ".param .align 8 .b8 %s[%zu]", CTL_PARAM,
		sizeof(struct ctl_args));
	if (!ptx_add_param(m, f, diags, decl))
		return -EINVAL;
	if (tier == PASS_MANAGED)
		write_managed(&w, at);
	else
		write_guard(&w, at, overlay);
	if (w.error == 0 && record)
		w.error = pass_record_func(record, f, &w.numbers);
	return pass_writer_into(&w);
}

int pass_preempt(struct ptx_module *m, const char *name, const struct pass_options *options,
	struct diag_list *diags, struct pass_verdict *ret_verdict,
	struct pass_kernel_info *ret_info)
{
	struct ptx_func *f = ptx_find_func(m, name);
	struct pass_kernel_info info;
	struct ptx_sym *overlay = NULL;
	struct pass_facts facts;
	struct pass_place at = {.facts = &facts, .id = PASS_CLAIMED_IDS};
	int r;

	if (!f || !f->is_entry || !f->has_body)
		return -ENOENT;
	r = pass_facts_find(m, f, &facts);
	if (r < 0)
		goto out;
	classify_facts(m, f, &facts, ret_verdict);
	fill_info(m, f, &facts, ret_verdict->tier, &info);
	if (facts.demand.static_shared_bytes + info.added_static_shared_bytes > PASS_SHARED_LIMIT) {
		overlay = find_overlay(&facts);
		info.added_static_shared_bytes = 0;
		if (!overlay)
			lower_to(m, ret_verdict, PASS_HELD,
				"it has no static shared memory that heddle could use before the "
				"kernel starts",
				0);
	}
	if (ret_verdict->tier == PASS_HELD) {
		r = -ENOTSUP;
		goto out;
	}
	at.pull_ahead = !options->no_pull_ahead && !facts.rising_order;
	at.own_barrier = (uint8_t)own_barrier(&facts);
	at.order = choose_order(&facts, options->order);
	info.order = (uint8_t)at.order;
	r = rewrite_entry(m, f, diags, &at, ret_verdict->tier, overlay, options->record);
	if (r == 0 && options->max_registers)
		r = ptx_bounds_lower_maxnreg(m, f, options->max_registers);
	if (r == 0)
		r = ptx_bounds_state_registers(m, f);
	if (r == 0 && ret_info)
		*ret_info = info;
out:
	pass_facts_finish(&facts);
	return r;
}

int pass_run_preempt(const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret,
	struct pass_record *record)
{
	(void)record; /* unused: callers that want a record set it in the options */
	ret->m = rq->in;
	ret->entry = rq->kernels[0].name;
	return pass_preempt(rq->in, ret->entry, &rq->options, diags, &ret->verdict, &ret->info);
}
