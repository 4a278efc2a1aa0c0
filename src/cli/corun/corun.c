/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels together on one device. The program owns the device for as long as it runs; every run
 * starts from the same buffers. A module's variables are as loaded for the first run only. */
#include "cli/corun/corun.h"

#include "cli/corun/corun_merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One launch of all. Woven, it is another one by how that is done; else one for each way. */
struct form {
	struct form *next;
	enum dev_how how;
	uint32_t registers;
	bool unsliced, branches;
	bool ready;
	struct corun_merge m;
};

struct corun {
	struct cli *c;
	struct arena *arena;
	struct corun_device *device, *own_device;
	struct corun_kernel *of[CORUN_MAX], *own;
	unsigned n;
	struct corun_result res;
	CUstream main, streams[CORUN_MAX];
	CUevent began, ended, kernel_began[CORUN_MAX], kernel_ended[CORUN_MAX];
	bool plain_ready;
	struct form *forms;
	struct model_kernel kernels[CORUN_MAX];
	char driver[32];
};

static const struct spec *spec_of(const struct corun *x, unsigned i)
{
	return x->of[i]->k.spec;
}

/* ---- runs ---- */

/* The split of these shares, made if there is none; NULL: *ret says why. */
static const struct dev_green *green_of(struct corun *x, const struct dev_merging *m, CUresult *ret)
{
	struct corun_device *d = x->device;
	struct corun_green *g;

	for (unsigned i = 0; i < d->n_greens; i++)
		if (d->greens[i].n == x->n &&
			!memcmp(d->greens[i].share, m->share, x->n * sizeof(m->share[0])))
			return &d->greens[i].green;
	*ret = CUDA_ERROR_NOT_SUPPORTED;
	if (d->n_greens == CORUN_GREENS)
		return NULL;
	g = &d->greens[d->n_greens];
	g->n = x->n;
	memcpy(g->share, m->share, sizeof(g->share));
	*ret = dev_green_create(&d->d.cu, x->n, m->share, &g->green);
	if (*ret != CUDA_SUCCESS)
		return NULL;
	d->n_greens++;
	return &g->green;
}

/* Each kernel in its stream, which waits for the main one and is waited for by it. Between kernels
 * that follow each other stands an event only if one is asked for. */
static CUresult launch_all(struct corun *x, const CUstream *streams, bool each)
{
	const struct cu_api *cu = &x->device->d.cu;
	CUresult r = cu->cuEventRecord(x->began, x->main);

	for (unsigned i = 0; r == CUDA_SUCCESS && i < x->n; i++) {
		CUstream s = streams ? streams[i] : x->main;

		if (streams)
			r = cu->cuStreamWaitEvent(s, x->began, 0);
		if (r == CUDA_SUCCESS && each)
			r = cu->cuEventRecord(x->kernel_began[i], s);
		if (r == CUDA_SUCCESS)
			r = job_kernel_launch(&x->of[i]->k, cu, x->of[i]->plain, s);
		if (r == CUDA_SUCCESS && (each || streams))
			r = cu->cuEventRecord(x->kernel_ended[i], s);
	}
	for (unsigned i = 0; r == CUDA_SUCCESS && streams && i < x->n; i++)
		r = cu->cuStreamWaitEvent(x->main, x->kernel_ended[i], 0);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(x->ended, x->main);
	return r == CUDA_SUCCESS ? cu->cuCtxSynchronize() : r;
}

static int run_plain(struct corun *x, enum dev_how how, const struct dev_merging *m, bool each,
	struct corun_times *ret)
{
	const struct cu_api *cu = &x->device->d.cu;
	const char *what = x->n == 1 ? spec_of(x, 0)->kernel : "the kernels together";
	const CUstream *streams = how == DEV_STREAMS ? x->streams : NULL;
	CUresult failed = CUDA_SUCCESS;
	float ms, began;

