/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prepares one kernel on a device (run_specs.h), and runs it once alone. The buffer contents after
 * that run are the expected result, and stay in device memory. After later runs, buffers of more
 * than 64 KiB are compared with the expected result on the device, and copied to the host only if
 * they differ. Smaller buffers are copied to the host and compared on the host. */
#include "job/run_specs.h"

#include <stdlib.h>
#include <string.h>

/* Up to this size, copying a buffer to the host takes no longer than a launch. */
#define ON_HOST (64u << 10)

int corun_device_open(const struct cli *c, enum dev_kind kind, struct corun_device *d)
{
	int r = job_device_open(c, kind, &d->d);

	if (r == CLI_OK)
		JOB_TRY(c, gauge_open(&d->d.cu, &d->gauge), "gauge");
	return r;
}

static int load_kernel(struct cli *c, struct corun_device *d, struct corun_kernel *k)
{
	const struct spec *s = k->k.spec;
	struct host_fault f;
	int r;

	k->host = (struct host_kernel){.name = s->kernel,
		.entry = k->k.entry,
		.file = s->file,
		.arena = &k->k.arena,
		.bytes = k->k.own_bytes};
	r = job_kernel_load(&k->k, &d->d, k->k.src.text, &k->host.module, &k->host.fn);
	if (r != CLI_OK)
		return r;
	if (host_kernel_open(&d->d, k->k.src.module, &k->host, &f) < 0 ||
		host_kernel_fit(&d->d, &k->host, &s->shape, &k->fit, &f) < 0)
		return job_host_failed(c, &f);
	return CLI_OK;
}

static int keep_wanted(struct cli *c, struct corun_device *d, struct corun_kernel *k)
{
	const struct spec *s = k->k.spec;

	k->want = ARENA_ARRAY(&k->k.arena, CUdeviceptr, s->n_args + 1);
	if (!k->want)
		return job_out_of_memory(c);
	for (unsigned a = 0; a < s->n_args; a++) {
		if (!s->args[a].is_buffer)
			continue;
		JOB_TRY(c, d->d.cu.cuMemAlloc(&k->want[a], s->args[a].bytes), s->args[a].text);
		JOB_TRY(c, d->d.cu.cuMemcpyDtoD(k->want[a], k->k.buffers[a], s->args[a].bytes),
			s->args[a].text);
	}
	return CLI_OK;
}

/* Runs the kernel alone, in a separate module. The variables of the module that later runs use
 * therefore keep their initial values. */
static int run_alone(struct cli *c, struct corun_device *d, struct corun_kernel *k)
{
	CUmodule module;
	CUfunction fn;
	CUresult failed;
	int r = job_kernel_load(&k->k, &d->d, k->k.src.text, &module, &fn);

	if (r == CLI_OK)
		r = job_kernel_fill(&k->k, &d->d.cu);
	if (r != CLI_OK)
		return r;
	failed = host_launch(&d->d.cu, fn, &k->k.spec->shape, k->k.params, k->k.own_bytes, NULL);
	if (failed == CUDA_SUCCESS)
		failed = d->d.cu.cuCtxSynchronize();
	if (failed != CUDA_SUCCESS)
		return job_cu_failed(c, failed, k->k.spec->kernel);
	r = keep_wanted(c, d, k);
	if (r == CLI_OK)
		JOB_TRY(c, d->d.cu.cuModuleUnload(module), "module");
	return r;
}

int corun_kernel_open(struct cli *c, struct corun_device *d, const struct spec *spec, bool check,
	struct corun_kernel *ret)
{
	int r;

	*ret = (struct corun_kernel){0};
	r = job_kernel_read(c, spec, 0, &ret->k);
	if (r == CLI_OK && check)
		r = run_alone(c, d, ret);
	return r == CLI_OK ? load_kernel(c, d, ret) : r;
}

int corun_kernel_twin(
	struct cli *c, struct corun_device *d, struct corun_kernel *first, struct corun_kernel *ret)
{
	const struct spec *s = first->k.spec;
	int r;

	*ret = (struct corun_kernel){0};
	r = job_kernel_fill(&first->k, &d->d.cu);
	if (r == CLI_OK)
		r = job_kernel_read(c, s, 0, &ret->k);
	if (r != CLI_OK)
		return r;
	memcpy(ret->k.initial, first->k.initial, s->n_args * sizeof(*ret->k.initial));
	ret->want = first->want;
	return load_kernel(c, d, ret);
}

void corun_kernel_close(struct corun_kernel *k)
{
	if (!k->k.spec)
		return;
	host_kernel_close(&k->host);
	job_kernel_finish(&k->k);
}

/* ---- comparing results ---- */

static int copy_buffer(struct cli *c, struct corun_device *d, const struct spec_arg *a,
	CUdeviceptr from, uint8_t **ret)
{
	uint8_t *host = malloc(a->bytes);

	if (!host)
		return job_out_of_memory(c);
	if (d->d.cu.cuMemcpyDtoH(host, from, a->bytes) != CUDA_SUCCESS) {
		free(host);
		return cli_error(c, NULL, "argument '%s' could not be copied back", a->text);
	}
	*ret = host;
	return CLI_OK;
}

static void report_difference(struct cli *c, const struct corun_kernel *k,
	const struct corun_difference *d, const uint8_t *have, const uint8_t *want)
{
	const struct spec_arg *a = &k->k.spec->args[d->arg];
	struct strbuf is = {0}, should = {0};

	spec_print_element(a, have, d->first, &is);
	spec_print_element(a, want, d->first, &should);
	cli_error(c, NULL,
		"kernel %u, '%s', argument %u, '%s': %llu of %llu elements are not what "
		"the kernel leaves alone; the first is number %llu: %s, not %s",
		d->kernel + 1, k->k.spec->kernel, d->arg + 1, a->text,
		(unsigned long long)d->elements, (unsigned long long)a->count,
		(unsigned long long)d->first, is.at, should.at);
	strbuf_finish(&is);
	strbuf_finish(&should);
}

static int compare_on_host(struct cli *c, struct corun_device *device, struct corun_kernel *k,
	unsigned number, unsigned arg, struct corun_result *res)
{
	const struct spec_arg *a = &k->k.spec->args[arg];
	size_t width = a->bytes / a->count;
	struct corun_difference d = {.kernel = number, .arg = arg};
	uint8_t *have = NULL, *want = NULL;
	int r = copy_buffer(c, device, a, k->k.buffers[arg], &have);

	if (r == CLI_OK)
		r = copy_buffer(c, device, a, k->want[arg], &want);
	for (uint64_t e = a->count; r == CLI_OK && e-- > 0;)
		if (memcmp(have + e * width, want + e * width, width) != 0) {
			d.elements++;
			d.first = e;
		}
	if (d.elements) {
		res->differences[res->n_differences++] = d;
		report_difference(c, k, &d, have, want);
	}
	free(want);
	free(have);
	return r;
}

int corun_kernel_compare(struct cli *c, struct corun_device *d, struct corun_kernel *k,
	unsigned number, struct corun_result *res)
{
	int r = CLI_OK;

	for (unsigned a = 0; k->want && r == CLI_OK && a < k->k.spec->n_args; a++) {
		uint64_t bytes = k->k.spec->args[a].bytes;
		bool same = false;

		if (!k->want[a])
			continue;
		if (bytes > ON_HOST)
			JOB_TRY(c,
				gauge_same(&d->d.cu, &d->gauge, k->k.buffers[a], k->want[a], bytes,
					&same),
				"comparing");
		if (!same)
			r = compare_on_host(c, d, k, number, a, res);
	}
	return r;
}
