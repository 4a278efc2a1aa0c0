/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares the orders in which workers can claim the blocks of a grid (PASS_ORDER_* in pass.h). The
 * kernels have two-dimensional grids, and each runs alone on the device. All forms of a kernel use
 * the same buffers. Each form first runs once, and its results must equal the plain kernel's bit
 * for bit. Then the forms run alternately, and the table shows their median times. */
#include "front/progress.h"
#include "job/job_kernel.h"
#include "job/kernelspec.h"
#include "lab/bench.h"
#include "lab/form_file.h"
#include "pass/registry.h"
#include "stage/figures.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 1000

/* Kernels and their sizes. The large size is for GPUs: its input exceeds an L2 cache. The small
 * size is for the virtual GPU. */
static const struct orders_row {
	const char *name, *small_name, *kernel, *large, *small;
} rows[] = {
	{"mm 4096", "mm 192", "mm",
		"--grid 64,64 --block 256 f32[16777216]:rand(1) f32[16777216]:rand(2) "
		"f32[16777216]:zero u32:4096 u32:1",
		"--grid 3,3 --block 256 f32[36864]:rand(1) f32[36864]:rand(2) f32[36864]:zero "
		"u32:192 u32:1"},
	{"mm 8192", "mm 256", "mm",
		"--grid 128,128 --block 256 f32[67108864]:rand(1) f32[67108864]:rand(2) "
		"f32[67108864]:zero u32:8192 u32:1",
		"--grid 4,4 --block 256 f32[65536]:rand(1) f32[65536]:rand(2) f32[65536]:zero "
		"u32:256 u32:1"},
	{"transpose", "transpose", "transpose",
		"--grid 256,256,4 --block 32,8 f32[67108864]:rand(3) f32[67108864]:zero u32:8192 "
		"u32:8192",
		"--grid 17,33 --block 32,8 f32[574464]:rand(3) f32[574464]:zero u32:544 u32:1056"},
	{"nn", "nn", "nn",
		"--grid 16384,64 --block 256 f32[16777216]:rand(4) f32[16777216]:rand(5) "
		"f32[64]:rand(6) f32[64]:rand(7) f32[8388608]:zero u32:16777216 u32:1",
		"--grid 16,20 --block 256 f32[16384]:rand(4) f32[16384]:rand(5) f32[20]:rand(6) "
		"f32[20]:rand(7) f32[2560]:zero u32:16384 u32:1"},
	{"pf", "pf", "pf",
		"--grid 20165,16 --block 256 u8[100663296]:rand(8) i32[4194304]:rand(9) "
		"i32[67108864]:zero u32:4194304 u32:24 u32:24 u32:1",
		"--grid 5,16 --block 256 u8[24000]:rand(8) i32[1000]:rand(9) i32[16000]:zero "
		"u32:1000 u32:24 u32:24 u32:1"},
};

enum { PLAIN, ROW, COLUMN, HILBERT, FORMS };
static const struct {
	const char *name, *key;
	enum pass_order order;
} forms[FORMS] = {
	[PLAIN] = {"plain", "plain_ms", PASS_ORDER_ROW},
	[ROW] = {"row", "row_ms", PASS_ORDER_ROW},
	[COLUMN] = {"column", "column_ms", PASS_ORDER_COLUMN},
	[HILBERT] = {"hilbert", "hilbert_ms", PASS_ORDER_HILBERT},
};

struct orders_form {
	struct job_kernel k; /* its buffers are those of the first form */
	struct pass_kernel_info info;
	CUmodule module;
	CUfunction fn;
	CUdeviceptr control; /* control block; 0 for the plain form */
	uint32_t gen;
	double ms[ROUNDS_MAX];
};

struct orders {
	struct bench *b;
	const struct orders_row *row;
	struct host_device device;
	struct arena arena; /* memory for one row */
	struct spec spec;
	struct orders_form of[FORMS];
	void *want, *got; /* contents of a buffer; both are as large as the largest buffer */
	bool same;
};

