/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Plans and runs the kernels of a set, either unmodified or as one launch. */
#include "host/corun.h"

#include <stdlib.h>
#include <string.h>

struct host_split {              /* green contexts */
	struct host_split *next; /* next in the list host_device.splits, which owns it */
	unsigned n;
	uint32_t share[HOST_MAX];
	struct host_green green;
};

int host_set_add(const struct host_device *d, struct host_set *s, const struct host_kernel *k,
	const struct host_shape *shape, const void *params, struct host_fault *f)
{
	int r = host_kernel_fit(d, k, shape, &s->fit[s->n], f);

	if (r < 0)
		return r;
	s->of[s->n] = k;
	s->params[s->n] = params;
	s->shapes[s->n].shape = *shape;
	s->shapes[s->n].fits = host_total_blocks(shape) <= (uint64_t)s->fit[s->n] * d->n_sms;
	s->n++;
	return 0;
}

/* ---- running unmodified kernels ---- */

static int make_streams(struct host_device *d, struct host_fault *f)
{
	const struct cu_api *cu = &d->cu;

	if (d->ended)
		return 0;
	HOST_TRY(f, cu->cuStreamCreate(&d->main, CU_STREAM_NON_BLOCKING), "a stream");
	for (unsigned i = 0; i < HOST_MAX; i++) {
		HOST_TRY(f, cu->cuStreamCreate(&d->stream[i], CU_STREAM_NON_BLOCKING), "a stream");
		HOST_TRY(f, cu->cuEventCreate(&d->kernel_began[i], 0), "an event");
		HOST_TRY(f, cu->cuEventCreate(&d->kernel_ended[i], 0), "an event");
	}
	HOST_TRY(f, cu->cuEventCreate(&d->began, 0), "an event");
	HOST_TRY(f, cu->cuEventCreate(&d->ended, 0), "an event");
	return 0;
}

void host_device_close(struct host_device *d)
{
	CUevent events[2 + 2 * HOST_MAX] = {d->began, d->ended};

	memcpy(events + 2, d->kernel_began, sizeof(d->kernel_began));
	memcpy(events + 2 + HOST_MAX, d->kernel_ended, sizeof(d->kernel_ended));
	for (struct host_split *s = d->splits, *next; s; s = next) {
		next = s->next;
		host_green_destroy(&d->cu, &s->green);
		free(s);
	}
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (events[i])
			d->cu.cuEventDestroy(events[i]);
	for (unsigned i = 0; i < HOST_MAX; i++)
		if (d->stream[i])
			d->cu.cuStreamDestroy(d->stream[i]);
	if (d->main)
		d->cu.cuStreamDestroy(d->main);
}

static int green_failed(struct host_fault *f, CUresult r)
{
	const char *name = cu_result_name(r);

	return host_fail(f, HOST_GREEN, -1,
		r == CUDA_ERROR_NOT_SUPPORTED
			? "the driver (CUDA 12.4 and later have them), or the device, has none"
		: name ? name
		       : "?");
}

static struct host_split *find_split(
	const struct host_device *d, const struct host_set *s, const struct host_merging *m)
{
	struct host_split *split = d->splits;

	while (split && (split->n != s->n ||
				memcmp(split->share, m->share, s->n * sizeof(m->share[0])) != 0))
		split = split->next;
	return split;
}

static int make_split(struct host_device *d, const struct host_set *s, const struct host_merging *m,
	struct host_fault *f)
{
	struct host_split *split;
	CUresult r;

	if (find_split(d, s, m))
		return 0;
	split = calloc(1, sizeof(*split));
	if (!split)
		return host_fail(f, HOST_MEMORY, -1, NULL);
	r = host_green_create(&d->cu, s->n, m->share, &split->green);
	if (r != CUDA_SUCCESS) {
		free(split);
		return green_failed(f, r);
	}
	split->n = s->n;
	memcpy(split->share, m->share, sizeof(split->share));
	split->next = d->splits;
	d->splits = split;
	return 0;
}

/* Launches each kernel in a stream of its own, after the event `began` of the main stream. The main
 * stream then waits for all of them. If `streams` is NULL, launches all kernels in the main stream,
 * one after another. If `each` is set, records an event before and after each kernel. */
static CUresult launch_all(
	struct host_device *d, const struct host_set *s, const CUstream *streams, bool each)
{
	const struct cu_api *cu = &d->cu;
	CUresult r = cu->cuEventRecord(d->began, d->main);

