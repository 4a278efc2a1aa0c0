/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Several kernels as one launch: made once for the kernels and the shapes of their blocks, run with
 * any schedule. */
#include "rt/rt.h"

#include "host/outside.h"
#include "pass/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_WAYS "\"sequential\" and \"streams\" run any kernels"

#define SPILLS 16 /* bytes a thread that are worth more workers */

static bool is_same(const struct rt_form *f, const struct rt_set *s, enum dev_how how,
	const struct dev_merging *m)
{
	if (f->how != how || f->n != s->n)
		return false;
	if (how == DEV_WEAVE && (f->registers != m->registers || f->unsliced != m->unsliced ||
					f->branches != m->branches))
		return false;
	for (unsigned k = 0; k < s->n; k++)
		if (f->of[k] != s->of[k] || f->shared_bytes[k] != s->launch[k].shared_bytes ||
			memcmp(f->block[k], s->launch[k].block, sizeof(f->block[k])) != 0)
			return false;
	return true;
}

static int refused(struct heddle *h, const struct rt_set *s, int err, unsigned which,
	const struct pass_verdict *v)
{
	if (err == -ENOMEM)
		return rt_out_of_memory(h);
	if (err == -ENOTSUP && v->reason)
		return rt_fail(h, -ENOTSUP, PLAIN_WAYS, "kernel '%s' cannot be merged: %s",
			s->of[which]->name, v->reason);
	return rt_fail(h, -EINVAL, "this is a bug in heddle: please report it with the PTX",
		"kernel '%s' could not be merged: %s", s->of[which]->name, strerror(-err));
}

static int compile(
	struct heddle *h, const struct rt_set *s, const struct strbuf *text, struct rt_form *f)
{
	struct strbuf what = {0};
	int r;

	for (unsigned k = 0; k < s->n; k++)
		strbuf_printf(&what, "%s'%s'",
			!k              ? s->n > 1 ? "kernels " : "kernel "
			: k + 1 == s->n ? " and "
					: ", ",
			s->of[k]->name);
	strbuf_printf(&what, " as one launch, \"%s\"", dev_hows[f->how]);
	r = what.failed ? rt_out_of_memory(h)
			: rt_compile_apart(h, text, what.at, "another way: " PLAIN_WAYS);
	strbuf_finish(&what);
	if (r < 0)
		f->never = r;
	return r == 0 ? rt_compile(h, "merged form", text->at, CTL_MERGE_ENTRY,
				f->form.shared_bytes, &f->module, &f->fn)
		      : r;
}

/* Out of the arena that it was made in. */
static int take_reason(const struct rt_set *s, struct pass_woven *w, struct rt_form *f)
{
	struct strbuf text = {0};

	f->form.woven.why.reason = NULL;
	if (!w->why.reason)
		return 0;
	strbuf_printf(&text, "kernel '%s'", s->of[w->which]->name);
	if (w->why.line)
		strbuf_printf(&text, ", line %" PRIu32, w->why.line);
	strbuf_printf(&text, ": %s", w->why.reason);
	f->not_woven = text.failed ? NULL : strdup(text.at);
	strbuf_finish(&text);
	return f->not_woven ? 0 : -ENOMEM;
}

static int make(struct heddle *h, const struct rt_set *s, bool tight, struct rt_form *f)
{
	struct pass_guest guests[RT_MAX] = {0};
	struct pass_request rq = {.kernels = guests, .n = s->n};
	struct pass_form form;
	struct diag_list diags;
	struct strbuf text = {0};
	ptx_lines lines = {0};
	struct arena arena;
	int r;

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "merged form", NULL, 0);
	for (unsigned k = 0; k < s->n; k++) {
		guests[k].m = s->of[k]->alone;
		guests[k].name = s->of[k]->entry;
		memcpy(guests[k].block, s->launch[k].block, sizeof(guests[k].block));
		guests[k].dynamic_bytes = s->launch[k].shared_bytes;
		guests[k].fits = tight ? s->fit[k] : 0;
	}
	rq.weave.max_registers = f->registers;
	rq.weave.unsliced = f->unsliced;
	rq.weave.branches = f->branches;
	r = pass_run(pass_find(dev_how_passes[f->how]), &rq, &diags, &form);
	if (r < 0) {
		r = refused(h, s, r, form.which, &form.verdict);
	} else {
		f->form = form.merged;
		if (take_reason(s, &form.merged.woven, f) < 0)
			text.failed = true;
		if (pass_leave_const(form.m) < 0)
			text.failed = true;
		ptx_print_lines(form.m, &text, &lines);
		ptx_module_free(form.m);
		if (!text.failed)
			dev_tell_lines(&h->cu, text.at, text.len, lines.at, lines.len);
		r = text.failed ? rt_out_of_memory(h) : compile(h, s, &text, f);
	}
	for (unsigned k = 0; r == 0 && k < s->n; k++)
		r = rt_vars_fill(h, s->of[k], k, f->module);
	strbuf_finish(&text);
	VEC_FREE(&lines);
	arena_finish(&arena);
	return r;
}