unsigned bench_orders_steps(const struct bench *b)
{
	(void)b;
	return ARRAY_LEN(rows);
}

/* Returns the row's name, which tells the size that runs on this device. */
static const char *orders_name(const struct orders *o)
{
	return o->b->device == DEV_CPU ? o->row->small_name : o->row->name;
}

static int spec_read(struct orders *o)
{
	const char *kernel = o->row->kernel;
	char *words[32], *save = NULL, *text, *found;
	int n = 2;

	if (form_file_find(kernel, &found))
		return cli_error(o->b->c, "a build has them where nvcc or clang 14 is there",
			"no %s.ptx among the kernels of this installation", kernel);
	words[0] = arena_strndup(&o->arena, found, strlen(found));
	free(found);
	words[1] = (char *)kernel;
	text = arena_printf(
		&o->arena, "%s", o->b->device == DEV_CPU ? o->row->small : o->row->large);
	if (!words[0] || !text)
		return job_out_of_memory(o->b->c);
	for (char *w = strtok_r(text, " ", &save); w && n < 32; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	return kernelspec_read_words(o->b->c, &o->arena, 1, false, words, n, &o->spec);
}

/* Returns the PTX of a form: the original file for the plain form, and rewritten PTX for the
 * others. */
static int form_text(struct orders *o, unsigned which, struct strbuf *ret)
{
	struct orders_form *f = &o->of[which];
	const struct pass_kernel kernel = {.m = f->k.src.module, .name = o->row->kernel};
	const struct pass_request rq = {.kernels = &kernel,
		.n = 1,
		.in = f->k.src.module,
		.options = {.no_pull_ahead = true, .order = forms[which].order}};
	struct pass_form form;
	int e;

	if (which == PLAIN) {
		strbuf_add(ret, f->k.src.text, f->k.src.len);
		return ret->failed ? job_out_of_memory(o->b->c) : CLI_OK;
	}
	e = pass_run(pass_find("preempt"), &rq, f->k.src.diags, &form);
	f->info = form.info;
	if (e == 0 && (f->info.tier != PASS_MANAGED || f->info.order != forms[which].order))
		e = -ENOTSUP;
	if (e)
		return cli_error(o->b->c, NULL, "%s has no form for order %s: %s", o->row->kernel,
			forms[which].name, strerror(-e));
	ptx_print(f->k.src.module, ret);
	return ret->failed ? job_out_of_memory(o->b->c) : CLI_OK;
}

static int form_open(struct orders *o, unsigned which)
{
	struct orders_form *f = &o->of[which];
	struct strbuf text = {0};
	int r = job_kernel_read(o->b->c, &o->spec, sizeof(struct ctl_args) + 16, &f->k);

	if (r == CLI_OK)
		r = form_text(o, which, &text);
	if (r == CLI_OK)
		r = job_kernel_load(&f->k, &o->device, text.at, &f->module, &f->fn);
	strbuf_finish(&text);
	if (r == CLI_OK && which != PLAIN)
		JOB_TRY(o->b->c, host_control_create(&o->device.cu, &f->control), "control block");
	return r;
}

static void row_close(struct orders *o)
{
	const struct cu_api *cu = &o->device.cu;

	for (unsigned i = 0; i < FORMS; i++) {
		struct orders_form *f = &o->of[i];

		if (f->module)
			cu->cuModuleUnload(f->module);
		if (f->control)
			cu->cuMemFree(f->control);
		for (unsigned a = 0; f->k.buffers && a < o->spec.n_args; a++) {
			if (f->k.buffers[a])
				cu->cuMemFree(f->k.buffers[a]);
			if (f->k.initial && f->k.initial[a])
				cu->cuMemFree(f->k.initial[a]);
		}
		if (f->k.c)
			job_kernel_finish(&f->k);
		*f = (struct orders_form){0};
	}
	free(o->want);
	free(o->got);
	o->want = o->got = NULL;
}

/* Launches a form, waits for its end, and measures its time. */
static int form_run(struct orders *o, unsigned which, double *ret_ms)
{
	static const struct host_steering steering = {.chunk = 1};
	const struct cu_api *cu = &o->device.cu;
	struct orders_form *f = &o->of[which];
	struct host_managed_stats stats;
	CUevent start, stop;
	CUresult r;
	float ms;

	JOB_TRY(o->b->c, cu->cuEventCreate(&start, 0), "event");
	JOB_TRY(o->b->c, cu->cuEventCreate(&stop, 0), "event");
	JOB_TRY(o->b->c, cu->cuEventRecord(start, NULL), "event");
	r = which == PLAIN
		    ? host_launch(cu, f->fn, &o->spec.shape, f->k.params, f->k.own_bytes, NULL)
		    : host_managed_run(cu, f->fn, NULL, &f->info, &o->spec.shape, f->k.params,
			      &steering, f->control, &f->gen, &stats);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(stop, NULL);
	if (r == CUDA_SUCCESS)
		r = cu->cuCtxSynchronize();
	if (r != CUDA_SUCCESS)
		return job_cu_failed(o->b->c, r, o->row->kernel);
	JOB_TRY(o->b->c, cu->cuEventElapsedTime(&ms, start, stop), "event");
	cu->cuEventDestroy(start);
	cu->cuEventDestroy(stop);
	*ret_ms = (double)ms;
	return CLI_OK;
}

/* Compares the kernel's output, which is its last buffer, with the output of the plain kernel. */
static int forms_compare(struct orders *o)
{
	const struct cu_api *cu = &o->device.cu;
	struct job_kernel *first = &o->of[PLAIN].k;
	unsigned last = o->spec.n_args;
	size_t bytes;
	double ms;
	int r;

	while (last && !(o->spec.args[last - 1].is_buffer))
		last--;
	bytes = last ? o->spec.args[--last].bytes : 0;
	o->want = malloc(bytes);
	o->got = malloc(bytes);
	if (!bytes || !o->want || !o->got)
		return job_out_of_memory(o->b->c);
	o->same = true;
	for (unsigned i = 0; i < FORMS; i++) {
		r = job_kernel_fill(first, cu);
		if (r == CLI_OK && i != PLAIN)
			memcpy(o->of[i].k.params, first->params, first->own_bytes);
		if (r == CLI_OK)
			r = form_run(o, i, &ms);
		if (r != CLI_OK)
			return r;
		JOB_TRY(o->b->c,
			cu->cuMemcpyDtoH(
				i == PLAIN ? o->want : o->got, first->buffers[last], bytes),
			"result");
		if (i == PLAIN || memcmp(o->want, o->got, bytes) == 0)
			continue;
		o->same = false;
		o->b->failures++;
		cli_error(o->b->c, "this is a bug: please report it",
			"%s in order %s leaves other results than as it is", orders_name(o),
			forms[i].name);
	}
	return CLI_OK;
}

static int forms_time(struct orders *o)
{
	unsigned n = MIN(o->b->rounds, ROUNDS_MAX);

	for (unsigned round = 0; round < n; round++)
		for (unsigned k = 0; k < FORMS; k++) {
			unsigned which = (round + k) % FORMS;
			int r = form_run(o, which, &o->of[which].ms[round]);

			if (r != CLI_OK || child_interrupted())
				return CLI_FAILED;
		}
	return CLI_OK;
}

/* Packs a row of samples: each form's times under the form's key, "grid", and "same". */
static json_t *pack(const struct orders *o)
{
	json_t *row = json_object();
	double grid[3];

	for (unsigned i = 0; i < 3; i++)
		grid[i] = o->spec.shape.grid[i];
	json_object_set_new(row, "grid", samples_numbers(grid, 3));
	for (unsigned i = 0; i < FORMS; i++)
		json_object_set_new(row, forms[i].key,
			samples_numbers(o->of[i].ms, MIN(o->b->rounds, ROUNDS_MAX)));
	json_object_set_new(row, "same", samples_number(o->same));
	return row;
}

static int row_measure(struct orders *o, const char *key)
{
	int r = CLI_OK;

	if (!o->device.cu.cuInit)
		r = job_device_open(o->b->c, o->b->device, &o->device);
	if (r != CLI_OK)
		return r;
	progress_step("orders: %s", orders_name(o));
	arena_init(&o->arena, 0);
	o->spec = (struct spec){.arena = &o->arena};
	r = spec_read(o);
	for (unsigned i = 0; r == CLI_OK && i < FORMS; i++)
		r = form_open(o, i);
	if (r == CLI_OK)
		r = forms_compare(o);
	if (r == CLI_OK)
		r = forms_time(o);
	if (r == CLI_OK)
		samples_add(&o->b->samples, key, pack(o));
	row_close(o);
	arena_finish(&o->arena);
	return r;
}

static const char *row_key(const struct orders *o, char *buf, size_t size)
{
	snprintf(buf, size, "orders %s", orders_name(o));
	return buf;
}

static void row_show(struct orders *o, struct sheet *s, const json_t *row)
{
	double median[FORMS], spread = NAN, grid[3];
	bool same = samples_first(row, "same") > 0;

	samples_read(row, "grid", 3, grid);
	for (unsigned i = 0; i < FORMS; i++) {
		unsigned n;
		double *ms = samples_values(row, forms[i].key, &o->b->arena, &n), own;

		median[i] = ms ? median_of(ms, n) : NAN;
		own = n > 1 ? (ms[n - 1 - n / 4] - ms[n / 4]) / median[i] : NAN;
		spread = isnan(spread) || own > spread ? own : spread;
	}
	sheet_row(s);
	sheet_str(s, "kernel", orders_name(o));
	json_begin_array(s->j, "grid");
	for (unsigned i = 0; i < 3; i++)
		json_uint(s->j, NULL, (uint64_t)grid[i]);
	json_end(s->j, ']');
	for (unsigned i = 0; i < FORMS; i++)
		sheet_num(s, forms[i].key, median[i], 1, 4, "");
	sheet_mark(s, !(spread <= FIGURES_SPREAD));
	sheet_num(s, "column_percent", (median[COLUMN] / median[ROW] - 1) * 100, 1, 2, " %");
	sheet_mark(s, !(spread <= FIGURES_SPREAD));
	sheet_num(s, "hilbert_percent", (median[HILBERT] / median[ROW] - 1) * 100, 1, 2, " %");
	sheet_num(s, "spread", spread, 100, 1, " %");
	json_bool(s->j, "same", same);
	table_cell(&s->t, "%s", same ? "" : "WRONG");
	sheet_row_end(s);
}

int bench_orders(struct bench *b)
{
	struct orders *o = arena_zalloc(&b->arena, sizeof(*o));
	int r = o ? CLI_OK : job_out_of_memory(b->c);
	struct sheet s;
	char key[32];

	if (r != CLI_OK)
		return r;
	o->b = b;
	for (unsigned i = 0; r == CLI_OK && i < ARRAY_LEN(rows); i++) {
		o->row = &rows[i];
		if (samples_row(&b->samples, row_key(o, key, sizeof(key))) ||
			!samples_may_begin(&b->samples))
			progress_more(-1);
		else
			r = row_measure(o, key);
	}
	if (!bench_shows(r))
		return r;
	sheet_begin(&s, b->c, b->j, "orders",
		"<kernel|plain ms|row ms|column ms|Hilbert ms|column|Hilbert|spread|",
		"kernels alone, by the order in which workers take blocks: the cost of columns "
		"and\nHilbert curves over rows (spread: of the middle half of the rounds; ~ "
		"noise)");
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		const json_t *row;

		o->row = &rows[i];
		row = samples_row(&b->samples, row_key(o, key, sizeof(key)));
		if (row)
			row_show(o, &s, row);
	}
	sheet_end(&s);
	return r;
}