	for (unsigned i = 0; r == CUDA_SUCCESS && i < s->n; i++) {
		CUstream on = streams ? streams[i] : d->main;

		if (streams)
			r = cu->cuStreamWaitEvent(on, d->began, 0);
		if (r == CUDA_SUCCESS && each)
			r = cu->cuEventRecord(d->kernel_began[i], on);
		if (r == CUDA_SUCCESS)
			r = host_launch(cu, s->of[i]->fn, &s->shapes[i].shape, s->params[i],
				s->of[i]->bytes, on);
		if (r == CUDA_SUCCESS && (each || streams))
			r = cu->cuEventRecord(d->kernel_ended[i], on);
	}
	for (unsigned i = 0; r == CUDA_SUCCESS && streams && i < s->n; i++)
		r = cu->cuStreamWaitEvent(d->main, d->kernel_ended[i], 0);
	return r == CUDA_SUCCESS ? cu->cuEventRecord(d->ended, d->main) : r;
}

static int read_span(
	const struct host_device *d, CUevent from, CUevent to, double *ret, struct host_fault *f)
{
	float ms;

	HOST_TRY(f, d->cu.cuEventElapsedTime(&ms, from, to), "an event");
	*ret = (double)ms;
	return 0;
}

static int run_plain(struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, bool each, struct host_times *ret, struct host_fault *f)
{
	const CUstream *streams = way == HOST_WAY_STREAMS ? d->stream
				  : way == HOST_WAY_GREEN ? find_split(d, s, m)->green.streams
							  : NULL;
	CUresult c = launch_all(d, s, streams, each);
	int r;

	if (c != CUDA_SUCCESS && way == HOST_WAY_GREEN) {
		d->cu.cuCtxSynchronize(); /* waits for kernels that were launched */
		return green_failed(f, c);
	}
	if (c == CUDA_SUCCESS)
		c = d->cu.cuCtxSynchronize();
	HOST_TRY(f, c, s->n == 1 ? s->of[0]->name : "the kernels together");
	ret->launches = s->n;
	r = read_span(d, d->began, d->ended, &ret->ms, f);
	for (unsigned i = 0; r == 0 && each && i < s->n; i++) {
		r = read_span(d, d->began, d->kernel_began[i], &ret->of[i].began_ms, f);
		if (r == 0)
			r = read_span(d, d->kernel_began[i], d->kernel_ended[i], &ret->of[i].ms, f);
	}
	return r;
}

/* ---- running kernels as one launch ---- */

/* Returns a set that has only kernel k, for a launch of its own. */
static struct host_set take_one(const struct host_set *s, unsigned k)
{
	return (struct host_set){.forms = s->forms,
		.n = 1,
		.number = k + 1,
		.of = {s->of[k]},
		.shapes = {s->shapes[k]},
		.params = {s->params[k]},
		.fit = {s->fit[k]}};
}

static bool has_own(enum host_way way, const struct host_merging *m, unsigned k)
{
	return way == HOST_WAY_MERGE && m->own >> k & 1;
}

int host_prepare(struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, struct host_fault *f)
{
	int r;

	if (way < HOST_WAY_MERGE) {
		r = make_streams(d, f);
		return r == 0 && way == HOST_WAY_GREEN ? make_split(d, s, m, f) : r;
	}
	if (way == HOST_WAY_WEAVE && s->n != 2)
		return host_fail_with(f, HOST_PAIR, -1, s->n, 0, 0);
	r = host_form_make(d, s, way, m, f);
	for (unsigned k = 0; r == 0 && k < s->n; k++) {
		struct host_set one = take_one(s, k);

		if (!has_own(way, m, k))
			continue;
		r = host_form_make(d, &one, HOST_WAY_MERGE, NULL, f);
		if (r < 0)
			f->kernel = (int)k;
	}
	return r;
}

/* Returns the form with the parameters of this set, for planning and running. */
static struct host_merge_part part_of(struct host_form *form, const struct host_set *s)
{
	for (unsigned k = 0; k < s->n; k++)
		memcpy((char *)form->params + form->form.of[k].param_offset, s->params[k],
			s->of[k]->bytes);
	return (struct host_merge_part){form->fn, &form->form, form->params, form->per_sm};
}

static void own_parts(const struct host_set *s, enum host_way way, const struct host_merging *m,
	struct host_merge_part ret[HOST_MAX])
{
	memset(ret, 0, HOST_MAX * sizeof(*ret));
	for (unsigned k = 0; k < s->n; k++) {
		struct host_set one = take_one(s, k);

		if (has_own(way, m, k))
			ret[k] = part_of(host_form_find(&one, HOST_WAY_MERGE, NULL), &one);
	}
}