static int check_vars(struct heddle *h, const struct rt_set *s)
{
	for (unsigned k = 0; k < s->n; k++) {
		const char *name = s->of[k]->no_vars;

		if (name)
			return rt_fail(h, -ENOTSUP, PLAIN_WAYS,
				"kernel '%s' cannot be merged: %s%s", s->of[k]->name,
				*name ? "the driver does not tell where this module variable is: "
				      : "module variables are too many, or oddly used",
				name);
	}
	return 0;
}

static int spills(struct heddle *h, const struct rt_set *s, const struct rt_form *f, bool *ret)
{
	int local = 0, most = 0;

	for (unsigned k = 0; k < s->n; k++)
		most = MAX(most, s->of[k]->local_bytes);
	RT_TRY(h, h->cu.cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f->fn),
		"merged form");
	*ret = local > most + SPILLS;
	return 0;
}

static int prepare(struct heddle *h, const struct rt_set *s, struct rt_form *f)
{
	uint32_t threads;
	bool again = false;
	int per_sm = 0, r = check_vars(h, s);

	if (r == 0)
		r = make(h, s, f->how == DEV_MERGE, f);
	if (r == 0)
		r = spills(h, s, f, &again);
	if (r == 0 && again) {
		RT_TRY(h, h->cu.cuModuleUnload(f->module), "merged form");
		f->module = NULL;
		r = make(h, s, false, f);
	}
	if (r < 0)
		return r;
	threads = f->form.block[0] * f->form.block[1] * f->form.block[2];
	if (threads <= 1024)
		RT_TRY(h,
			h->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
				&per_sm, f->fn, (int)threads, f->form.shared_bytes),
			"merged form");
	if (per_sm < 1)
		return rt_fail(h, -ENOTSUP, "\"streams\"",
			"together no block of them fits an SM: %" PRIu32 " threads, %" PRIu32
			" bytes of shared memory",
			threads, f->form.shared_bytes);
	f->per_sm = (uint32_t)per_sm;
	RT_TRY(h, dev_merged_create(&h->cu, s->n, &f->device), "control blocks");
	return 0;
}

int rt_form_get(struct heddle *h, const struct rt_set *s, enum dev_how how,
	const struct dev_merging *m, struct rt_form **ret)
{
	struct rt_form *f = h->forms;
	int r;

	while (f && !is_same(f, s, how, m))
		f = f->next;
	if (f && f->never)
		return rt_fail(h, f->never, NULL, "%s", f->why);
	*ret = f;
	if (f)
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return rt_out_of_memory(h);
	f->how = how;
	f->registers = how == DEV_WEAVE ? m->registers : 0;
	f->unsliced = how == DEV_WEAVE && m->unsliced;
	f->branches = how == DEV_WEAVE && m->branches;
	f->n = s->n;
	for (unsigned k = 0; k < s->n; k++) {
		f->of[k] = s->of[k];
		f->shared_bytes[k] = s->launch[k].shared_bytes;
		memcpy(f->block[k], s->launch[k].block, sizeof(f->block[k]));
	}
	r = prepare(h, s, f);
	/* What the compiler dies of, or has no end with, it is not given a second time. */
	if (r < 0 && f->never)
		f->why = strdup(h->error);
	if (r < 0 && !f->why) {
		rt_form_free(h, f);
		return r;
	}
	f->next = h->forms;
	h->forms = f;
	if (r == 0)
		*ret = f;
	return r;
}

void rt_form_free(struct heddle *h, struct rt_form *f)
{
	dev_merged_destroy(&h->cu, &f->device);
	if (f->module)
		h->cu.cuModuleUnload(f->module);
	free(f->why);
	free(f->not_woven);
	free(f);
}

/* ---- running ---- */

static int explain(struct heddle *h, const struct rt_set *s, enum dev_merge_status status,
	unsigned which, uint64_t blocks, const struct dev_merge_plan *p)
{
	const char *name = s->of[which]->name;

	switch (status) {
	case DEV_MERGE_OK:
		break;
	case DEV_MERGE_NO_WORKER:
		return rt_fail(h, -EINVAL, "other shares, more workers, or \"help\"",
			"kernel '%s' would have no worker of %" PRIu32, name, p->workers);
	case DEV_MERGE_ORDER:
		return rt_fail(h, -ENOTSUP, "\"merge steal\", and no launch of its own",
			"the blocks of kernel '%s' may wait for each other: with workers of its "
			"own they may never all be there at once",
			name);
	case DEV_MERGE_TOO_FEW:
		return rt_fail(h, -ENOTSUP, "more workers, or fewer blocks",
			"the blocks of kernel '%s' may wait for each other: that takes %" PRIu64
			" workers, and there are %" PRIu32,
			name, blocks, p->workers);
	case DEV_MERGE_NO_HELP:
		return rt_fail(h, -EINVAL, "without \"help\", or \"mixed\"",
			"kernel '%s' has SMs for workers of its own alone, and those cannot help "
			"others",
			name);
	}
	return 0;
}

