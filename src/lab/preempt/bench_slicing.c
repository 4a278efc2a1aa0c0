/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares the preemptible form of each kernel with kernel slicing (FLEP, section 6.5, figure 17).
 * Each runs alone on the device. The slices are sized to take as long as heddle needs to preempt
 * the same kernel (the median drain time in a pair), so other work can start equally soon in both
 * ways. A slice has at least one full wave of blocks, because a shorter slice would leave SMs
 * empty. */
#include "lab/bench.h"
#include "stage/figures.h"

#include <math.h>
#include <stdio.h>

#include "front/progress.h"
#include "lab/form_file.h"

enum { PLAIN, PREEMPTIBLE, SLICES, FORMS };
#define PASSES    2
#define FEWEST_NS 2000.0 /* minimum duration of a slice: even an empty launch takes this long */

struct slicing {
	struct bench *b;
	struct bench_stage plain, heddle;
};

struct slicing_row {
	double way_out_ns, ns[FORMS], spread; /* ns is 0 if there is no result */
	unsigned slices;
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
	struct stage_result res;
	char key[64];
	int r;

	snprintf(key, sizeof(key), "slicing %s, way out", run.low.name);
	r = bench_pair(sl->b, &sl->heddle, &run, key, &res);
	*ret_ns = res.handovers ? median_of(res.handover_ns, res.handovers) : 0;
	return r;
}

/* Writes PTX of the program's kernel that can launch a range of blocks, to a file in the stage's
 * folder. */
static int make_sliced(struct slicing *sl, unsigned program, char *path, size_t size)
{
	int r = bench_stage_need(sl->b, &sl->heddle);

	if (r != CLI_OK)
		return r;
	snprintf(path, size, "%s/sliced.ptx", sl->heddle.stage.dir);
	return form_file_make(
		sl->b->c, sl->heddle.stage.heddle, "slice", bench_programs[program], path);
}

static int measure_form(
	struct slicing *sl, unsigned program, unsigned form, struct slicing_row *row)
{
	static const char *const names[FORMS] = {
		[PLAIN] = "plain", [PREEMPTIBLE] = "preemptible", [SLICES] = "slices"};
	struct stage_run run = bench_run(sl->b, bench_programs[program], NULL);
	struct bench_stage *stage = form == PREEMPTIBLE ? &sl->heddle : &sl->plain;
	double ns[PASSES], most;
	char path[160], key[64];

	for (unsigned k = 0; k < PASSES; k++) {
		struct stage_result res;

		snprintf(key, sizeof(key), "slicing %s, %s, pass %u", run.low.name, names[form],
			k + 1);
		if (form == SLICES && !samples_row(&sl->b->samples, key)) {
			if (make_sliced(sl, program, path, sizeof(path)) != CLI_OK)
				return CLI_FAILED;
			run.low.ptx = path;
			run.low.slices = row->slices;
		}
		if (bench_pair(sl->b, stage, &run, key, &res) != CLI_OK)
			return CLI_FAILED;
		ns[k] = res.low_kernel_ns;
	}
	most = MAX(ns[0], ns[1]);
	if (!(MIN(ns[0], ns[1]) > 0))
		return CLI_OK;
	row->ns[form] = median_of(ns, PASSES);
	row->spread = MAX(row->spread, (most - ns[0]) / row->ns[form]);
	return CLI_OK;
}

static int measure_program(struct slicing *sl, unsigned program, struct slicing_row *row)
{
	int r = measure_way_out(sl, program, &row->way_out_ns);

	row->slices = 1;
	for (unsigned k = 0; r == CLI_OK && k < FORMS; k++) {
		r = measure_form(sl, program, k, row);
		if (k == PLAIN)
			row->slices =
				(unsigned)MAX(row->ns[k] / MAX(row->way_out_ns, FEWEST_NS), 1.0);
	}
	return r;
}

static void show(struct bench *b, const struct slicing_row *rows, unsigned n)
{
	static const char *const names[FORMS] = {
		[PREEMPTIBLE] = "preemptible", [SLICES] = "sliced"};
	double logs[FORMS] = {0}, worst[FORMS] = {0};
	unsigned counted = 0, noisy = 0;
	struct sheet s;

	sheet_begin(&s, b->c, b->j, "slicing",
		"<program|way out us|slices|plain us|preemptible us|sliced "
		"us|spread|preemptible|sliced",
		"kernels alone: overhead of the preemptible form, and of slices as long as "
		"heddle's "
		"way\nto the device (~ noise)");
	for (unsigned i = 0; i < n; i++) {
		const struct slicing_row *row = &rows[i];
		const double *ns = row->ns;
		bool noise = row->spread > FIGURES_SPREAD;

		if (!(row->way_out_ns > 0) || !ns[PLAIN] || !ns[PREEMPTIBLE] || !ns[SLICES])
			continue;
		sheet_row(&s);
		sheet_str(&s, "program", bench_programs[i]);
		sheet_num(&s, "way_out_us", row->way_out_ns / 1e3, 1, 1, "");
		sheet_uint(&s, "slices", row->slices);
		sheet_num(&s, "plain_us", ns[PLAIN] / 1e3, 1, 1, "");
		sheet_num(&s, "preemptible_us", ns[PREEMPTIBLE] / 1e3, 1, 1, "");
		sheet_num(&s, "sliced_us", ns[SLICES] / 1e3, 1, 1, "");
		sheet_num(&s, "spread", row->spread, 100, 1, " %");
		for (unsigned k = PREEMPTIBLE; k < FORMS; k++) {
			double ratio = ns[k] / ns[PLAIN];

			table_cell(&s.t, "%s%+.2f %%", noise ? "~" : "", (ratio - 1) * 100);
			logs[k] += log(ratio);
			worst[k] = MAX(worst[k], ratio);
		}
		sheet_row_end(&s);
		counted++;
		noisy += noise;
	}
	sheet_end(&s);
	sheet_begin(&s, b->c, b->j, "slicing_summary", "<form|geometric mean|worst|noisy",
		"all programs");
	for (unsigned k = PREEMPTIBLE; k < FORMS && counted; k++) {
		sheet_row(&s);
		sheet_str(&s, "name", names[k]);
		sheet_mark(&s, noisy);
		sheet_num(&s, "overhead_geomean", exp(logs[k] / counted) - 1, 100, 2, " %");
		sheet_num(&s, "overhead_worst", worst[k] - 1, 100, 2, " %");
		sheet_uint(&s, "noisy", noisy);
		sheet_row_end(&s);
	}
	sheet_end(&s);
}

int bench_slicing(struct bench *b)
{
	struct slicing sl = {.b = b,
		.plain = {.spec = {.name = "plain"}},
		.heddle = {.spec = {.name = "heddle",
				   .managed = true,
				   .options = {"--set", "min_managed_us=1"}}}};
	struct slicing_row rows[PROGRAMS] = {{0}};
	int r = CLI_OK;

	for (unsigned i = 0; r == CLI_OK && i < count_programs(b); i++)
		r = measure_program(&sl, i, &rows[i]);
	bench_stage_close(&sl.heddle);
	bench_stage_close(&sl.plain);
	if (bench_shows(r))
		show(b, rows, count_programs(b));
	return r;
}
