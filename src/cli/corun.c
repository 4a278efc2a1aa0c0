/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels together on one device. The program owns the device for as long as it runs; every run
 * starts from the same buffers. A module's variables are as loaded for the first run only. */
#include "cli/corun.h"

#include "cli/corun_merge.h"
#include "cli/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct corun {
	struct cli *c;
	struct arena *arena;
	const struct spec *specs;
	unsigned n;
	bool check;
	struct corun_result res;
	struct job_device device;
	struct job_kernel of[CORUN_MAX];
	CUfunction plain[CORUN_MAX];
	uint8_t *
		*want[CORUN_MAX]; /* for each argument what the plain kernel leaves; NULL: scalar */
	CUstream main, streams[CORUN_MAX];
	CUevent began, ended, kernel_began[CORUN_MAX], kernel_ended[CORUN_MAX];
	bool plain_ready;
	struct corun_merge one[CORUN_HOWS]; /* those that are one launch */
	bool ready[CORUN_HOWS];
	struct model_kernel kernels[CORUN_MAX];
	char driver[32];
};

static int load_plain(struct corun *x, unsigned i, CUmodule *ret_module)
{
	const struct spec *s = &x->specs[i];

	return job_load(x->c, &x->device.cu, s->file, x->of[i].text, s->kernel, s->shared_bytes,
		ret_module, &x->plain[i]);
}

/* ---- what the plain kernels leave ---- */

static int copy_back(struct corun *x, unsigned i, unsigned arg, uint8_t **ret)
{
	const struct spec_arg *a = &x->specs[i].args[arg];
	uint8_t *host = malloc(a->bytes);

	if (!host)
		return job_out_of_memory(x->c);
	if (x->device.cu.cuMemcpyDtoH(host, x->of[i].buffers[arg], a->bytes) != CUDA_SUCCESS) {
		free(host);
		return cli_error(x->c, NULL, "argument '%s' could not be copied back", a->text);
	}
	*ret = host;
	return CLI_OK;
}

/* In a module of its own, so that the one that is run later begins as it was loaded. */
static int run_alone(struct corun *x, unsigned i)
{
	const struct cu_api *cu = &x->device.cu;
	CUmodule module;
	CUresult failed;
	int r = load_plain(x, i, &module);

	if (r == CLI_OK)
		r = job_kernel_fill(&x->of[i], cu);
	if (r != CLI_OK)
		return r;
	failed = job_kernel_launch(&x->of[i], cu, x->plain[i], NULL);
	if (failed == CUDA_SUCCESS)
		failed = cu->cuCtxSynchronize();
	if (failed != CUDA_SUCCESS)
		return job_cu_failed(x->c, failed, x->specs[i].kernel);
	x->want[i] = ARENA_ARRAY(x->arena, uint8_t *, x->specs[i].n_args + 1);
	if (!x->want[i])
		return job_out_of_memory(x->c);
	for (unsigned a = 0; r == CLI_OK && a < x->specs[i].n_args; a++)
		if (x->specs[i].args[a].is_buffer)
			r = copy_back(x, i, a, &x->want[i][a]);
	if (r == CLI_OK)
		JOB_TRY(x->c, cu->cuModuleUnload(module), "module");
	return r;
}

static int compare_buffer(struct corun *x, unsigned i, unsigned arg)
{
	const struct spec_arg *a = &x->specs[i].args[arg];
	const uint8_t *want = x->want[i][arg];
	size_t width = a->bytes / a->count;
	struct corun_difference d = {.kernel = i, .arg = arg};
	struct strbuf is = {0}, should = {0};
	uint8_t *have = NULL;
	int r = copy_back(x, i, arg, &have);

	if (r != CLI_OK)
		return r;
	for (uint64_t e = a->count; e-- > 0;)
		if (memcmp(have + e * width, want + e * width, width) != 0) {
			d.elements++;
			d.first = e;
		}
	if (d.elements) {
		spec_print_element(a, have, d.first, &is);
		spec_print_element(a, want, d.first, &should);
		x->res.differences[x->res.n_differences++] = d;
		cli_error(x->c, NULL,
			"kernel %u, '%s', argument %u, '%s': %llu of %llu elements are not what "
			"the kernel leaves alone; the first is number %llu: %s, not %s",
			i + 1, x->specs[i].kernel, arg + 1, a->text, (unsigned long long)d.elements,
			(unsigned long long)a->count, (unsigned long long)d.first, is.at,
			should.at);
	}
	strbuf_finish(&is);
	strbuf_finish(&should);
	free(have);
	return CLI_OK;
}