static int plan(struct heddle *h, const struct rt_set *s, const struct rt_form *f,
	const struct dev_merging *m, const struct dev_merge_shape *shapes,
	const struct dev_merge_part *all, const struct dev_merge_part *own,
	struct dev_merge_plan *ret)
{
	uint64_t blocks = 0, fit = (uint64_t)f->per_sm * h->n_sms;
	enum dev_merge_status status;
	unsigned which = 0;

	*ret = (struct dev_merge_plan){0};
	if (f->how == DEV_MERGE) {
		status = dev_merge_plan(m, all, own, s->n, shapes, h->n_sms, ret, &which, &blocks);
		return explain(h, s, status, which, blocks, ret);
	}
	blocks = dev_fused_blocks(s->n, shapes);
	if (blocks > INT32_MAX)
		return rt_fail(h, -ENOTSUP, "\"merge steal\"",
			"a grid of %" PRIu64 " blocks is not fused", blocks);
	for (unsigned k = 0; k < s->n; k++)
		if (f->form.of[k].rising_order && shapes[k].fits && blocks > fit)
			return rt_fail(h, -ENOTSUP, "\"merge steal\", or fewer blocks",
				"the blocks of kernel '%s' may wait for each other, and fused they "
				"would not all be there at once",
				s->of[k]->name);
	return 0;
}

static void see_shapes(const struct heddle *h, const struct rt_set *s, struct dev_merge_shape *ret)
{
	for (unsigned k = 0; k < s->n; k++) {
		const struct heddle_launch *l = &s->launch[k];

		memcpy(ret[k].shape.grid, l->grid, sizeof(ret[k].shape.grid));
		memcpy(ret[k].shape.block, l->block, sizeof(ret[k].shape.block));
		ret[k].shape.shared_bytes = l->shared_bytes;
		ret[k].fits = dev_total_blocks(&ret[k].shape) <= (uint64_t)s->fit[k] * h->n_sms;
	}
}

/* f's kernels are those of the set from `first` on. */
static int ready(struct heddle *h, const struct rt_set *s, unsigned first, const struct rt_form *f,
	struct dev_merge_part *ret)
{
	char *params = calloc(1, f->form.param_bytes);

	if (!params)
		return rt_out_of_memory(h);
	for (unsigned k = 0; k < f->n; k++)
		for (uint32_t i = 0; i < s->of[first + k]->n_params; i++)
			memcpy(params + f->form.of[k].param_offset + s->of[first + k]->offsets[i],
				s->launch[first + k].params[i], s->of[first + k]->sizes[i]);
	*ret = (struct dev_merge_part){f->fn, &f->form, params, f->per_sm};
	return 0;
}

static int ready_own(
	struct heddle *h, const struct rt_set *s, uint32_t own, struct dev_merge_part ret[RT_MAX])
{
	int r = 0;

	for (unsigned k = 0; k < s->n && r == 0; k++) {
		struct rt_set one = {1, {s->of[k]}, &s->launch[k], {s->fit[k]}};
		struct rt_form *f;

		if (!(own >> k & 1))
			continue;
		r = rt_form_get(h, &one, DEV_MERGE, NULL, &f);
		if (r == 0)
			r = ready(h, s, k, f, &ret[k]);
	}
	return r;
}

static CUresult run_parts(struct heddle *h, const struct rt_set *s, struct rt_form *f,
	const struct dev_merging *m, const struct dev_merge_shape *shapes,
	const struct dev_merge_part *all, const struct dev_merge_part *own,
	const struct dev_merge_plan *p, struct dev_merged_stats *ret)
{
	if (f->how == DEV_MERGE)
		return dev_merged_run(&h->cu, all, own, s->n, shapes, m, p, &f->device, ret);
	return dev_fused_run(&h->cu, f->fn, &f->form, s->n, shapes, all->params, &f->device, ret);
}

int rt_form_run(struct heddle *h, const struct rt_set *s, struct rt_form *f,
	const struct dev_merging *m, struct heddle_result *ret)
{
	struct dev_merge_shape shapes[RT_MAX];
	struct dev_merge_part all = {0}, own[RT_MAX] = {{0}};
	struct dev_merged_stats stats = {0};
	struct dev_merge_plan p;
	CUresult c = CUDA_SUCCESS;
	int r;

	see_shapes(h, s, shapes);
	r = ready(h, s, 0, f, &all);
	if (r == 0 && f->how == DEV_MERGE)
		r = ready_own(h, s, m->own, own);
	if (r == 0)
		r = plan(h, s, f, m, shapes, &all, own, &p);
	if (r == 0)
		c = run_parts(h, s, f, m, shapes, &all, own, &p, &stats);
	free(all.params);
	for (unsigned k = 0; k < s->n; k++)
		free(own[k].params);
	if (r < 0)
		return r;
	if (c == CUDA_ERROR_UNKNOWN)
		return rt_fail(h, -EIO, "other shares, or \"help\"",
			"a launch handed out no block: kernel '%s' is not done",
			s->of[stats.stalled]->name);
	RT_TRY(h, c, "the kernels together");
	ret->ms = (double)stats.ms;
	ret->launches = stats.launches;
	ret->workers = p.workers;
	for (unsigned k = 0; k < s->n; k++)
		ret->workers += p.own[k].workers;
	return 0;
}
