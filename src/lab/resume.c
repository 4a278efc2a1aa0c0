/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Packs the result of a case in an arrangement as a row, and unpacks it. "launch N", "done N" and
 * "kernel N" are times of the case's program N in ns, one for each round. "takes N" has threads,
 * registers, shared bytes and blocks on an SM of its kernel. The row as a whole has "preemptions",
 * "shrinks" and "checked". */
#include "lab/resume.h"

#include <stdio.h>

static const char *row_key(
	const struct cases *cs, const struct bench_case *c, unsigned k, char *buf, size_t size)
{
	static const char *const kinds[CASE_KINDS] = {
		"alone", "pair", "delayed", "equal", "triplet", "reordered", "arriving", "at once"};
	size_t at = (size_t)snprintf(buf, size, "%s", kinds[c->kind]);

	for (unsigned i = 0; i < c->n && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s%s", i ? " + " : " ",
			cs->table->programs[c->program[i]], c->large[i] ? "-large" : "");
	if (c->delay > 0 && at < size)
		at += (size_t)snprintf(buf + at, size - at, ", delay %.3f", c->delay);
	if (at < size)
		snprintf(buf + at, size - at, ", %s", cs->spec[k].name);
	return buf;
}

static const char *name_of(const char *what, unsigned i, char buf[32])
{
	snprintf(buf, 32, "%s %u", what, i);
	return buf;
}

/* ---- packing a result ---- */

static void pack_program(json_t *o, const struct crew_times *t, unsigned i, unsigned rounds)
{
	json_t *launch = json_array(), *done = json_array();
	const double takes[] = {t->kernel.threads, t->kernel.registers, t->kernel.shared_bytes,
		t->kernel.blocks_per_sm};
	char name[32];

	for (unsigned k = 0; k < rounds; k++) {
		json_array_append_new(launch, json_integer((json_int_t)t->at[k].low_launch_ns));
		json_array_append_new(done, json_integer((json_int_t)t->at[k].low_done_ns));
	}
	json_object_set_new(o, name_of("launch", i, name), launch);
	json_object_set_new(o, name_of("done", i, name), done);
	json_object_set_new(o, name_of("kernel", i, name), samples_numbers(t->kernel_ns, rounds));
	json_object_set_new(o, name_of("takes", i, name), samples_numbers(takes, ARRAY_LEN(takes)));
}

void resume_put(struct bench *b, const struct cases *cs, const struct bench_case *c, unsigned k)
{
	const struct crew_result *res = &c->by[k];
	json_t *o = json_object();
	char key[128];

	for (unsigned i = 0; i < res->n; i++)
		pack_program(o, &res->of[i], i, res->rounds);
	json_object_set_new(o, "preemptions", samples_number(res->preemptions));
	json_object_set_new(o, "shrinks", samples_number(res->shrinks));
	json_object_set_new(o, "checked", samples_number(res->checked));
	samples_add(&b->samples, row_key(cs, c, k, key, sizeof(key)), o);
}

/* ---- unpacking a result ---- */

static bool unpack_program(struct bench *b, const json_t *row, unsigned i, struct crew_times *ret)
{
	unsigned rounds = b->rounds;
	double *launch = ARENA_ARRAY(&b->arena, double, rounds);
	double *done = ARENA_ARRAY(&b->arena, double, rounds);
	double *kernel = ARENA_ARRAY(&b->arena, double, rounds), takes[4];
	char name[32];

	*ret = (struct crew_times){.at = ARENA_ARRAY(&b->arena, struct stage_round, rounds),
		.turnaround_ns = ARENA_ARRAY(&b->arena, double, rounds),
		.kernel_ns = kernel};
	if (!launch || !done || !kernel || !ret->at || !ret->turnaround_ns ||
		!samples_read(row, name_of("launch", i, name), rounds, launch) ||
		!samples_read(row, name_of("done", i, name), rounds, done) ||
		!samples_read(row, name_of("kernel", i, name), rounds, kernel) ||
		!samples_read(row, name_of("takes", i, name), 4, takes))
		return false;
	ret->kernel = (struct crew_kernel){
		(unsigned)takes[0], (unsigned)takes[1], (unsigned)takes[2], (unsigned)takes[3]};
	for (unsigned k = 0; k < rounds; k++) {
		if (!(done[k] >= launch[k] && launch[k] >= 0 && done[k] < 9e15))
			return false;
		ret->at[k].low_launch_ns = (uint64_t)launch[k];
		ret->at[k].low_done_ns = (uint64_t)done[k];
	}
	return true;
}

static void unpack(struct bench *b, const json_t *row, unsigned n, struct crew_result *ret)
{
	struct crew_result res = {.n = n,
		.rounds = b->rounds,
		.preemptions = (unsigned)samples_first(row, "preemptions"),
		.shrinks = (unsigned)samples_first(row, "shrinks"),
		.checked = (unsigned)samples_first(row, "checked")};

	for (unsigned i = 0; i < n; i++)
		if (!unpack_program(b, row, i, &res.of[i]))
			return;
	if (crew_sum_up(&b->arena, &res))
		*ret = res;
}

void resume_get(struct bench *b, struct cases *cs)
{
	char key[128];

	for (unsigned i = 0; i < cs->n; i++)
		for (unsigned k = 0; k < CASES_ARRANGEMENTS; k++) {
			struct bench_case *c = &cs->at[i];
			const json_t *row = NULL;

			if (cases_run_in(cs, c->kind, k) && !c->by[k].n)
				row = samples_row(&b->samples, row_key(cs, c, k, key, sizeof(key)));
			if (row)
				unpack(b, row, c->n, &c->by[k]);
		}
}
