/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One kernel ready on a device (corun.h). What it leaves alone stays in device memory, where later
 * runs are compared with it; only what differs is carried to the host. */
#include "cli/corun/corun.h"

#include <stdlib.h>
#include <string.h>

#define ON_HOST (64u << 10) /* bytes up to which carrying is as quick as a launch */

int corun_device_open(const struct cli *c, enum dev_kind kind, struct corun_device *d)
{
	CUdevice device;
	int n, registers, r = job_device_open(c, kind, &d->d);

	if (r != CLI_OK)
		return r;
	JOB_TRY(c, d->d.cu.cuCtxGetDevice(&device), "device");
	JOB_TRY(c,
		d->d.cu.cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
		"device");
	JOB_TRY(c,
		d->d.cu.cuDeviceGetAttribute(
			&registers, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, device),
		"device");
	d->n_sms = (uint32_t)n;
	d->registers = (uint32_t)registers;
	JOB_TRY(c, gauge_open(&d->d.cu, &d->gauge), "gauge");
	return CLI_OK;
}

int corun_kernel_read(struct cli *c, const struct spec *spec, struct corun_kernel *ret)
{
	return job_kernel_read(c, spec, 0, &ret->k);
}

static int load(struct cli *c, struct corun_device *d, struct corun_kernel *k, CUmodule *ret,
	CUfunction *fn)
{
	const struct spec *s = k->k.spec;

	return job_load(c, &d->d.cu, s->file, k->k.text, s->kernel, s->shared_bytes, ret, fn);
}

int corun_kernel_load(struct cli *c, struct corun_device *d, struct corun_kernel *k)
{
	const struct spec *s = k->k.spec;
	CUmodule module;
	int n, r = load(c, d, k, &module, &k->plain);

	if (r != CLI_OK)
		return r;
	JOB_TRY(c,
		d->d.cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, k->plain,
			(int)(s->block[0] * s->block[1] * s->block[2]), s->shared_bytes),
		s->kernel);
	k->fit = (uint32_t)n;
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

/* In a module of its own, so that the one that is run later begins as it was loaded. */
int corun_kernel_run_alone(struct cli *c, struct corun_device *d, struct corun_kernel *k)
{
	CUmodule module;
	CUfunction fn;
	CUresult failed;
	int r = load(c, d, k, &module, &fn);

	if (r == CLI_OK)
		r = job_kernel_fill(&k->k, &d->d.cu);
	if (r != CLI_OK)
		return r;
	failed = job_kernel_launch(&k->k, &d->d.cu, fn, NULL);
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
	r = corun_kernel_read(c, spec, ret);
	if (r == CLI_OK && check)
		r = corun_kernel_run_alone(c, d, ret);
	return r == CLI_OK ? corun_kernel_load(c, d, ret) : r;
}

int corun_kernel_twin(
	struct cli *c, struct corun_device *d, struct corun_kernel *first, struct corun_kernel *ret)
{
	const struct spec *s = first->k.spec;
	int r;

	*ret = (struct corun_kernel){0};
	r = job_kernel_fill(&first->k, &d->d.cu);
	if (r == CLI_OK)
		r = corun_kernel_read(c, s, ret);
	if (r != CLI_OK)
		return r;
	memcpy(ret->k.initial, first->k.initial, s->n_args * sizeof(*ret->k.initial));
	ret->want = first->want;
	return corun_kernel_load(c, d, ret);
}

void corun_kernel_close(struct corun_kernel *k)
{
	if (k->k.spec)
		job_kernel_finish(&k->k);
}

/* ---- comparing ---- */

static int copy(struct cli *c, struct corun_device *d, const struct spec_arg *a, CUdeviceptr from,
	uint8_t **ret)
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

static void tell(struct cli *c, const struct corun_kernel *k, const struct corun_difference *d,
	const uint8_t *have, const uint8_t *want)
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
	int r = copy(c, device, a, k->k.buffers[arg], &have);

	if (r == CLI_OK)
		r = copy(c, device, a, k->want[arg], &want);
	for (uint64_t e = a->count; r == CLI_OK && e-- > 0;)
		if (memcmp(have + e * width, want + e * width, width) != 0) {
			d.elements++;
			d.first = e;
		}
	if (d.elements) {
		res->differences[res->n_differences++] = d;
		tell(c, k, &d, have, want);
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
