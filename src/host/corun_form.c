/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Forms: code that runs all kernels of a set in one launch. A form is made once for the kernels and
 * their block shapes, and can then run with any grids and any schedule. A failure is remembered as
 * well: a text on which the compiler crashed is not compiled again. */
#include "host/corun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/measure.h"
#include "host/outside.h"
#include "pass/registry.h"

#define SPILLS 16 /* more workers are worth at most this many bytes of spills per thread */

static const char what[] = "merged form"; /* name of the text in messages */

static bool is_same(const struct host_form *form, const struct host_set *s, enum host_way way,
	const struct host_merging *m)
{
	if (form->way != way || form->set.n != s->n || form->set.number != s->number)
		return false;
	if (way == HOST_WAY_WEAVE &&
		(form->max_registers != m->registers || form->unsliced != m->unsliced ||
			form->branches != m->branches))
		return false;
	for (unsigned k = 0; k < s->n; k++) {
		const struct host_shape *a = &form->set.shapes[k].shape, *b = &s->shapes[k].shape;

		if (form->set.of[k] != s->of[k] || a->shared_bytes != b->shared_bytes ||
			memcmp(a->block, b->block, sizeof(a->block)) != 0)
			return false;
	}
	return true;
}

struct host_form *host_form_find(
	const struct host_set *s, enum host_way way, const struct host_merging *m)
{
	struct host_form *form = *s->forms;

	while (form && !is_same(form, s, way, m))
		form = form->next;
	return form;
}

/* ---- making the text ---- */

static int keep_refusal(
	int err, const struct pass_form *form, const struct diag_list *diags, struct host_fault *f)
{
	const struct pass_verdict *v = &form->verdict;

	if (err == -ENOMEM)
		return host_fail(f, HOST_MEMORY, -1, NULL);
	if (err == -ENOTSUP && v->reason) {
		host_fail(f, HOST_MERGING, (int)form->which, v->reason);
		f->line = v->line;
		f->col = v->col;
		return host_errno(f);
	}
	return host_fail(f, HOST_BUG, (int)form->which,
		diags->len ? diags->at[diags->len - 1].message : strerror(-err));
}

/* Makes the PTX of the form. If `tight` is set, limits the registers so that as many threads fit on
 * an SM as when each kernel runs alone. */
static int make_text(struct host_form *form, bool tight, struct strbuf *ret, ptx_lines *ret_lines,
	struct host_fault *f)
{
	const struct host_set *s = &form->set;
	struct pass_kernel kernels[HOST_MAX] = {0};
	struct pass_request rq = {.kernels = kernels,
		.n = s->n,
		.weave = {.max_registers = form->max_registers,
			.unsliced = form->unsliced,
			.branches = form->branches}};
	struct diag_list *diags = ARENA_NEW(&form->arena, struct diag_list);
	struct pass_form made;
	int r;

	if (!diags)
		return host_fail(f, HOST_MEMORY, -1, NULL);
	diag_init(diags, &form->arena, what, NULL, 0);
	for (unsigned k = 0; k < s->n; k++) {
		const struct host_kernel *of = s->of[k];

		if (of->no_vars)
			return host_fail(f, HOST_MERGING, (int)k, of->no_vars);
		kernels[k] = (struct pass_kernel){.m = of->alone,
			.name = of->entry,
			.file = of->file,
			.dynamic_bytes = s->shapes[k].shape.shared_bytes,
			.fits = tight ? s->fit[k] : 0};
		memcpy(kernels[k].block, s->shapes[k].shape.block, sizeof(kernels[k].block));
	}
	r = pass_run(pass_find(host_way_passes[form->way]), &rq, diags, &made);
	if (r < 0)
		return keep_refusal(r, &made, diags, f);
	form->form = made.merged;
	if (host_leave_const(made.m) < 0)
		ret->failed = true;
	ptx_print_lines(made.m, ret, ret_lines);
	ptx_module_free(made.m);
	return ret->failed ? host_fail(f, HOST_MEMORY, -1, NULL) : 0;
}

_Static_assert(offsetof(struct ctl_args, grid) == DEV_FORM_GRID, "reports read it");

/* Adds the kernel's number in the whole set to each line, for fault reports. */
static void tell_lines(const struct host_device *d, const struct host_form *form,
	const struct strbuf *text, ptx_lines *lines)
{
	for (size_t i = 0; i < lines->len; i++)
		if (lines->at[i])
			lines->at[i] |= form->set.number << PTX_LINE_BITS;
	dev_tell_lines(&d->cu, text->at, text->len, lines->at, lines->len);
}

/* ---- loading it on the device ---- */

static int load_form(struct host_device *d, struct host_form *form, const struct strbuf *text,
	struct host_fault *f)
{
	double apart = 0, from;
	int r = host_assemble(d, text, NULL, &apart, f);