	if (how == DEV_GREEN) {
		const struct dev_green *g = green_of(x, m, &failed);

		JOB_TRY(x->c, failed, "green contexts");
		streams = g->streams;
	}
	JOB_TRY(x->c, launch_all(x, streams, each), what);
	JOB_TRY(x->c, cu->cuEventElapsedTime(&ms, x->began, x->ended), "event");
	ret->ms = (double)ms;
	for (unsigned i = 0; each && i < x->n; i++) {
		JOB_TRY(x->c, cu->cuEventElapsedTime(&began, x->began, x->kernel_began[i]),
			"event");
		JOB_TRY(x->c, cu->cuEventElapsedTime(&ms, x->kernel_began[i], x->kernel_ended[i]),
			"event");
		ret->of[i].began_ms = (double)began;
		ret->of[i].ms = (double)ms;
	}
	return CLI_OK;
}

static int prepare_plain(struct corun *x)
{
	const struct cu_api *cu = &x->device->d.cu;

	if (x->plain_ready)
		return CLI_OK;
	x->plain_ready = true;
	JOB_TRY(x->c, cu->cuStreamCreate(&x->main, CU_STREAM_NON_BLOCKING), "stream");
	JOB_TRY(x->c, cu->cuEventCreate(&x->began, 0), "event");
	JOB_TRY(x->c, cu->cuEventCreate(&x->ended, 0), "event");
	for (unsigned i = 0; i < x->n; i++) {
		JOB_TRY(x->c, cu->cuStreamCreate(&x->streams[i], CU_STREAM_NON_BLOCKING), "stream");
		JOB_TRY(x->c, cu->cuEventCreate(&x->kernel_began[i], 0), "event");
		JOB_TRY(x->c, cu->cuEventCreate(&x->kernel_ended[i], 0), "event");
	}
	return CLI_OK;
}

static void finish_plain(struct corun *x)
{
	const struct cu_api *cu = &x->device->d.cu;
	CUevent events[2 + 2 * CORUN_MAX] = {x->began, x->ended};

	memcpy(events + 2, x->kernel_began, sizeof(x->kernel_began));
	memcpy(events + 2 + CORUN_MAX, x->kernel_ended, sizeof(x->kernel_ended));
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (events[i])
			cu->cuEventDestroy(events[i]);
	for (unsigned i = 0; i < CORUN_MAX; i++)
		if (x->streams[i])
			cu->cuStreamDestroy(x->streams[i]);
	if (x->main)
		cu->cuStreamDestroy(x->main);
}

static int fill_all(struct corun *x)
{
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_fill(&x->of[i]->k, &x->device->d.cu);
	return r;
}

/* Whether the driver has green contexts, and takes our kernels in them, is found out by doing it
 * once. */
static int prepare_green(struct corun *x, const struct dev_merging *m, struct strbuf *why)
{
	const struct dev_green *g;
	CUresult r = CUDA_SUCCESS;
	const char *text;
	int err = prepare_plain(x);

	if (err == CLI_OK)
		err = fill_all(x);
	if (err != CLI_OK)
		return err;
	g = green_of(x, m, &r);
	if (g)
		r = launch_all(x, g->streams, false);
	if (r == CUDA_SUCCESS)
		return CLI_OK;
	x->device->d.cu.cuCtxSynchronize(); /* what was launched of it */
	text = r == CUDA_ERROR_NOT_SUPPORTED
		       ? "the driver (CUDA 12.4 and later have them), or the device, has none"
		       : cu_result_name(r);
	if (!why)
		return cli_error(x->c, "--how streams", "green contexts: %s", text ? text : "?");
	strbuf_printf(why, "green contexts: %s", text ? text : "?");
	return CLI_FAILED;
}

static int by_time(const void *a, const void *b)
{
	double x = ((const struct corun_times *)a)->ms, y = ((const struct corun_times *)b)->ms;

	return (x > y) - (x < y);
}

static bool is_one_launch(enum dev_how how)
{
	return how >= DEV_MERGE;
}

static bool is_woven_so(const struct form *f, const struct dev_merging *m)
{
	return f->registers == m->registers && f->unsliced == m->unsliced &&
	       f->branches == m->branches;
}

/* NULL: there is none yet. */
static struct form *find_form(const struct corun *x, enum dev_how how, const struct dev_merging *m)
{
	struct form *f = x->forms;

	while (f && (f->how != how || (how == DEV_WEAVE && !is_woven_so(f, m))))
		f = f->next;
	return f;
}