static int compare(struct corun *x)
{
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		for (unsigned a = 0; r == CLI_OK && a < x->specs[i].n_args; a++)
			if (x->want[i][a])
				r = compare_buffer(x, i, a);
	return r;
}

static int prepare_check(struct corun *x)
{
	unsigned buffers = 0;
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < x->n; i++) {
		buffers += x->specs[i].n_args;
		r = run_alone(x, i);
	}
	x->res.differences = ARENA_ARRAY(x->arena, struct corun_difference, buffers + 1);
	return r == CLI_OK && !x->res.differences ? job_out_of_memory(x->c) : r;
}

/* ---- runs ---- */

/* Each kernel in its stream, which waits for the main one and is waited for by it. */
static CUresult launch_all(struct corun *x, bool apart)
{
	const struct cu_api *cu = &x->device.cu;
	CUresult r = cu->cuEventRecord(x->began, x->main);

	for (unsigned i = 0; r == CUDA_SUCCESS && i < x->n; i++) {
		CUstream s = apart ? x->streams[i] : x->main;

		if (s != x->main)
			r = cu->cuStreamWaitEvent(s, x->began, 0);
		if (r == CUDA_SUCCESS)
			r = cu->cuEventRecord(x->kernel_began[i], s);
		if (r == CUDA_SUCCESS)
			r = job_kernel_launch(&x->of[i], cu, x->plain[i], s);
		if (r == CUDA_SUCCESS)
			r = cu->cuEventRecord(x->kernel_ended[i], s);
	}
	for (unsigned i = 0; r == CUDA_SUCCESS && i < x->n && apart; i++)
		if (x->streams[i] != x->main)
			r = cu->cuStreamWaitEvent(x->main, x->kernel_ended[i], 0);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(x->ended, x->main);
	return r == CUDA_SUCCESS ? cu->cuCtxSynchronize() : r;
}

static int run_plain(struct corun *x, bool apart, struct corun_times *ret)
{
	const struct cu_api *cu = &x->device.cu;
	float ms, began;

	JOB_TRY(x->c, launch_all(x, apart),
		x->n == 1 ? x->specs[0].kernel : "the kernels together");
	JOB_TRY(x->c, cu->cuEventElapsedTime(&ms, x->began, x->ended), "event");
	ret->ms = (double)ms;
	for (unsigned i = 0; i < x->n; i++) {
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
	const struct cu_api *cu = &x->device.cu;

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

static int by_time(const void *a, const void *b)
{
	double x = ((const struct corun_times *)a)->ms, y = ((const struct corun_times *)b)->ms;

	return (x > y) - (x < y);
}

static bool is_one_launch(enum corun_how how)
{
	return how >= CORUN_MERGE;
}

int corun_once(struct corun *x, enum corun_how how, const struct dev_merging *m,
	const struct dev_merge_plan *plan, bool compares, struct corun_times *ret, bool *ret_same)
{
	int r = CLI_OK;

	x->res.n_differences = 0;
	*ret = (struct corun_times){0};
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_fill(&x->of[i], &x->device.cu);
	if (r == CLI_OK)
		r = is_one_launch(how) ? corun_merge_run(&x->one[how], m, plan, ret)
				       : run_plain(x, how == CORUN_STREAMS, ret);
	if (r == CLI_OK && compares)
		r = compare(x);
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
		r = corun_once(x, o->how, &o->merging, &x->res.plan, x->check, &times[n++], &same);
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_write(&x->of[i], &x->device.cu);
	if (r != CLI_OK)
		return r;
	qsort(times, n, sizeof(*times), by_time);
	x->res.times = times[n / 2];
	return CLI_OK;
}

/* ---- the device ---- */

static int load_all(struct corun *x)
{
	const struct cu_api *cu = &x->device.cu;
	CUdevice device;
	int r = CLI_OK, n;

	JOB_TRY(x->c, cu->cuCtxGetDevice(&device), "device");
	JOB_TRY(x->c,
		cu->cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
		"device");
	x->res.n_sms = (uint32_t)n;
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++) {
		const struct spec *s = &x->specs[i];
		CUmodule module;

		r = load_plain(x, i, &module);
		if (r != CLI_OK)
			break;
		JOB_TRY(x->c,
			cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, x->plain[i],
				(int)(s->block[0] * s->block[1] * s->block[2]), s->shared_bytes),
			s->kernel);
		x->res.fit[i] = (uint32_t)n;
	}
	return r;
}

