/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Each process takes every jobs-th form, which spreads the expensive ones, and compiles a batch of
 * them as one module. If the device rejects a module, the process halves the batch until it finds
 * the form at fault. */
#include "ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	const struct ops_options *o;
	const form_vec *forms;
	struct ops_outcome *ret;
	struct ops_device d;
	struct bare bare;
	CUdeviceptr in, out; /* of one batch */
	u64 *host_in, *host_out;
};

int ops_open(enum dev_kind kind, struct ops_device *ret)
{
	struct ops_device d = {0};
	CUdevice device;
	CUcontext ctx;
	int major = 0, minor = 0;

	if (dev_open(kind, NULL, &d.cu))
		return -ENODEV;
	if (d.cu.cuInit(0) || d.cu.cuDeviceGet(&device, 0) ||
		d.cu.cuDeviceGetName(d.name, sizeof(d.name), device) ||
		d.cu.cuDeviceGetAttribute(
			&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ||
		d.cu.cuDeviceGetAttribute(
			&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) ||
		d.cu.cuDevicePrimaryCtxRetain(&ctx, device) || d.cu.cuCtxSetCurrent(ctx)) {
		dev_close(&d.cu);
		return -ENODEV;
	}
	d.kind = dev_kind_of(&d.cu);
	d.sm = (unsigned)(10 * major + minor);
	*ret = d;
	return 0;
}

void ops_module(
	struct strbuf *s, const form_vec *forms, const unsigned *which, unsigned n, unsigned sm)
{
	char name[24];

	strbuf_printf(
		s, ".version %s\n.target sm_%u\n.address_size 64\n", sm >= 100 ? "8.8" : "8.1", sm);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "k%u", which[i]);
		form_kernel(s, &forms->at[which[i]], name);
	}
}

/* ---- comparison ---- */

static bool is_nan(const struct exact_type *t, u64 v)
{
	u64 magnitude = v & exact_mask(t->bits - 1);

	return magnitude > (u64)(2 * t->f_bias + 1) << t->fbits;
}

/* The ISA specifies the bits of NaNs that f32 and narrower types produce, but not of f64 NaNs. */
static bool is_open(const struct form *f, u64 a, u64 b)
{
	unsigned bits;
	const struct exact_type *t = form_operand(f, 0, &bits);

	return t->kind == KIND_FLOAT && t->bits == 64 && is_nan(t, a) && is_nan(t, b);
}

static void compare(struct job *j, unsigned which, const u64 *got)
{
	const struct form *f = &j->forms->at[which];
	const u64 *want = (const u64 *)(uintptr_t)j->bare.out;
	const u64 *in = (const u64 *)(uintptr_t)j->bare.in;
	struct ops_outcome *o = &j->ret[which];

	for (unsigned k = 0; k < FORM_N; k++) {
		const u64 *g = &got[2 * k], *w = &want[2 * k];
		if (g[0] == w[0] && g[1] == w[1])
			continue;
		bool open = g[1] == w[1] && is_open(f, g[0], w[0]);
		if (open ? o->differ + o->open == 0 : o->differ == 0) {
			memcpy(o->in, &in[FORM_SOURCES * k], sizeof(o->in));
			memcpy(o->got, g, sizeof(o->got));
			memcpy(o->want, w, sizeof(o->want));
		}
		o->differ += !open;
		o->open += open;
	}
	o->verdict = o->differ ? OPS_DIFFERS : o->open ? OPS_OPEN : OPS_SAME;
}

/* ---- on the device ---- */

static void set_all(struct job *j, const unsigned *which, unsigned n, enum ops_verdict v)
{
	for (unsigned i = 0; i < n; i++)
		j->ret[which[i]].verdict = v;
}

static CUresult launch_all(struct job *j, CUmodule m, const unsigned *which, unsigned n)
{
	struct cu_api *cu = &j->d.cu;
	CUresult r = cu->cuMemcpyHtoD(j->in, j->host_in, n * FORM_IN * 8);

	if (r == CUDA_SUCCESS)
		r = cu->cuMemsetD32(j->out, 0, n * FORM_OUT * 2);
	for (unsigned i = 0; i < n && r == CUDA_SUCCESS; i++) {
		CUdeviceptr in = j->in + i * FORM_IN * 8, out = j->out + i * FORM_OUT * 8;
		void *params[] = {&in, &out};
		CUfunction fn;
		char name[24];

		snprintf(name, sizeof(name), "k%u", which[i]);
		r = cu->cuModuleGetFunction(&fn, m, name);
		if (r == CUDA_SUCCESS)
			r = cu->cuLaunchKernel(fn, FORM_N / FORM_THREADS, 1, 1, FORM_THREADS, 1, 1,
				0, NULL, params, NULL);
	}
	if (r == CUDA_SUCCESS)
		r = cu->cuCtxSynchronize();
	if (r == CUDA_SUCCESS)
		r = cu->cuMemcpyDtoH(j->host_out, j->out, n * FORM_OUT * 8);
	return r;
}