int corun_once(struct corun *x, enum dev_how how, const struct dev_merging *m,
	const struct dev_merge_plan *plan, bool each, struct corun_times *ret, bool *ret_same)
{
	int r = fill_all(x);

	x->res.n_differences = 0;
	*ret = (struct corun_times){0};
	if (r == CLI_OK)
		r = is_one_launch(how) ? corun_merge_run(&find_form(x, how, m)->m, m, plan, ret)
				       : run_plain(x, how, m, each, ret);
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = corun_kernel_compare(x->c, x->device, x->of[i], i, &x->res);
	*ret_same = x->res.n_differences == 0;
	return r;
}

static int run_all(struct corun *x, const struct corun_options *o)
{
	unsigned n = 0;
	struct corun_times *times = ARENA_ARRAY(x->arena, struct corun_times, o->repeat);
	int r = times ? CLI_OK : job_out_of_memory(x->c);
	bool same = true;

	while (r == CLI_OK && n < o->repeat && same)
		r = corun_once(x, o->how, &o->merging, &x->res.plan, true, &times[n++], &same);
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_write(&x->of[i]->k, &x->device->d.cu);
	if (r != CLI_OK)
		return r;
	qsort(times, n, sizeof(*times), by_time);
	x->res.times = times[n / 2];
	return CLI_OK;
}

/* ---- sets of kernels ---- */

static struct corun *make(struct cli *c, struct arena *arena)
{
	struct corun *x = ARENA_NEW(arena, struct corun);

	if (x) {
		x->c = c;
		x->arena = arena;
	}
	return x;
}

static int begin(
	struct corun *x, struct corun_device *d, struct corun_kernel *const *of, unsigned n)
{
	unsigned buffers = 1;

	x->device = d;
	x->n = n;
	x->res.n_sms = d->n_sms;
	x->res.registers = d->registers;
	memcpy(x->res.device_name, d->d.name, sizeof(x->res.device_name));
	for (unsigned i = 0; i < n; i++) {
		x->of[i] = of[i];
		x->res.fit[i] = of[i]->fit;
		x->res.blocks[i] = (uint64_t)of[i]->k.spec->grid[0] * of[i]->k.spec->grid[1] *
				   of[i]->k.spec->grid[2];
		buffers += of[i]->k.spec->n_args;
	}
	x->res.differences = ARENA_ARRAY(x->arena, struct corun_difference, buffers);
	return x->res.differences ? CLI_OK : job_out_of_memory(x->c);
}

int corun_open(struct cli *c, struct arena *arena, struct corun_device *d,
	struct corun_kernel *const *of, unsigned n, struct corun **ret)
{
	struct corun *x = make(c, arena);

	*ret = x;
	return x ? begin(x, d, of, n) : job_out_of_memory(c);
}

int corun_open_specs(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	enum dev_kind device, bool check, struct corun **ret)
{
	struct corun *x = make(c, arena);
	struct corun_kernel *of[CORUN_MAX];
	int r = CLI_OK;

	*ret = x;
	if (!x)
		return job_out_of_memory(c);
	x->own = ARENA_ARRAY(arena, struct corun_kernel, CORUN_MAX);
	x->own_device = ARENA_NEW(arena, struct corun_device);
	if (!x->own || !x->own_device)
		return job_out_of_memory(c);
	for (unsigned i = 0; i < n; i++)
		of[i] = &x->own[i];
	for (unsigned i = 0; r == CLI_OK && i < n; i++)
		r = corun_kernel_read(c, &specs[i], of[i]);
	if (r == CLI_OK)
		r = corun_device_open(c, device, x->own_device);
	for (unsigned i = 0; r == CLI_OK && i < n && check; i++)
		r = corun_kernel_run_alone(c, x->own_device, of[i]);
	for (unsigned i = 0; r == CLI_OK && i < n; i++)
		r = corun_kernel_load(c, x->own_device, of[i]);
	return r == CLI_OK ? begin(x, x->own_device, of, n) : r;
}

void corun_limit(struct corun *x, unsigned compile_s)
{
	assembler_limit(&x->device->d.assembler, compile_s);
}

