/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs kernels together on one device. The command assumes that no other program uses the device
 * meanwhile. Every run starts with the same contents of the kernels' buffers. The variables of a
 * module start with their initial values only in the first run. The exception is a recorded launch,
 * whose module variables are among its buffers. */
#include "job/run_specs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct corun {
	struct cli *c;
	struct arena *arena;
	/* belongs to this struct, and is closed with it, if `own` is set */
	struct corun_device *device;
	struct corun_kernel *of[CORUN_MAX], *own;
	unsigned n;
	struct corun_result res;
	struct host_set set; /* the kernels as the host layer sees them */
	struct host_form *forms;
	struct model_kernel kernels[CORUN_MAX];
};

/* ---- reporting faults ---- */

/* Reports the fault f as an error of the command, or returns f's reason in *why. The reason is
 * returned, and not reported, if why is not NULL and the fault means that these kernels cannot run
 * in this way. */
static int fail_or_explain(struct corun *x, const struct host_fault *f, struct strbuf *why)
{
	struct strbuf text = {0}, hint = {0};

	host_explain(f, &x->set, &job_words, &text, &hint);
	if (why && f->code > HOST_BUG) {
		strbuf_puts(why, text.at ? text.at : "");
	} else if (f->code == HOST_MERGING && text.at) { /* show the source line with the fault */
		struct diag_list *diags = x->of[f->kernel]->k.src.diags;

		diag_add(diags, DIAG_ERROR, f->line, f->col, 1, "%s", text.at);
		cli_show_diags(diags);
	} else {
		cli_error(
			x->c, hint.len ? hint.at : NULL, "%s", text.at ? text.at : "out of memory");
	}
	strbuf_finish(&text);
	strbuf_finish(&hint);
	return CLI_FAILED;
}

/* ---- running ---- */

static int fill_all(struct corun *x)
{
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_fill(&x->of[i]->k, &x->device->d.cu);
	return r;
}

static int by_time(const void *a, const void *b)
{
	double x = ((const struct host_times *)a)->ms, y = ((const struct host_times *)b)->ms;

	return (x > y) - (x < y);
}

int corun_prepare(
	struct corun *x, enum host_way way, const struct host_merging *m, struct strbuf *why)
{
	struct host_device *d = &x->device->d;
	struct host_times times;
	struct host_fault f;
	int r = host_prepare(d, &x->set, way, m, &f);

	if (r < 0)
		return fail_or_explain(x, &f, why);
	if (way != HOST_WAY_GREEN)
		return CLI_OK;
	/* Only a trial run shows whether the driver accepts these kernels in green contexts. */
	r = fill_all(x);
	if (r == CLI_OK && host_run(d, &x->set, way, m, NULL, false, &times, &f) < 0)
		r = fail_or_explain(x, &f, why);
	return r;
}

int corun_plan(struct corun *x, enum host_way way, const struct host_merging *m, struct strbuf *why,
	struct host_merge_plan *ret)
{
	struct host_fault f;

	return host_plan(&x->device->d, &x->set, way, m, ret, &f) < 0 ? fail_or_explain(x, &f, why)
								      : CLI_OK;
}

int corun_once(struct corun *x, enum host_way way, const struct host_merging *m,
	const struct host_merge_plan *plan, bool each, struct host_times *ret, bool *ret_same)
{
	struct host_fault f;
	int r = fill_all(x);

	x->res.n_differences = 0;
	if (r == CLI_OK && host_run(&x->device->d, &x->set, way, m, plan, each, ret, &f) < 0)
		r = fail_or_explain(x, &f, NULL);
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = corun_kernel_compare(x->c, x->device, x->of[i], i, &x->res);
	*ret_same = x->res.n_differences == 0;
	return r;
}

static int run_all(struct corun *x, const struct corun_options *o)
{
	unsigned n = 0;
	struct host_times *times = ARENA_ARRAY(x->arena, struct host_times, o->repeat);
	int r = times ? CLI_OK : job_out_of_memory(x->c);
	bool same = true;

	while (r == CLI_OK && n < o->repeat && same)
		r = corun_once(x, o->way, &o->merging, &x->res.plan, true, &times[n++], &same);
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_write(&x->of[i]->k, &x->device->d.cu);
	if (r != CLI_OK)
		return r;
	qsort(times, n, sizeof(*times), by_time);
	x->res.times = times[n / 2];
	return CLI_OK;
}

/* ---- sets of kernels ---- */

int corun_open(struct cli *c, struct arena *arena, struct corun_device *d,
	struct corun_kernel *const *of, unsigned n, struct corun **ret)
{
	struct corun *x = *ret = ARENA_NEW(arena, struct corun);
	unsigned buffers = 1;

	if (!x)
		return job_out_of_memory(c);
	*x = (struct corun){.c = c, .arena = arena, .device = d, .n = n};
	x->set.forms = &x->forms;
	x->res.n_sms = d->d.n_sms;
	x->res.registers = d->d.registers;
	memcpy(x->res.device_name, d->d.name, sizeof(x->res.device_name));
	for (unsigned i = 0; i < n; i++) {
		const struct host_shape *shape = &of[i]->k.spec->shape;
		struct host_fault f;

		x->of[i] = of[i];
		if (host_set_add(&d->d, &x->set, &of[i]->host, shape, of[i]->k.params, &f) < 0)
			return fail_or_explain(x, &f, NULL);
		x->res.fit[i] = x->set.fit[i];
		x->res.blocks[i] = host_total_blocks(shape);
		buffers += of[i]->k.spec->n_args;
	}
	x->res.differences = ARENA_ARRAY(arena, struct corun_difference, buffers);
	return x->res.differences ? CLI_OK : job_out_of_memory(c);
}