/* Returns false if the context can no longer be used. */
static bool run_loaded(
	struct job *j, struct vgpu_module *bare, CUmodule m, const unsigned *which, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		form_fill(&j->forms->at[which[i]], j->host_in + i * FORM_IN);
	CUresult r = launch_all(j, m, which, n);
	if (r != CUDA_SUCCESS) {
		const char *name = cu_result_name(r);
		fprintf(stderr, "%s and %u more: %s\n", j->forms->at[which[0]].insn.text, n - 1,
			name ? name : "?");
		set_all(j, which, n, OPS_FAILS);
		return false;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct form *f = &j->forms->at[which[i]];
		struct grid_result g;
		char name[24];

		snprintf(name, sizeof(name), "k%u", which[i]);
		if (j->o->plant && !strcmp(j->o->plant, f->insn.text))
			j->host_out[i * FORM_OUT + 2 * (FORM_N - 1)] ^= 1;
		if (bare_run(&j->bare, f, vgpu_module_kernel(bare, name), &g) != 0)
			j->ret[which[i]].verdict = OPS_FAILS;
		else
			compare(j, which[i], j->host_out + i * FORM_OUT);
	}
	return true;
}

static bool run_halves(struct job *j, struct vgpu_module *bare, const unsigned *which, unsigned n)
{
	struct strbuf text = {0};
	CUmodule m;
	bool usable = true;

	ops_module(&text, j->forms, which, n, j->d.sm);
	CUresult r = text.failed ? CUDA_ERROR_OUT_OF_MEMORY : j->d.cu.cuModuleLoadData(&m, text.at);
	strbuf_finish(&text);
	if (r == CUDA_SUCCESS) {
		usable = run_loaded(j, bare, m, which, n);
		if (usable)
			j->d.cu.cuModuleUnload(m);
	} else if (n == 1) {
		set_all(j, which, n, OPS_REFUSED);
	} else {
		usable = run_halves(j, bare, which, n / 2) &&
			 run_halves(j, bare, which + n / 2, n - n / 2);
	}
	return usable;
}

static bool run_batch(struct job *j, const unsigned *which, unsigned n)
{
	unsigned fit[OPS_BATCH], n_fit = 0;
	struct strbuf text = {0};
	bool usable = true;

	ops_module(&text, j->forms, which, n, 100);
	struct vgpu_module *bare = text.failed ? NULL : bare_load(&j->bare, &text);
	for (unsigned i = 0; i < n && bare; i++) {
		struct vprogram *p;
		char name[24];

		snprintf(name, sizeof(name), "k%u", which[i]);
		if (form_rows[j->forms->at[which[i]].row].target > j->d.sm)
			j->ret[which[i]].verdict = OPS_NEWER;
		else if (!bare_knows(vgpu_module_kernel(bare, name), &p))
			j->ret[which[i]].verdict = OPS_UNKNOWN;
		else
			fit[n_fit++] = which[i];
	}
	if (n_fit)
		usable = run_halves(j, bare, fit, n_fit);
	vgpu_module_free(bare);
	strbuf_finish(&text);
	return usable;
}

/* ---- child processes ---- */

static bool wanted(const struct ops_options *o, const struct form *f)
{
	return !o->match || strstr(f->insn.text, o->match);
}

static int run_job(struct job *j, unsigned number)
{
	unsigned which[OPS_BATCH], n = 0, turn = 0;
	size_t in = OPS_BATCH * FORM_IN * 8, out = OPS_BATCH * FORM_OUT * 8;

	alarm(j->o->limit_s);
	j->host_in = malloc(in);
	j->host_out = malloc(out);
	if (!j->host_in || !j->host_out || bare_open(&j->bare) != 0 ||
		ops_open(j->o->device, &j->d) != 0 || j->d.cu.cuMemAlloc(&j->in, in) ||
		j->d.cu.cuMemAlloc(&j->out, out)) {
		fprintf(stderr, "process %u has no device, or no memory\n", number);
		return 1;
	}
	for (unsigned i = 0; i < j->forms->len; i++) {
		if (!wanted(j->o, &j->forms->at[i]) || turn++ % j->o->jobs != number)
			continue;
		which[n++] = i;
		if (n == OPS_BATCH) {
			if (!run_batch(j, which, n))
				return 1;
			n = 0;
		}
	}
	return n && !run_batch(j, which, n);
}

int ops_run(const struct ops_options *o, const form_vec *forms, struct ops_outcome *ret)
{
	size_t bytes = forms->len * sizeof(*ret);
	unsigned started = 0;
	struct job j = {.o = o, .forms = forms};

	j.ret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (j.ret == MAP_FAILED)
		return -ENOMEM;
	fflush(stdout);
	while (started < o->jobs) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(run_job(&j, started));
		if (pid < 0)
			break;
		started++;
	}
	for (unsigned i = 0; i < started; i++)
		wait(NULL);
	memcpy(ret, j.ret, bytes);
	munmap(j.ret, bytes);
	return started == o->jobs ? 0 : -EAGAIN;
}