void corun_close(struct corun *x)
{
	if (!x)
		return;
	if (x->device)
		finish_plain(x);
	for (struct form *f = x->forms; f; f = f->next)
		if (f->m.cu)
			corun_merge_finish(&f->m);
	for (unsigned i = 0; x->own && i < CORUN_MAX; i++)
		corun_kernel_close(&x->own[i]);
}

const struct corun_result *corun_seen(const struct corun *x)
{
	return &x->res;
}

static struct form *add_form(struct corun *x, enum dev_how how, const struct dev_merging *with)
{
	struct form *f = ARENA_NEW(x->arena, struct form);

	if (!f)
		return NULL;
	f->how = how;
	f->registers = how == DEV_WEAVE ? with->registers : 0;
	f->unsliced = how == DEV_WEAVE && with->unsliced;
	f->branches = how == DEV_WEAVE && with->branches;
	f->next = x->forms;
	x->forms = f;
	return f;
}

static int prepare_first(
	struct corun *x, enum dev_how how, const struct dev_merging *with, struct strbuf *why)
{
	struct form *f = find_form(x, how, with);
	struct corun_merge *m;
	int r;

	if (!f)
		f = add_form(x, how, with);
	if (!f)
		return job_out_of_memory(x->c);
	if (f->ready)
		return CLI_OK;
	m = &f->m;
	if (m->cu)
		corun_merge_finish(m);
	*m = (struct corun_merge){.c = x->c,
		.arena = x->arena,
		.cu = &x->device->d.cu,
		.on = &x->device->d,
		.n = x->n,
		.way = how,
		.how = how == DEV_WEAVE ? with : NULL,
		.fit = x->res.fit,
		.n_sms = x->res.n_sms,
		.why = why};
	for (unsigned i = 0; i < x->n; i++) {
		int local = 0;

		m->of[i] = &x->of[i]->k;
		JOB_TRY(x->c,
			x->device->d.cu.cuFuncGetAttribute(
				&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, x->of[i]->plain),
			spec_of(x, i)->kernel);
		m->local_bytes = MAX(m->local_bytes, local);
	}
	r = corun_merge_prepare(m);
	m->why = NULL;
	m->how = NULL; /* the caller's, who may be gone by now */
	f->ready = r == CLI_OK;
	return r;
}

static int prepare_one(
	struct corun *x, enum dev_how how, const struct dev_merging *merging, struct strbuf *why)
{
	int r = prepare_first(x, how, merging, why);
	struct corun_merge *m;

	if (r != CLI_OK || how != DEV_MERGE || !merging->own)
		return r;
	m = &find_form(x, how, merging)->m;
	m->why = why;
	r = corun_merge_prepare_own(m, merging->own);
	m->why = NULL;
	return r;
}

int corun_prepare(
	struct corun *x, enum dev_how how, const struct dev_merging *m, struct strbuf *why)
{
	return is_one_launch(how) ? prepare_one(x, how, m, why)
	       : how == DEV_GREEN ? prepare_green(x, m, why)
				  : prepare_plain(x);
}

int corun_plan(struct corun *x, enum dev_how how, const struct dev_merging *m, struct strbuf *why,
	struct dev_merge_plan *ret)
{
	struct corun_merge *merge;
	int r;

	if (!is_one_launch(how))
		return CLI_OK;
	merge = &find_form(x, how, m)->m;
	merge->why = why;
	r = corun_merge_plan(merge, m, ret);
	merge->why = NULL;
	return r;
}

void corun_made(const struct corun *x, enum dev_how how, double *ret_make, double *ret_compile)
{
	const struct form *f = x->forms;

	while (f && f->how != how)
		f = f->next;
	*ret_make = f ? f->m.make_ms : 0;
	*ret_compile = f ? f->m.compile_ms : 0;
}

void corun_look_at_woven(
	const struct corun *x, const struct dev_merging *m, struct corun_woven *ret)
{
	const struct corun_merge *merge = &find_form(x, DEV_WEAVE, m)->m;
	const uint32_t *b = merge->form.block;

	*ret = (struct corun_woven){.woven = &merge->form.woven,
		.digest = merge->digest,
		.registers = merge->registers,
		.warps = (b[0] * b[1] * b[2] + 31) / 32,
		.per_sm = merge->per_sm};
}

