/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels together on one device. The program owns the device for as long as it runs; every run
 * starts from the same buffers. A module's variables are as loaded for the first run only. */
#include "cli/corun.h"

#include "cli/corun_merge.h"

#include <stdlib.h>
#include <string.h>

struct corun {
	struct cli *c;
	struct arena *arena;
	const struct spec *specs;
	unsigned n;
	const struct corun_options *o;
	struct corun_result *res;
	struct job_device device;
	struct job_kernel of[CORUN_MAX];
	CUfunction plain[CORUN_MAX];
	uint8_t *
		*want[CORUN_MAX]; /* for each argument what the plain kernel leaves; NULL: scalar */
	CUstream main, streams[CORUN_MAX];
	CUevent began, ended, kernel_began[CORUN_MAX], kernel_ended[CORUN_MAX];
	struct corun_merge merge;
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
		x->res->differences[x->res->n_differences++] = d;
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
	x->res->differences = ARENA_ARRAY(x->arena, struct corun_difference, buffers + 1);
	return r == CLI_OK && !x->res->differences ? job_out_of_memory(x->c) : r;
}

/* ---- runs ---- */

/* Each kernel in its stream, which waits for the main one and is waited for by it. */
static CUresult launch_all(struct corun *x)
{
	const struct cu_api *cu = &x->device.cu;
	CUresult r = cu->cuEventRecord(x->began, x->main);

	for (unsigned i = 0; r == CUDA_SUCCESS && i < x->n; i++) {
		CUstream s = x->streams[i];

		if (s != x->main)
			r = cu->cuStreamWaitEvent(s, x->began, 0);
		if (r == CUDA_SUCCESS)
			r = cu->cuEventRecord(x->kernel_began[i], s);
		if (r == CUDA_SUCCESS)
			r = job_kernel_launch(&x->of[i], cu, x->plain[i], s);
		if (r == CUDA_SUCCESS)
			r = cu->cuEventRecord(x->kernel_ended[i], s);
	}
	for (unsigned i = 0; r == CUDA_SUCCESS && i < x->n; i++)
		if (x->streams[i] != x->main)
			r = cu->cuStreamWaitEvent(x->main, x->kernel_ended[i], 0);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(x->ended, x->main);
	return r == CUDA_SUCCESS ? cu->cuCtxSynchronize() : r;
}

static int run_plain(struct corun *x, struct corun_times *ret)
{
	const struct cu_api *cu = &x->device.cu;
	float ms, began;

	JOB_TRY(x->c, launch_all(x), x->n == 1 ? x->specs[0].kernel : "the kernels together");
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

	JOB_TRY(x->c, cu->cuStreamCreate(&x->main, CU_STREAM_NON_BLOCKING), "stream");
	JOB_TRY(x->c, cu->cuEventCreate(&x->began, 0), "event");
	JOB_TRY(x->c, cu->cuEventCreate(&x->ended, 0), "event");
	for (unsigned i = 0; i < x->n; i++) {
		x->streams[i] = x->main;
		if (x->o->how == CORUN_STREAMS)
			JOB_TRY(x->c, cu->cuStreamCreate(&x->streams[i], CU_STREAM_NON_BLOCKING),
				"stream");
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

static bool is_one_launch(const struct corun_options *o)
{
	return o->how >= CORUN_MERGE;
}

static int run_once(struct corun *x, struct corun_times *ret)
{
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_fill(&x->of[i], &x->device.cu);
	if (r == CLI_OK)
		r = is_one_launch(x->o) ? corun_merge_run(&x->merge, ret) : run_plain(x, ret);
	return r == CLI_OK && x->o->check ? compare(x) : r;
}

static int run_all(struct corun *x)
{
	unsigned n = 0;
	struct corun_times *times = ARENA_ARRAY(x->arena, struct corun_times, x->o->repeat);
	int r = times ? CLI_OK : job_out_of_memory(x->c);

	while (r == CLI_OK && n < x->o->repeat && !x->res->n_differences)
		r = run_once(x, &times[n++]);
	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_write(&x->of[i], &x->device.cu);
	if (r != CLI_OK)
		return r;
	qsort(times, n, sizeof(*times), by_time);
	x->res->times = times[n / 2];
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
	x->res->n_sms = (uint32_t)n;
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
		x->res->fit[i] = (uint32_t)n;
	}
	return r;
}

static int prepare(struct corun *x)
{
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < x->n; i++)
		r = job_kernel_read(x->c, &x->specs[i], 0, &x->of[i]);
	if (r == CLI_OK)
		r = job_device_open(x->c, x->o->device, &x->device);
	if (r == CLI_OK && x->o->check)
		r = prepare_check(x);
	if (r == CLI_OK)
		r = load_all(x);
	if (r == CLI_OK && !is_one_launch(x->o))
		return prepare_plain(x);
	x->merge = (struct corun_merge){.c = x->c,
		.arena = x->arena,
		.cu = &x->device.cu,
		.of = x->of,
		.n = x->n,
		.way = x->o->how,
		.how = &x->o->merging};
	if (r == CLI_OK)
		r = corun_merge_prepare(&x->merge, x->res->fit, x->res->n_sms);
	if (r == CLI_OK)
		x->res->plan = x->merge.plan;
	return r;
}

int corun_run(struct cli *c, struct arena *arena, const struct spec *specs, unsigned n,
	const struct corun_options *o, struct corun_result *ret)
{
	struct corun_result res = {0};
	struct corun x = {.c = c, .arena = arena, .specs = specs, .n = n, .o = o, .res = &res};
	int r = prepare(&x);

	if (r == CLI_OK)
		r = run_all(&x);
	if (r == CLI_OK) {
		memcpy(res.device_name, x.device.name, sizeof(res.device_name));
		*ret = res;
	}
	for (unsigned i = 0; i < n; i++) {
		for (unsigned a = 0; x.want[i] && a < specs[i].n_args; a++)
			free(x.want[i][a]);
		job_kernel_finish(&x.of[i]);
	}
	return r;
}