int corun_open(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	enum dev_kind device, bool check, struct corun **ret)
{
	struct corun *x = ARENA_NEW(arena, struct corun);
	int r = x ? CLI_OK : cli_error(c, NULL, "out of memory");

	*ret = x;
	if (!x)
		return r;
	x->c = c;
	x->arena = arena;
	x->specs = specs;
	x->n = n;
	x->check = check;
	for (unsigned i = 0; r == CLI_OK && i < n; i++)
		r = job_kernel_read(c, &specs[i], 0, &x->of[i]);
	if (r == CLI_OK)
		r = job_device_open(c, device, &x->device);
	if (r == CLI_OK && check)
		r = prepare_check(x);
	if (r == CLI_OK)
		r = load_all(x);
	memcpy(x->res.device_name, x->device.name, sizeof(x->res.device_name));
	return r;
}

void corun_close(struct corun *x)
{
	for (unsigned i = 0; x && i < x->n; i++) {
		for (unsigned a = 0; x->want[i] && a < x->specs[i].n_args; a++)
			free(x->want[i][a]);
		job_kernel_finish(&x->of[i]);
	}
}

const struct corun_result *corun_seen(const struct corun *x)
{
	return &x->res;
}

int corun_prepare(struct corun *x, enum corun_how how, struct strbuf *why)
{
	int r;

	if (!is_one_launch(how))
		return prepare_plain(x);
	if (x->ready[how])
		return CLI_OK;
	x->one[how] = (struct corun_merge){.c = x->c,
		.arena = x->arena,
		.cu = &x->device.cu,
		.of = x->of,
		.n = x->n,
		.way = how,
		.fit = x->res.fit,
		.n_sms = x->res.n_sms,
		.why = why};
	r = corun_merge_prepare(&x->one[how]);
	x->one[how].why = NULL;
	x->ready[how] = r == CLI_OK;
	return r;
}

int corun_plan(struct corun *x, enum corun_how how, const struct dev_merging *m, struct strbuf *why,
	struct dev_merge_plan *ret)
{
	int r;

	if (!is_one_launch(how))
		return CLI_OK;
	x->one[how].why = why;
	r = corun_merge_plan(&x->one[how], m, ret);
	x->one[how].why = NULL;
	return r;
}

/* ---- what they are ---- */

/* Of the kernel alone: the rest of its file may change. */
static int digest(struct corun *x, unsigned i, uint8_t ret[32])
{
	struct ptx_module *m;
	struct strbuf text = {0};
	int r = ptx_extract(x->of[i].module, x->specs[i].kernel, true, &m);

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

	JOB_TRY(x->c, x->device.cu.cuDriverGetVersion(&version), "driver");
	snprintf(x->driver, sizeof(x->driver), "%d", version);
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++) {
		struct model_kernel *k = &x->kernels[i];

		memcpy(k->grid, x->specs[i].grid, sizeof(k->grid));
		memcpy(k->block, x->specs[i].block, sizeof(k->block));
		k->shared_bytes = x->specs[i].shared_bytes;
		r = digest(x, i, k->digest);
	}
	*ret = (struct model_together){
		.device = x->device.name, .driver = x->driver, .kernels = x->kernels, .n = x->n};
	return r;
}

static int look_up(struct corun *x, struct corun_options *o)
{
	const char *hint = "heddle tune measures every way, and keeps the best";
	struct model_together what;
	struct model_store *store;
	struct model_way best;
	int r = corun_identify(x, &what), err;

	if (r != CLI_OK)
		return r;
	err = model_store_open(o->store, false, &store);
	if (err == 0) {
		err = model_ways_chosen(store, &what, &best);
		model_store_close(store);
	}
	if (err < 0)
		return cli_error(x->c, err == -ENOENT ? hint : NULL, "%s", model_store_why());
	if (!schedule_parse(best.name, x->n, &o->how, &o->merging))
		return cli_error(x->c, hint, "a way that is not known was kept: '%s'", best.name);
	o->merging.times = true;
	return CLI_OK;
}

int corun_run(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	struct corun_options *o, struct corun_result *ret)
{
	struct corun *x;
	int r = corun_open(c, arena, specs, n, o->device, o->check, &x);

	if (r == CLI_OK && o->tuned)
		r = look_up(x, o);
	if (r == CLI_OK)
		r = corun_prepare(x, o->how, NULL);
	if (r == CLI_OK)
		r = corun_plan(x, o->how, &o->merging, NULL, &x->res.plan);
	if (r == CLI_OK)
		r = run_all(x, o);
	if (r == CLI_OK)
		*ret = x->res;
	corun_close(x);
	return r;
}