/* ---- what they are ---- */

/* Of the kernel alone: the rest of its file may change. */
static int digest(struct corun *x, unsigned i, uint8_t ret[32])
{
	struct ptx_module *m;
	struct strbuf text = {0};
	int r = ptx_extract(x->of[i]->k.module, spec_of(x, i)->kernel, true, &m);

	if (r < 0)
		return job_out_of_memory(x->c);
	ptx_print(m, &text);
	ptx_module_free(m);
	if (!text.failed)
		sha256(text.at, text.len, ret);
	r = text.failed ? job_out_of_memory(x->c) : CLI_OK;
	strbuf_finish(&text);
	return r;
}

int corun_identify(struct corun *x, struct model_together *ret)
{
	int r = CLI_OK, version;

	JOB_TRY(x->c, x->device->d.cu.cuDriverGetVersion(&version), "driver");
	snprintf(x->driver, sizeof(x->driver), "%d", version);
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++) {
		struct model_kernel *k = &x->kernels[i];

		memcpy(k->grid, spec_of(x, i)->grid, sizeof(k->grid));
		memcpy(k->block, spec_of(x, i)->block, sizeof(k->block));
		k->shared_bytes = spec_of(x, i)->shared_bytes;
		r = digest(x, i, k->digest);
	}
	*ret = (struct model_together){.device = x->res.device_name,
		.driver = x->driver,
		.kernels = x->kernels,
		.n = x->n};
	return r;
}

/* The chosen way of these kernels; of two kernels, also one that was chosen for them in the other
 * order: then *ret_mirrored is set. */
static int find_chosen(struct model_store *store, const struct model_together *what,
	struct model_way *ret, bool *ret_mirrored)
{
	int err = model_ways_chosen(store, what, ret);

	*ret_mirrored = err == -ENOENT && what->n == 2;
	if (*ret_mirrored) {
		const struct model_kernel turned[2] = {what->kernels[1], what->kernels[0]};
		struct model_together other = *what;

		other.kernels = turned;
		err = model_ways_chosen(store, &other, ret);
	}
	return err;
}

int corun_look_up(struct corun *x, const char *path, enum dev_how *ret_how, struct dev_merging *io)
{
	const char *hint = "heddle tune measures every way, and keeps the best", *wrong;
	struct model_together what;
	struct model_store *store;
	struct model_way best;
	bool mirrored = false;
	int r = corun_identify(x, &what), err;

	if (r != CLI_OK)
		return r;
	err = model_store_open(path, false, &store);
	if (err == 0) {
		err = find_chosen(store, &what, &best, &mirrored);
		model_store_close(store);
	}
	if (err < 0)
		return cli_error(x->c, err == -ENOENT ? hint : NULL, "%s", model_store_why());
	wrong = dev_way_parse(x->arena, best.name, x->n, ret_how, io);
	if (wrong)
		return cli_error(
			x->c, hint, "a way that is not known was kept: '%s': %s", best.name, wrong);
	if (mirrored)
		dev_way_mirror(io);
	return CLI_OK;
}

int corun_run(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	struct corun_options *o, struct corun_result *ret)
{
	struct corun *x;
	int r = corun_open_specs(c, arena, specs, n, o->device, o->check, &x);

	if (r == CLI_OK)
		corun_limit(x, o->compile_s);
	if (r == CLI_OK && o->tuned) {
		r = corun_look_up(x, o->store, &o->how, &o->merging);
		o->merging.times = true;
	}
	if (r == CLI_OK)
		r = corun_prepare(x, o->how, &o->merging, NULL);
	if (r == CLI_OK)
		r = corun_plan(x, o->how, &o->merging, NULL, &x->res.plan);
	if (r == CLI_OK && o->how == DEV_WEAVE)
		x->res.woven = find_form(x, o->how, &o->merging)->m.form.woven;
	if (r == CLI_OK)
		r = run_all(x, o);
	if (r == CLI_OK)
		*ret = x->res;
	corun_close(x);
	return r;
}
