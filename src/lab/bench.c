/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures rows of pairs of programs in a stage, or takes them from the file of --resume. */
#include "lab/bench.h"

#include <stdio.h>
#include <string.h>

#include "front/progress.h"

const char *const bench_programs[] = {"cfd", "nn", "pf", "pl", "md", "spmv", "mm", "va"};
_Static_assert(ARRAY_LEN(bench_programs) == PROGRAMS, "PROGRAMS counts them");

int bench_stage_need(struct bench *b, struct bench_stage *s)
{
	int r;

	if (s->open)
		return CLI_OK;
	s->spec.device = b->device;
	r = stage_open(b->c, &s->spec, &s->stage);
	s->open = r == CLI_OK;
	return r;
}

void bench_stage_close(struct bench_stage *s)
{
	if (s->open)
		stage_close(&s->stage);
	s->open = false;
}

bool bench_shows(int r)
{
	return r == CLI_OK || child_interrupted();
}

struct stage_run bench_run(const struct bench *b, const char *low, const char *high)
{
	return (struct stage_run){.low = {low, "large", 0},
		.high = {high, "small", 0},
		.rounds = b->rounds,
		.runtime = b->runtime,
		.check = cli_value(b->c, "check"),
		.reference = b->reference[0] ? b->reference : NULL,
		.timeout_ms = b->device == DEV_CPU ? 300000 : 60000};
}

/* ---- the samples of a pair ---- */

/* Names of the sample arrays with each program's launch times and end times. */
static const struct {
	const char *launch, *done;
} names[2] = {{"low_launch_ns", "low_done_ns"}, {"high_launch_ns", "high_done_ns"}};

static json_t *pack(
	const struct bench *b, const struct stage_run *run, const struct stage_result *res)
{
	const bool part[2] = {run->low.name != NULL, run->high.name != NULL};
	json_t *o = json_object();

	for (unsigned p = 0; p < 2; p++) {
		json_t *launch = json_array(), *done = json_array();

		for (unsigned i = 0; part[p] && i < res->rounds; i++) {
			const struct stage_round *r = &res->at[i];

			json_array_append_new(launch,
				json_integer(
					(json_int_t)(p ? r->high_launch_ns : r->low_launch_ns)));
			json_array_append_new(done,
				json_integer((json_int_t)(p ? r->high_done_ns : r->low_done_ns)));
		}
		json_object_set_new(o, names[p].launch, launch);
		json_object_set_new(o, names[p].done, done);
	}
	if (part[0])
		json_object_set_new(o, "low_kernel_ns",
			samples_numbers(res->low_kernel_rounds_ns, res->rounds));
	if (b && res->handovers)
		json_object_set_new(
			o, "handover_ns", samples_numbers(res->handover_ns, res->handovers));
	json_object_set_new(o, "preemptions", samples_number(res->preemptions));
	json_object_set_new(o, "shrinks", samples_number(res->shrinks));
	json_object_set_new(o, "checked", samples_number(res->checked));
	return o;
}

/* Reads one program's rounds. Returns its median turnaround in ns, or 0 if it did not take part. */
static double unpack_program(
	struct bench *b, const json_t *samples, unsigned p, struct stage_result *ret)
{
	unsigned n = 0, m = 0;
	double *launch = samples_values(samples, names[p].launch, &b->arena, &n);
	double *done = samples_values(samples, names[p].done, &b->arena, &m);
	double *took = ARENA_ARRAY(&b->arena, double, ret->rounds);

	if (n != ret->rounds || m != ret->rounds || !took)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		struct stage_round *r = &ret->at[i];

		*(p ? &r->high_launch_ns : &r->low_launch_ns) = (uint64_t)launch[i];
		*(p ? &r->high_done_ns : &r->low_done_ns) = (uint64_t)done[i];
		took[i] = done[i] - launch[i];
	}
	return median_of(took, n);
}

static void unpack(struct bench *b, const json_t *samples, struct stage_result *ret)
{
	unsigned low = samples_count(samples, names[0].launch), kernels;
	unsigned rounds = MAX(low, samples_count(samples, names[1].launch));

	*ret = (struct stage_result){.rounds = rounds,
		.at = ARENA_ARRAY(&b->arena, struct stage_round, rounds),
		.preemptions = (unsigned)samples_first(samples, "preemptions"),
		.shrinks = (unsigned)samples_first(samples, "shrinks"),
		.checked = (unsigned)samples_first(samples, "checked")};
	if (!ret->at) {
		ret->rounds = 0;
		return;
	}
	ret->low_ns = unpack_program(b, samples, 0, ret);
	ret->high_ns = unpack_program(b, samples, 1, ret);
	ret->low_kernel_ns = samples_median(samples, "low_kernel_ns");
	ret->low_kernel_rounds_ns = samples_values(samples, "low_kernel_ns", &b->arena, &kernels);
	ret->handover_ns = samples_values(samples, "handover_ns", &b->arena, &ret->handovers);
	stage_measure_makespan(&b->arena, ret);
}

int bench_pair(struct bench *b, struct bench_stage *s, const struct stage_run *run, const char *key,
	struct stage_result *ret)
{
	const json_t *samples = samples_row(&b->samples, key);
	struct stage_result res = {0};
	int r;

	*ret = (struct stage_result){0};
	if (samples) {
		unpack(b, samples, ret);
		progress_more(-1);
		return CLI_OK;
	}
	if (!samples_may_begin(&b->samples)) {
		progress_more(-1);
		return CLI_OK;
	}
	r = bench_stage_need(b, s);
	if (r != CLI_OK)
		return r;
	progress_step("%s", key);
	if (stage_run(&s->stage, &b->arena, run, &res) != CLI_OK) {
		b->failures++;
	} else {
		samples_add(&b->samples, key, pack(b, run, &res));
		unpack(b, samples_row(&b->samples, key), ret);
	}
	return child_interrupted() ? CLI_FAILED : CLI_OK;
}
