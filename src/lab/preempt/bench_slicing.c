/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares the preemptible form of each kernel with kernel slicing (FLEP, section 6.5, figure 17).
 * Each runs alone on the device. The slices are sized to take as long as heddle needs to preempt
 * the same kernel (the median drain time in a pair), so other work can start equally soon in both
 * ways. A slice has at least one full wave of blocks, because a shorter slice would leave SMs
 * empty. */
#include "lab/bench.h"
#include "stage/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/progress.h"
#include "lab/form_file.h"

enum { PLAIN, PREEMPTIBLE, SLICES, FORMS };
#define PASSES    2
#define FEWEST_NS 2000.0 /* a launch takes this long by itself */

struct slicing {
	struct bench *b;
	struct stage plain, heddle;
	char ptx[160];
	double logs[FORMS], worst[FORMS];
	unsigned n, noisy;
};

static unsigned count_programs(const struct bench *b)
{
	return b->quick ? 2 : PROGRAMS;
}

unsigned bench_slicing_steps(const struct bench *b)
{
	return count_programs(b) * (1 + FORMS * PASSES);
}

/* Measures the median time that heddle needs to preempt the program's kernel. *ret_ns is 0 if no
 * preemption happened. */
static int measure_way_out(struct slicing *sl, unsigned program, double *ret_ns)
{
	struct stage_run run =
		bench_run(sl->b, bench_programs[program], bench_programs[(program + 5) % PROGRAMS]);
	struct stage_result res = {0};
	int r;

	bench_progress(sl->heddle.spec.name, run.low.name, run.high.name);
	r = bench_try(sl->b, &sl->heddle, &run, &res);
	*ret_ns = res.handovers ? median_of(res.handover_ns, res.handovers) : 0;
	return r;
}

static int measure_form(struct slicing *sl, unsigned program, unsigned form, unsigned slices,
	double *ret_ns, double *ret_spread)
{
	struct stage_run run = bench_run(sl->b, bench_programs[program], NULL);
	struct stage *stage = form == PREEMPTIBLE ? &sl->heddle : &sl->plain;
	double ns[PASSES];

	if (form == SLICES) {
		run.low.ptx = sl->ptx;
		run.low.slices = slices;
	}
	for (unsigned k = 0; k < PASSES; k++) {
		struct stage_result res = {0};

		bench_progress(form == SLICES ? "slices" : stage->spec.name, run.low.name, NULL);
		if (bench_try(sl->b, stage, &run, &res) != CLI_OK)
			return CLI_FAILED;
		ns[k] = res.low_kernel_ns;
	}
	*ret_ns = median_of(ns, PASSES);
	*ret_spread = *ret_ns ? (ns[PASSES - 1] - ns[0]) / *ret_ns : 0;
	return CLI_OK;
}

static void show_row(struct slicing *sl, const char *program, double way_out_ns, unsigned slices,
	const double ns[FORMS], double spread)
{
	struct bench *b = sl->b;
	bool noisy = spread > FIGURES_SPREAD;

	for (unsigned k = PREEMPTIBLE; k < FORMS; k++) {
		sl->logs[k] += log(ns[k] / ns[PLAIN]);
		sl->worst[k] = MAX(sl->worst[k], ns[k] / ns[PLAIN]);
	}
	sl->n++;
	sl->noisy += noisy;
	json_begin_object(b->j, NULL);
	json_str(b->j, "program", program);
	json_num(b->j, "way_out_us", way_out_ns / 1e3);
	json_uint(b->j, "slices", slices);
	json_num(b->j, "plain_us", ns[PLAIN] / 1e3);
	json_num(b->j, "preemptible_us", ns[PREEMPTIBLE] / 1e3);
	json_num(b->j, "sliced_us", ns[SLICES] / 1e3);
	json_num(b->j, "spread", spread);
	json_end(b->j, '}');
	cli_show(b->c, "%-8s %10.1f %7u %11.1f %c%+8.2f %% %+8.2f %%\n", program, way_out_ns / 1e3,
		slices, ns[PLAIN] / 1e3, noisy ? '~' : ' ', (ns[PREEMPTIBLE] / ns[PLAIN] - 1) * 100,
		(ns[SLICES] / ns[PLAIN] - 1) * 100);
}

