/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs one kernel specification on one device, plain or in its preemptible form. */
#include "job/job.h"

#include "base/measure.h"
#include "job/job_kernel.h"
#include "job/recording.h"
#include "pass/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct cli *c;
	const struct spec *spec;
	const struct job_options *o;
	struct job_kernel k;
	struct pass_kernel_info info;
	struct pass_verdict verdict;
	bool managed; /* the kernel was rewritten, in the managed or in the guard form */
	struct strbuf image;
	ptx_lines lines; /* the line of the original PTX for each line of image */
	struct host_device device;
	CUfunction fn, closer;
	CUdeviceptr control;
	uint32_t gen;
};

static int rewrite_kernel(struct job *j)
{
	const struct pass_kernel kernel = {.m = j->k.src.module, .name = j->k.entry};
	const struct pass_request rq = {.kernels = &kernel,
		.n = 1,
		.in = j->k.src.module,
		.options = {.order = j->o->order}};
	struct pass_form form;
	int r = pass_run(pass_find("preempt"), &rq, j->k.src.diags, &form);

	j->verdict = form.verdict;
	j->info = form.info;
	if (r == 0 && j->info.one_dimensional &&
		(j->spec->shape.block[1] > 1 || j->spec->shape.block[2] > 1)) {
		/* Drop the rewritten module, and load the original text. */
		j->verdict = (struct pass_verdict){PASS_HELD,
			"its rewritten form holds for blocks of one dimension only", 0, 0};
	} else if (r == 0) {
		j->managed = true;
	} else if (r != -ENOTSUP) {
		cli_show_diags(j->k.src.diags);
		return cli_error(j->c, "this is a bug in heddle: please report it with the file",
			"%s: kernel '%s' could not be rewritten", j->spec->file, j->spec->kernel);
	}
	return CLI_OK;
}

static int prepare_module(struct job *j)
{
	/* job_kernel_read checks the kernel's parameters. So call it before the rewriting adds
	 * heddle's own parameters to them. */
	int r = job_kernel_read(j->c, j->spec, sizeof(struct ctl_args) + 16, &j->k);

	if (r == CLI_OK && j->o->preempt)
		r = rewrite_kernel(j);
	if (r == CLI_OK && j->o->steering.first && !j->managed)
		r = cli_error(j->c, j->verdict.reason,
			"kernel '%s' has no preemptible form: it cannot begin at block %" PRIu64,
			j->spec->kernel, j->o->steering.first);
	if (r != CLI_OK)
		return r;
	if (j->managed)
		ptx_print_lines(j->k.src.module, &j->image, &j->lines);
	else
		strbuf_add(&j->image, j->k.src.text, j->k.src.len);
	return j->image.failed ? job_out_of_memory(j->c) : CLI_OK;
}

static int load_job(struct job *j)
{
	const struct cu_api *cu = &j->device.cu;
	CUmodule module, closer;
	int r;

	if (j->managed)
		dev_tell_lines(cu, j->image.at, j->image.len, j->lines.at, j->lines.len);
	j->k.by_workers = j->managed && j->info.tier != PASS_GUARD;
	r = job_kernel_load(&j->k, &j->device, j->image.at, &module, &j->fn);
	if (r != CLI_OK)
		return r;
	if (j->managed)
		JOB_TRY(j->c, host_control_create(cu, &j->control), "control block");
	if (j->managed && j->info.tier == PASS_GUARD) {
		JOB_TRY(j->c, cu->cuModuleLoadData(&closer, pass_closer_ptx()), "closing kernel");
		JOB_TRY(j->c, cu->cuModuleGetFunction(&j->closer, closer, CTL_CLOSER),
			"closing kernel");
	}
	return CLI_OK;
}

static int launch_timed(struct job *j, struct job_result *res, double *ret_ms)
{
	const struct cu_api *cu = &j->device.cu;
	CUevent start, stop;
	float ms;
	CUresult r;

	JOB_TRY(j->c, cu->cuEventCreate(&start, 0), "event");
	JOB_TRY(j->c, cu->cuEventCreate(&stop, 0), "event");
	JOB_TRY(j->c, cu->cuEventRecord(start, NULL), "event");
	r = j->managed ? host_managed_run(cu, j->fn, j->closer, &j->info, &j->spec->shape,
				 j->k.params, &j->o->steering, j->control, &j->gen, &res->stats)
		       : host_launch(cu, j->fn, &j->spec->shape, j->k.params, j->k.own_bytes, NULL);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(stop, NULL);
	if (r == CUDA_SUCCESS)
		r = cu->cuCtxSynchronize();
	if (r != CUDA_SUCCESS)
		return job_cu_failed(j->c, r, j->spec->kernel);
	JOB_TRY(j->c, cu->cuEventElapsedTime(&ms, start, stop), "event");
	*ret_ms = (double)ms;
	cu->cuEventDestroy(start);
	cu->cuEventDestroy(stop);
	return CLI_OK;
}

static int run_all(struct job *j, struct job_result *res)
{
	unsigned n = MAX(j->o->repeat, 1u);
	double *ms;
	int r = prepare_module(j);

	if (r != CLI_OK)
		return r;
	ms = ARENA_ARRAY(&j->k.arena, double, n);
	if (!ms)
		return job_out_of_memory(j->c);
	r = job_device_open(j->c, j->o->device, &j->device);
	if (r == CLI_OK)
		r = load_job(j);
	for (unsigned i = 0; r == CLI_OK && i < n; i++) {
		r = job_kernel_fill(&j->k, &j->device.cu);
		if (r == CLI_OK)
			r = launch_timed(j, res, &ms[i]);
	}
	if (r == CLI_OK && j->o->check)
		r = recording_compare(&j->k, &j->device.cu, &res->same);
	if (r == CLI_OK)
		r = job_kernel_write(&j->k, &j->device.cu);
	if (r == CLI_OK) {
		sort_values(ms, n);
		res->ms = ms[n / 2];
		res->tier = j->managed ? j->info.tier : PASS_HELD;
		res->order = j->managed ? (enum pass_order)j->info.order : PASS_ORDER_ROW;
		memcpy(res->device_name, j->device.name, sizeof(res->device_name));
	}
	return r;
}

int job_run(
	struct cli *c, const struct spec *spec, const struct job_options *o, struct job_result *ret)
{
	struct job j = {.c = c, .spec = spec, .o = o};
	struct job_result res = {.same = true, .ms = -1};
	int r = run_all(&j, &res);

	if (r == CLI_OK) {
		res.reason = j.verdict.reason ? arena_strndup(spec->arena, j.verdict.reason,
							strlen(j.verdict.reason))
					      : NULL;
		*ret = res;
	}
	strbuf_finish(&j.image);
	VEC_FREE(&j.lines);
	job_kernel_finish(&j.k);
	return r;
}