/* Plans a fused launch, in which block i runs block i of each kernel. */
static int plan_fused(const struct host_device *d, const struct host_set *s,
	const struct host_form *form, struct host_merge_plan *ret, struct host_fault *f)
{
	uint64_t blocks = host_fused_blocks(s->n, s->shapes);
	uint64_t fit = (uint64_t)form->per_sm * d->n_sms;

	if (blocks > INT32_MAX)
		return host_fail_with(f, HOST_GRID, -1, blocks, 0, 0);
	for (unsigned k = 0; k < s->n; k++)
		if (form->form.of[k].rising_order && s->shapes[k].fits && blocks > fit)
			return host_fail_with(f, HOST_FUSED, (int)k, blocks, fit, 0);
	*ret = (struct host_merge_plan){.per_sm = form->per_sm, .workers = (uint32_t)blocks};
	return 0;
}

int host_plan(const struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, struct host_merge_plan *ret, struct host_fault *f)
{
	struct host_form *form = way < HOST_WAY_MERGE ? NULL : host_form_find(s, way, m);
	struct host_merge_part all, own[HOST_MAX];
	struct host_merge_plan p = {0};
	uint64_t blocks = 0;
	unsigned which = 0;
	int r = 0;

	*ret = p;
	if (!form)
		return 0;
	if (way != HOST_WAY_MERGE)
		return plan_fused(d, s, form, ret, f);
	all = part_of(form, s);
	own_parts(s, way, m, own);
	switch (host_merge_plan(m, &all, own, s->n, s->shapes, d->n_sms, &p, &which, &blocks)) {
	case HOST_MERGE_OK:
		*ret = p;
		break;
	case HOST_MERGE_NO_WORKER:
		r = host_fail_with(f, HOST_NO_WORKER, (int)which, p.workers, p.per_sm, 0);
		break;
	case HOST_MERGE_ORDER:
		r = host_fail(f, HOST_ORDER, (int)which, NULL);
		break;
	case HOST_MERGE_TOO_FEW:
		r = host_fail_with(f, HOST_TOO_FEW, (int)which, blocks, p.workers, 0);
		break;
	case HOST_MERGE_NO_HELP:
		r = host_fail(f, HOST_NO_HELP, (int)which, NULL);
		break;
	}
	return r;
}

static double ms_of(uint64_t ns)
{
	return (double)ns / 1e6;
}

static int run_form(struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, const struct host_merge_plan *plan, struct host_times *ret,
	struct host_fault *f)
{
	struct host_form *form = host_form_find(s, way, m);
	struct host_merge_part all = part_of(form, s), own[HOST_MAX];
	struct host_merged_stats stats = {0};
	CUresult r;

	own_parts(s, way, m, own);
	if (way == HOST_WAY_MERGE)
		r = host_merged_run(
			&d->cu, &all, own, s->n, s->shapes, m, plan, &form->device, &stats);
	else
		r = host_fused_run(&d->cu, form->fn, &form->form, s->n, s->shapes, form->params,
			&form->device, &stats);
	if (r == CUDA_ERROR_UNKNOWN)
		return host_fail(f, HOST_STALLED, (int)stats.stalled, NULL);
	HOST_TRY(f, r, "merged launch");
	ret->ms = (double)stats.ms;
	ret->launches = stats.launches;
	for (unsigned k = 0; way == HOST_WAY_MERGE && m->times && k < s->n; k++) {
		ret->of[k].began_ms = ms_of(stats.of[k].began_ns - stats.first_ns);
		ret->of[k].ms = ms_of(stats.of[k].ended_ns - stats.of[k].began_ns);
		ret->of[k].busy_ms = ms_of(stats.of[k].busy_ns);
		ret->of[k].most = stats.of[k].most;
	}
	return 0;
}

int host_run(struct host_device *d, const struct host_set *s, enum host_way way,
	const struct host_merging *m, const struct host_merge_plan *plan, bool each,
	struct host_times *ret, struct host_fault *f)
{
	*ret = (struct host_times){0};
	HOST_TRY(f, d->cu.cuCtxSynchronize(), "what was launched before");
	return way < HOST_WAY_MERGE ? run_plain(d, s, way, m, each, ret, f)
				    : run_form(d, s, way, m, plan, ret, f);
}