static int measure_program(struct slicing *sl, unsigned program)
{
	double way_out_ns, ns[FORMS], spread[FORMS], most = 0;
	unsigned slices = 1;
	int r = form_file_make(
		sl->b->c, sl->heddle.heddle, "slice", bench_programs[program], sl->ptx);

	if (r == CLI_OK)
		r = measure_way_out(sl, program, &way_out_ns);
	for (unsigned k = 0; r == CLI_OK && k < FORMS; k++) {
		r = measure_form(sl, program, k, slices, &ns[k], &spread[k]);
		if (r != CLI_OK || !ns[k])
			return r;
		most = MAX(most, spread[k]);
		if (k == PLAIN)
			slices = (unsigned)MAX(ns[k] / MAX(way_out_ns, FEWEST_NS), 1.0);
	}
	if (r == CLI_OK && way_out_ns > 0)
		show_row(sl, bench_programs[program], way_out_ns, slices, ns, most);
	else if (r == CLI_OK)
		cli_show(sl->b->c, "%-8s was not preempted\n", bench_programs[program]);
	return r;
}

static void sum_up(struct slicing *sl)
{
	static const char *const names[FORMS] = {
		[PREEMPTIBLE] = "preemptible", [SLICES] = "sliced"};
	struct bench *b = sl->b;

	json_begin_array(b->j, "slicing_summary");
	for (unsigned k = PREEMPTIBLE; k < FORMS && sl->n; k++) {
		double mean = exp(sl->logs[k] / sl->n) - 1;

		json_begin_object(b->j, NULL);
		json_str(b->j, "name", names[k]);
		json_num(b->j, "overhead_geomean", mean);
		json_num(b->j, "overhead_worst", sl->worst[k] - 1);
		json_uint(b->j, "noisy", sl->noisy);
		json_end(b->j, '}');
		cli_show(b->c, "%s%-11s geometric mean %+.2f %%, worst %+.2f %%\n",
			sl->noisy ? "noise: " : "", names[k], mean * 100, (sl->worst[k] - 1) * 100);
	}
	json_end(b->j, ']');
}

int bench_slicing(struct bench *b)
{
	const struct stage_spec plain = {.name = "plain", .device = b->device},
				heddle = {.name = "heddle",
					.device = b->device,
					.managed = true,
					.options = {"--set", "min_managed_us=1"}};
	struct slicing *sl = arena_zalloc(&b->arena, sizeof(*sl));
	int r = sl ? CLI_OK : cli_error(b->c, NULL, "out of memory");

	if (r == CLI_OK)
		r = stage_open(b->c, &plain, &sl->plain);
	if (r != CLI_OK)
		return r;
	sl->b = b;
	r = stage_open(b->c, &heddle, &sl->heddle);
	if (r != CLI_OK)
		goto out;
	snprintf(sl->ptx, sizeof(sl->ptx), "%s/sliced.ptx", sl->plain.dir);
	json_begin_array(b->j, "slicing");
	cli_show(b->c,
		"\nkernels alone: overhead of the preemptible form, and of slices as long as "
		"heddle's way\nto the device (~ noise)\n"
		"program  way out us  slices    plain us  preemptible    sliced\n");
	for (unsigned i = 0; r == CLI_OK && i < count_programs(b); i++)
		r = measure_program(sl, i);
	json_end(b->j, ']');
	if (r == CLI_OK)
		sum_up(sl);
	stage_close(&sl->heddle);
out:
	stage_close(&sl->plain);
	return r;
}