	if (r < 0) {
		f->way = form->way;
		return r;
	}
	from = clock_ms();
	r = host_load(d, what, text->at, CTL_MERGE_ENTRY, &form->module, &form->fn, f);
	form->compile_ms = apart + clock_ms() - from;
	if (r == 0)
		r = host_room(d, form->fn, form->form.shared_bytes, f);
	for (unsigned k = 0; r == 0 && k < form->set.n; k++)
		r = host_kernel_fill_vars(d, form->set.of[k], k, form->module, f);
	return r;
}

static int make_and_load(
	struct host_device *d, struct host_form *form, bool tight, struct host_fault *f)
{
	struct strbuf text = {0};
	ptx_lines lines = {0};
	double from = clock_ms();
	int r = make_text(form, tight, &text, &lines, f);

	form->make_ms = clock_ms() - from;
	if (r == 0) {
		sha256(text.at, text.len, form->digest);
		tell_lines(d, form, &text, &lines);
		r = load_form(d, form, &text, f);
	}
	strbuf_finish(&text);
	VEC_FREE(&lines);
	return r;
}

/* Finds whether the register limit, which allows more workers, has caused spills. */
static int find_spills(
	const struct host_device *d, const struct host_form *form, bool *ret, struct host_fault *f)
{
	int local = 0, most = 0;

	for (unsigned k = 0; k < form->set.n; k++)
		most = MAX(most, form->set.of[k]->local_bytes);
	HOST_TRY(f, d->cu.cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, form->fn),
		what);
	*ret = local > most + SPILLS;
	return 0;
}

static int find_fit(const struct host_device *d, struct host_form *form, struct host_fault *f)
{
	const uint32_t *b = form->form.block;
	uint32_t threads = b[0] * b[1] * b[2];
	int per_sm = 0, registers;

	HOST_TRY(f, d->cu.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, form->fn),
		what);
	if (threads <= PASS_MAX_THREADS)
		HOST_TRY(f,
			d->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
				&per_sm, form->fn, (int)threads, form->form.shared_bytes),
			what);
	if (per_sm < 1)
		return host_fail_with(
			f, HOST_ROOM, -1, threads, (uint64_t)registers, form->form.shared_bytes);
	form->per_sm = (uint32_t)per_sm;
	form->registers = (uint32_t)registers;
	return 0;
}

static int prepare_form(struct host_device *d, struct host_form *form, struct host_fault *f)
{
	bool tight = form->way == HOST_WAY_MERGE, again = false;
	int r = make_and_load(d, form, tight, f);

	if (r == 0 && tight)
		r = find_spills(d, form, &again, f);
	if (r == 0 && again) {
		HOST_TRY(f, d->cu.cuModuleUnload(form->module), what);
		form->module = NULL;
		r = make_and_load(d, form, false, f);
	}
	if (r == 0)
		r = find_fit(d, form, f);
	if (r < 0)
		return r;
	form->params = arena_zalloc(&form->arena, form->form.param_bytes);
	if (!form->params)
		return host_fail(f, HOST_MEMORY, -1, NULL);
	HOST_TRY(f, host_merged_create(&d->cu, form->set.n, &form->device), "control blocks");
	return 0;
}

static void unload_form(const struct host_device *d, struct host_form *form)
{
	host_merged_destroy(&d->cu, &form->device);
	if (form->module)
		d->cu.cuModuleUnload(form->module);
	form->module = NULL;
	arena_finish(&form->arena);
}

static struct host_form *add_form(
	const struct host_set *s, enum host_way way, const struct host_merging *m)
{
	struct host_form *form = calloc(1, sizeof(*form));

	if (!form)
		return NULL;
	*form = (struct host_form){.next = *s->forms, .set = *s, .way = way};
	/* A form keeps no parameters of a run. */
	memset(form->set.params, 0, sizeof(form->set.params));
	if (way == HOST_WAY_WEAVE) {
		form->max_registers = m->registers;
		form->unsliced = m->unsliced;
		form->branches = m->branches;
	}
	*s->forms = form;
	return form;
}

/* Returns true if another attempt would fail in the same way. */
static bool is_final(enum host_code code)
{
	return code != HOST_MEMORY && code != HOST_DRIVER && code != HOST_TEXT;
}

int host_form_make(struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, struct host_fault *f)
{
	struct host_form *form = host_form_find(s, way, m);
	int r;

	if (form && form->never.code != HOST_OK) {
		*f = form->never;
		return host_errno(f);
	}
	if (form)
		return 0;
	form = add_form(s, way, m);
	if (!form)
		return host_fail(f, HOST_MEMORY, -1, NULL);
	arena_init(&form->arena, 0);
	r = prepare_form(d, form, f);
	if (r == 0)
		return 0;
	unload_form(d, form);
	if (is_final(f->code)) {
		form->never = *f;
	} else {
		*s->forms = form->next;
		free(form);
	}
	return r;
}

void host_forms_free(const struct host_device *d, struct host_form **list)
{
	for (struct host_form *form = *list, *next; form; form = next) {
		next = form->next;
		unload_form(d, form);
		free(form);
	}
	*list = NULL;
}
