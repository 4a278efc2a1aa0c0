/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The preemptible form of a kernel: virtualize, and around that the worker or the guard
 * (FLEP, section 4.1, figure 4 (c); the protocol is control.h's).
 * Requires: an entry with a body. Afterwards: the same name, one parameter more. */
#include "pass/worker.h"

#include <errno.h>
#include <stdio.h>

static void fill_info(struct ptx_module *m, const struct ptx_func *f,
	const struct pass_facts *facts, struct pass_kernel_info *ret)
{
	uint32_t bytes = 0;

	pass_param_layout(f, &bytes, NULL, NULL, 0);
	*ret = (struct pass_kernel_info){
		.tier = facts->verdict.tier,
		.arg_offset = (uint32_t)round_up(bytes, 8),
		.n_params = (uint32_t)f->params.len,
		.rising_order = facts->rising_order,
		.one_dimensional = facts->verdict.tier == PASS_MANAGED && facts->one_dimensional,
		.keeps_masks = facts->verdict.tier == PASS_MANAGED && facts->leaves.len,
		.block_local = !facts->uses_shared && !facts->has_barriers,
		.added_static_shared_bytes = PASS_SLOT_BYTES,
	};
	ret->param_bytes = ret->arg_offset + (uint32_t)sizeof(struct ctl_args);
}

/* Shared memory of the kernel's own that may hold the slot before the body runs. */
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

static void write_managed(struct pass_writer *w, struct pass_facts *facts)
{
	struct pass_virtual v = {
		.id = PASS_CLAIMED_IDS,
		.end_label = ptx_new_label(w->m, w->f, "end"),
	};

	if (!v.end_label) {
		w->error = -ENOMEM;
		return;
	}
	pass_emit_worker_head(w, facts);
	pass_virtual_body(w, w->f, facts, &v);
	pass_emit(w, "%s:", v.end_label->name);
	pass_emit_worker_tail(w, facts);
}

static void write_guard(struct pass_writer *w, struct pass_facts *facts, struct ptx_sym *overlay)
{
	struct pass_virtual v = {
		.id = PASS_CLAIMED_IDS,
	};

	if (overlay) {
		struct ptx_stmt decl = {.kind = PTX_DECL, .guard = PTX_NO_REG, .sym = overlay};

		/* The slot is stored 16 bytes at a time. */
		w->error = w->error ? w->error : ptx_raise_align(w->m, overlay, 16);
		pass_copy(w, &decl);
		facts->moved = overlay;
	}
	pass_emit_guard_head(w, facts, overlay);
	pass_virtual_body(w, w->f, facts, &v);
	pass_emit_guard_tail(w);
}

static int rewrite(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags,
	struct pass_facts *facts, struct ptx_sym *overlay, struct pass_record *record)
{
	struct pass_writer w = {.m = m, .f = f, .diags = diags, .record = record};
	char decl[64];

	snprintf(decl, sizeof(decl), ".param .align 8 .b8 %s[%zu]", CTL_PARAM,
		sizeof(struct ctl_args));
	if (!ptx_add_param(m, f, diags, decl))
		return -EINVAL;
	if (facts->verdict.tier == PASS_MANAGED)
		write_managed(&w, facts);
	else
		write_guard(&w, facts, overlay);
	if (w.error == 0 && record)
		w.error = pass_record_func(record, f, &w.numbers);
	VEC_FREE(&w.numbers);
	if (w.error == 0) {
		VEC_FREE(&f->body);
		f->body = w.out;
	} else {
		VEC_FREE(&w.out);
	}
	return w.error;
}

/* Replaces a bound that is there only by a lower one. */
static int bound_registers(struct ptx_module *m, struct ptx_func *f, uint32_t max)
{
	char text[32];

	for (size_t i = 0; i < f->directives.len; i++) {
		unsigned old;

		if (sscanf(f->directives.at[i], ".maxnreg %u", &old) != 1)
			continue;
		if (old <= max)
			return 0;
		snprintf(text, sizeof(text), ".maxnreg %u", max);
		f->directives.at[i] = ptx_intern(m, text);
		return f->directives.at[i] ? 0 : -ENOMEM;
	}
	snprintf(text, sizeof(text), ".maxnreg %u", max);
	return VEC_PUSH(&f->directives, ptx_intern(m, text)) ? 0 : -ENOMEM;
}

/* What was written: the rest of a module of thousands of kernels is as it was. */
static int validate(const struct ptx_module *m, const struct ptx_func *f,
	const struct pass_facts *facts, struct diag_list *diags)
{
	unsigned errors = ptx_validate_func(m, f, diags);

	for (size_t i = 0; i < facts->callees.len; i++)
		if (facts->callees.at[i].clone)
			errors += ptx_validate_func(m, facts->callees.at[i].clone, diags);
	return errors ? -EINVAL : 0;
}

int pass_preempt(struct ptx_module *m, const char *name, struct diag_list *diags,
	struct pass_verdict *ret_verdict, struct pass_kernel_info *ret_info)
{
	static const struct pass_options none;

	return pass_preempt_with(m, name, &none, diags, ret_verdict, ret_info);
}

int pass_preempt_with(struct ptx_module *m, const char *name, const struct pass_options *options,
	struct diag_list *diags, struct pass_verdict *ret_verdict,
	struct pass_kernel_info *ret_info)
{
	struct ptx_func *f = ptx_find_func(m, name);
	struct pass_kernel_info info;
	struct ptx_sym *overlay = NULL;
	struct pass_facts facts;
	int r;

	if (!f || !f->is_entry || !f->has_body)
		return -ENOENT;
	r = pass_facts_find(m, f, &facts);
	if (r < 0)
		goto out;
	fill_info(m, f, &facts, &info);
	if (facts.demand.static_shared_bytes + info.added_static_shared_bytes > PASS_SHARED_LIMIT) {
		overlay = find_overlay(&facts);
		info.added_static_shared_bytes = 0;
		if (!overlay)
			pass_object(m, &facts, PASS_HELD, NULL,
				"no static shared memory of its own to lend");
	}
	*ret_verdict = facts.verdict;
	if (facts.verdict.tier == PASS_HELD) {
		r = -ENOTSUP;
		goto out;
	}
	facts.pull_ahead = !options->no_pull_ahead && !facts.rising_order;
	r = rewrite(m, f, diags, &facts, overlay, options->record);
	if (r == 0 && options->max_registers)
		r = bound_registers(m, f, options->max_registers);
	if (r == 0)
		r = validate(m, f, &facts, diags);
	if (r == 0 && ret_info)
		*ret_info = info;
out:
	pass_facts_finish(&facts);
	return r;
}