static void close_own(struct corun_device *d, struct corun_kernel *own)
{
	for (unsigned i = 0; own && i < CORUN_MAX; i++)
		corun_kernel_close(&own[i]);
	if (d)
		host_device_close(&d->d);
}

int corun_open_specs(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	enum dev_kind device, bool check, struct corun **ret)
{
	struct corun_kernel *own = ARENA_ARRAY(arena, struct corun_kernel, CORUN_MAX);
	struct corun_device *d = ARENA_NEW(arena, struct corun_device);
	struct corun_kernel *of[CORUN_MAX];
	int r = own && d ? corun_device_open(c, device, d) : job_out_of_memory(c);

	*ret = NULL;
	for (unsigned i = 0; r == CLI_OK && i < n; i++) {
		of[i] = &own[i];
		r = corun_kernel_open(c, d, &specs[i], check, of[i]);
	}
	if (r == CLI_OK)
		r = corun_open(c, arena, d, of, n, ret);
	if (*ret)
		(*ret)->own = own;
	else
		close_own(d, own);
	return r;
}

void corun_limit(struct corun *x, unsigned compile_s)
{
	assembler_limit(&x->device->d.assembler, compile_s);
}

void corun_close(struct corun *x)
{
	if (!x)
		return;
	host_forms_free(&x->device->d, &x->forms);
	if (x->own)
		close_own(x->device, x->own);
}

void corun_take_shared(struct corun *x, unsigned k, uint32_t bytes)
{
	x->set.shapes[k].shape.shared_bytes = bytes;
}

const struct corun_result *corun_seen(const struct corun *x)
{
	return &x->res;
}

void corun_made(const struct corun *x, enum host_way way, double *ret_make, double *ret_compile)
{
	const struct host_form *f = x->forms;

	while (f && (f->way != way || f->set.number))
		f = f->next;
	*ret_make = f ? f->make_ms : 0;
	*ret_compile = f ? f->compile_ms : 0;
}

void corun_look_at_woven(
	const struct corun *x, const struct host_merging *m, struct corun_woven *ret)
{
	const struct host_form *form = host_form_find(&x->set, HOST_WAY_WEAVE, m);
	const uint32_t *b = form->form.block;

	*ret = (struct corun_woven){.form = form,
		.name = x->set.of[form->form.woven.which]->name,
		.warps = (b[0] * b[1] * b[2] + 31) / 32};
}

/* ---- identifying the kernels ---- */

void corun_identify(struct corun *x, struct model_together *ret)
{
	host_identify(&x->device->d, &x->set, x->kernels, ret);
}

static int find_chosen(void *user, const struct model_together *what, char ret[MODEL_WAY_MAX])
{
	struct model_way best;
	int r = model_ways_chosen(user, what, &best);

	if (r == 0)
		memcpy(ret, best.name, sizeof(best.name));
	return r;
}

int corun_look_up(
	struct corun *x, const char *path, enum host_way *ret_way, struct host_merging *io)
{
	const char *hint = "heddle tune measures every way, and keeps the best", *wrong = NULL;
	struct model_together what;
	struct model_store *store;
	char name[MODEL_WAY_MAX];
	int err = model_store_open(path, false, &store);

	corun_identify(x, &what);
	if (err == 0) {
		err = host_find_way(x->arena, &what, find_chosen, store, name, ret_way, io, &wrong);
		model_store_close(store);
	}
	if (wrong)
		return cli_error(
			x->c, hint, "a way that is not known was kept: '%s': %s", name, wrong);
	return err < 0 ? cli_error(x->c, err == -ENOENT ? hint : NULL, "%s", model_store_why())
		       : CLI_OK;
}

/* Stores the result of weaving in x->res. The reason is copied, because it must outlive the
 * form. */
static int keep_woven(struct corun *x, const struct host_merging *m)
{
	struct pass_woven *w = &x->res.woven;

	*w = host_form_find(&x->set, HOST_WAY_WEAVE, m)->form.woven;
	if (!w->why.reason)
		return CLI_OK;
	w->why.reason = arena_strndup(x->arena, w->why.reason, strlen(w->why.reason));
	return w->why.reason ? CLI_OK : job_out_of_memory(x->c);
}

int corun_run(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	struct corun_options *o, struct corun_result *ret)
{
	struct corun *x;
	int r = corun_open_specs(c, arena, specs, n, o->device, o->check, &x);

	if (r == CLI_OK)
		corun_limit(x, o->compile_s);
	if (r == CLI_OK && o->tuned) {
		r = corun_look_up(x, o->store, &o->way, &o->merging);
		o->merging.times = true;
	}
	if (r == CLI_OK)
		r = corun_prepare(x, o->way, &o->merging, NULL);
	if (r == CLI_OK)
		r = corun_plan(x, o->way, &o->merging, NULL, &x->res.plan);
	if (r == CLI_OK && o->way == HOST_WAY_WEAVE)
		r = keep_woven(x, &o->merging);
	if (r == CLI_OK)
		r = run_all(x, o);
	if (r == CLI_OK)
		*ret = x->res;
	corun_close(x);
	return r;
}
