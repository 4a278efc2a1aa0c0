/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The table of passes, and the checks before and after each pass (registry.h). */
#include "pass/registry.h"
#include "pass/fuse/kernels.h"
#include "pass/fuse/predicate.h"
#include "pass/verify/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define PASS(id, name, min, max, wants, summary, done, details) \
	{name, min, max, wants, summary, done, details, pass_run_##id},
static const struct pass_row rows[] = {
#include "pass/passes.def"
};

const struct pass_row *pass_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

/* ---- pass_run ---- */
static int refuse(struct pass_form *ret, unsigned which, struct diag_list *diags, const char *fmt,
	...) HD_PRINTF(4, 5);
static int refuse(
	struct pass_form *ret, unsigned which, struct diag_list *diags, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = pass_refuse(diags->arena, &ret->verdict, fmt, ap);
	va_end(ap);
	ret->which = which;
	return r;
}

/* Checks only the kernels of the request. A module may have thousands of other kernels, and the
 * pass does not change those. */
static int look_at_input(const struct pass_row *row, const struct pass_request *rq,
	struct diag_list *diags, struct pass_form *ret)
{
	if (rq->n < row->min_kernels)
		return refuse(ret, 0, diags, "%s needs at least %u kernel%s, not %u", row->name,
			row->min_kernels, PLURAL(row->min_kernels, "s"), rq->n);
	if (rq->n > row->max_kernels)
		return refuse(ret, 0, diags, "%s takes at most %u kernel%s, not %u", row->name,
			row->max_kernels, PLURAL(row->max_kernels, "s"), rq->n);
	for (unsigned k = 0; k < rq->n; k++) {
		const uint32_t *b = rq->kernels[k].block;
		uint64_t threads = (uint64_t)b[0] * b[1] * b[2];

		if (row->wants & PASS_WANTS_BLOCK && threads > PASS_MAX_THREADS)
			return refuse(ret, k, diags,
				"a block of %" PRIu64 " threads: at most %u are allowed", threads,
				PASS_MAX_THREADS);
	}
	for (unsigned k = 0; k < rq->n; k++) {
		const struct pass_kernel *g = &rq->kernels[k];
		const char *large;
		const struct ptx_func *f = ptx_find_func(g->m, g->name);

		if (!f || !f->is_entry || !f->has_body)
			return -ENOENT;
		large = pass_too_large(diags->arena, g->m, f);
		if (large)
			return refuse(ret, k, diags, "%s", large);
		if (ptx_validate_func(g->m, f, diags))
			return -EINVAL;
		if (rq->dump)
			rq->dump(rq->user, row->name, g->name, "in", g->m);
	}
	return 0;
}

/* Verifies the rewritten kernel against the original kernels. Returns -EAGAIN for a woven form in
 * which lanes do not reconverge.
 *
 * For passes without PASS_IS_VERIFIED checks only that no code reads the hardware's ids, because the verifier does not support
 * parameters in memory, or blocks that are only part of a launch. Tests check what these passes
 * write instead: verify_tool checks preemptible forms, and other tests check what the form that
 * `virtual` makes computes (this form is for tests only). */
static int verify(const struct pass_row *row, const struct pass_request *rq,
	const struct pass_form *form, const struct ptx_func *f, const struct pass_record *record,
	struct diag_list *diags)
{
	bool diverged = false;
	struct pass_result result = {
		.m = form->m,
		.f = f,
		.n = rq->n,
		.kernels = rq->kernels,
		.record = record,
		.form = &form->merged,
		.diverged = &diverged,
	};

	if (!(row->wants & PASS_IS_VERIFIED)) {
		static const struct pass_left left = PASS_LEFT_BLOCK;

		return row->wants & PASS_WANTS_BLOCK ||
				       pass_verify_left(form->m, f, &left, 1, diags)
			       ? 0
			       : -EINVAL;
	}
	if (!pass_verify(&result, diags))
		return -EINVAL;
	return diverged ? -EAGAIN : 0;
}

static int look_at_form(const struct pass_row *row, const struct pass_request *rq,
	const struct pass_form *form, const struct pass_record *record, struct diag_list *diags)
{
	const struct ptx_func *f = ptx_find_func(form->m, form->entry);
	unsigned errors;

	if (rq->dump)
		rq->dump(rq->user, row->name, rq->kernels[0].name, "out", form->m);
	if (!f)
		return -EINVAL;
	/* A pass that rewrites in place has already validated the functions that it wrote
	 * (preempt.c), so only new modules are validated here. */
	errors = form->m == rq->in ? 0 : ptx_validate(form->m, diags);
	return errors ? -EINVAL : verify(row, rq, form, f, record, diags);
}

/* Gives the kernel's symbols names that passes do not use. Passes that make a new module do this
 * after the import. */
static int free_names(const struct pass_request *rq, struct diag_list *diags)
{
	const struct ptx_func *f = rq->in ? ptx_find_func(rq->in, rq->kernels[0].name) : NULL;

	return f ? pass_free_names(rq->in, f, diags) : 0;
}

/* Refuses a form whose module has more constants than a driver accepts: the kernels' modules may
 * have as many each. */
static int check_constants(
	const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret)
{
	uint64_t bytes = ret->m == rq->in ? 0 : cfg_const_bytes(ret->m);

	return bytes <= CFG_CONST_LIMIT
		       ? 0
		       : refuse(ret, rq->n - 1, diags,
				 "with it the kernels use modules with %" PRIu64
				 " bytes of constants: one module may have at most %d",
				 bytes, CFG_CONST_LIMIT);
}

static int run_once(const struct pass_row *row, const struct pass_request *rq,
	struct diag_list *diags, struct pass_form *ret)
{
	struct pass_record record = {0};
	int r;

	*ret = (struct pass_form){0};
	r = free_names(rq, diags);
	if (r == 0)
		r = row->run(rq, diags, ret, &record);
	/* If two modules are incompatible, only diags has the reason. */
	if (r == -ENOTSUP && !ret->verdict.reason && diags->len)
		r = refuse(ret, ret->which, diags, "%s", diags->at[diags->len - 1].message);
	if (r == 0)
		r = check_constants(rq, diags, ret);
	if (r == 0)
		r = look_at_form(row, rq, ret, &record, diags);
	pass_record_finish(&record);
	if (r < 0 && ret->m != rq->in) {
		ptx_module_free(ret->m);
		ret->m = NULL;
	}
	return r;
}

/* Fuses the kernels vertically instead of weaving them, because ptxas would compile the woven form
 * wrongly. */
static int run_vertical(
	const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret)
{
	int r = run_once(pass_find("fuse-vertical"), rq, diags, ret);

	if (r == 0)
		ret->merged.woven.why = (struct pass_verdict){.tier = PASS_HELD,
			.reason = "the lanes of a warp would stay diverged where both kernels "
				  "continue"};
	return r;
}

/* Runs the pass on predicated copies of the kernels (predicate.h). predicate_check has compared the
 * copies with the originals, so the rewritten kernel is verified against the copies. */
static int run_predicated(const struct pass_row *row, const struct pass_request *rq,
	struct diag_list *diags, struct pass_form *ret, bool *ret_any)
{
	struct ptx_module *made[CTL_MAX_MERGED] = {0};
	struct pass_kernel kernels[CTL_MAX_MERGED];
	struct pass_request with = *rq;
	int r = 0;

	*ret_any = false;
	with.kernels = kernels;
	for (unsigned k = 0; k < rq->n && r == 0; k++) {
		kernels[k] = rq->kernels[k];
		r = pass_predicate(&rq->kernels[k], rq->weave.branches, diags, &made[k]);
		if (r == 0 && made[k]) {
			kernels[k].m = made[k];
			*ret_any = true;
		}
	}
	if (r == 0)
		r = run_once(row, &with, diags, ret);
	for (unsigned k = 0; k < rq->n; k++)
		ptx_module_free(made[k]);
	return r;
}

int pass_run(const struct pass_row *row, const struct pass_request *rq, struct diag_list *diags,
	struct pass_form *ret)
{
	bool any;
	int r;

	*ret = (struct pass_form){0};
	r = look_at_input(row, rq, diags, ret);
	if (r < 0)
		return r;
	if (!(row->wants & PASS_TAKES_PREDICATED))
		return run_once(row, rq, diags, ret);
	r = run_predicated(row, rq, diags, ret, &any);
	if (r == -EAGAIN)
		return run_vertical(rq, diags, ret);
	/* If nothing was woven, run again on the original kernels. */
	if (r < 0 || !any || !ret->merged.woven.why.reason)
		return r;
	ptx_module_free(ret->m);
	return run_once(row, rq, diags, ret);
}
