/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench tasks measures how many tasks a pool executes in a second and how long a single task
 * takes. For programs of narrow tasks (tasks of a few warps), it also compares the pool with one
 * kernel launch for each task, in streams. This is a first part of Pagoda's figure 5. */
#include "base/text.h"
#include "front/progress.h"
#include "lab/lab.h"
#include "lab/tasks/bench_tasks.h"
#include "rt/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const leg_names[TASKS_LEGS] = {
	[TASKS_PLACED] = "placed",
	[TASKS_BEGUN] = "begun",
	[TASKS_ENDED] = "ended",
	[TASKS_FENCED] = "fenced",
	[TASKS_REST] = "rest",
};

/* ---- opening the device and the pool ---- */

static int find_file(struct tasks_bench *b, char **ret)
{
	static const char *const paths[] = {"kernels/nvcc/narrow.ptx", "kernels/clang/narrow.ptx"};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (cli_find_part(paths[i], paths[i], ret) == 0)
			return CLI_OK;
	return cli_error(b->c, "a build has it where nvcc or clang 14 is there",
		"no narrow.ptx among the kernels of this installation");
}

/* Opens the device. Without --device, the GPU is tried before the virtual GPU, so that the output
 * can name the kind that was used. */
static int open_device(struct tasks_bench *b)
{
	const char *device = cli_value(b->c, "device");
	bool any = !device || !strcmp(device, "auto");
	int r = -1;

	if (any || !strcmp(device, "cuda"))
		r = heddle_open("cuda", &b->h);
	if (r < 0 && (any || !strcmp(device, "cpu"))) {
		heddle_close(b->h);
		b->is_virtual = true;
		r = heddle_open("cpu", &b->h);
	}
	if (r < 0)
		return cli_error(b->c, NULL, "%s", b->h ? heddle_error(b->h) : "out of memory");
	return CLI_OK;
}

static int get_number(struct tasks_bench *b, const char *name, uint64_t min, uint64_t max,
	unsigned otherwise, unsigned *ret)
{
	uint64_t n = otherwise;
	int r = cli_number(b->c, name, min, max, &n);

	*ret = (unsigned)n;
	return r;
}

static int read_options(struct tasks_bench *b)
{
	int r = get_number(b, "tasks", 1, 1u << 20, b->is_virtual ? 96 : 32768, &b->tasks);

	b->seed = 1;
	b->stamps = cli_has(b->c, "stamps");
	if (r == CLI_OK)
		r = get_number(b, "threads", 128, 256, 128, &b->threads);
	if (r == CLI_OK && b->threads % 32)
		r = cli_usage(b->c, "--threads %u is no multiple of 32", b->threads);
	if (r == CLI_OK)
		r = get_number(b, "streams", 1, TASKS_STREAMS, TASKS_STREAMS, &b->streams);
	if (r == CLI_OK)
		r = get_number(b, "rounds", 1, 1000, b->is_virtual ? 1 : 5, &b->rounds);
	if (r == CLI_OK)
		r = get_number(b, "blocks-per-sm", 1, 32, 0, &b->columns);
	if (r == CLI_OK)
		r = get_number(b, "leave-sms", 0, 1024, 0, &b->leave);
	if (r == CLI_OK)
		r = get_number(b, "nap", 1, 1000000, 0, &b->nap);
	if (r == CLI_OK)
		r = cli_number(b->c, "seed", 0, UINT64_MAX, &b->seed);
	return r;
}

/* ---- writing tables ---- */

static void begin_json(struct tasks_bench *b, struct json *j, const struct heddle_tasks_state *s)
{
	cli_show(b->c, "%s, a pool of %s with %s for tasks\n", heddle_device(b->h),
		COUNTED(s->columns, "block"), COUNTED(s->executors, "warp"));
	if (b->is_virtual)
		cli_show(b->c, "A virtual GPU: outputs are checked, times say nothing of any "
			       "GPU.\n");
	cli_json_open(b->c, j, 2);
	json_str(j, "device", heddle_device(b->h));
	json_bool(j, "virtual", b->is_virtual);
	json_uint(j, "columns", s->columns);
	json_uint(j, "executors", s->executors);
	json_uint(j, "threads", b->threads);
	json_uint(j, "rounds", b->rounds);
	json_uint(j, "warm_rounds", 0);
	json_uint(j, "seed", b->seed);
}

static void show_rates(struct tasks_bench *b, struct json *j)
{
	const json_t *row = samples_row(&b->samples, "empty");
	double n = samples_first(row, "tasks"), one = samples_median(row, "ms 1");
	struct sheet s;
	char name[24];

	if (!row)
		return;
	json_begin_object(j, "empty");
	json_uint(j, "tasks", (uint64_t)n);
	json_num(j, "ms", one);
	json_num(j, "per_second", n / one * 1000);
	json_num(
		j, "spawn_ns", samples_median(row, "spawn_ms") * 1e6 / samples_first(row, "burst"));
	sheet_begin(&s, b->c, j, "producers", "<threads|ms|a second", "empty tasks: %.0f", n);
	for (unsigned k = 0; k < TASKS_PRODUCERS; k++) {
		double ms;

		snprintf(name, sizeof(name), "ms %u", 1u << k);
		ms = samples_median(row, name);
		sheet_row(&s);
		sheet_uint(&s, "threads", 1u << k);
		sheet_num(&s, "ms", ms, 1, 2, "");
		sheet_num(&s, "per_second", n / ms * 1000, 1, 0, "");
		sheet_row_end(&s);
	}
	sheet_end(&s);
	json_end(j, '}');
	cli_show(b->c, "a spawn while places are free: %.1f ns, of %.0f\n",
		samples_median(row, "spawn_ms") * 1e6 / samples_first(row, "burst"),
		samples_first(row, "burst"));
}

static void show_latency(struct tasks_bench *b, struct json *j)
{
	const json_t *row = samples_row(&b->samples, "latency");
	struct arena arena;
	unsigned n;
	double *us;

	if (!row)
		return;
	arena_init(&arena, 0);
	us = samples_values(row, "us", &arena, &n);
	if (us) {
		sort_values(us, n);
		json_begin_object(j, "latency");
		json_uint(j, "samples", n);
		json_num(j, "p50_us", us[n / 2]);
		json_num(j, "p99_us", us[(size_t)n * 99 / 100]);
		json_num(j, "max_us", us[n - 1]);
		cli_show(b->c, "latency of %u: p50 %.1f us, p99 %.1f us, at most %.1f us\n", n,
			us[n / 2], us[(size_t)n * 99 / 100], us[n - 1]);
		if (samples_count(row, leg_names[0])) {
			json_begin_object(j, "legs_us");
			for (unsigned i = 0; i < TASKS_LEGS; i++) {
				double leg = samples_median(row, leg_names[i]);

				json_num(j, leg_names[i], leg);
				cli_show(b->c, "%s%s %.2f us%s",
					i ? " " : "medians: ", leg_names[i], leg,
					i + 1 < TASKS_LEGS ? "," : "\n");
			}
			json_end(j, '}');
		}
		json_end(j, '}');
	}
	arena_finish(&arena);
}

static const char *program_key(const struct narrow_program *of, char buf[64])
{
	snprintf(buf, 64, "program %s", of->name);
	return buf;
}

static void show_program(
	struct tasks_bench *b, struct sheet *s, const struct narrow_program *of, const json_t *row)
{
	double best = 0, pool;
	char name[32];

	pool = samples_median(row, tasks_way_name(0, name));
	sheet_row(s);
	sheet_str(s, "program", of->name);
	sheet_uint(s, "tasks", (uint64_t)samples_first(row, "tasks"));
	sheet_num(s, "ms", pool, 1, 2, "");
	json_begin_array(s->j, "launches");
	for (unsigned i = 1; i < tasks_ways(b); i++) {
		double ms = samples_median(row, tasks_way_name(i, name));

		json_begin_object(s->j, NULL);
		json_uint(s->j, "streams", 1u << (i - 1));
		sheet_num(s, "ms", ms, 1, 2, "");
		json_end(s->j, '}');
		best = i == 1 ? ms : MIN(best, ms);
	}
	json_end(s->j, ']');
	if (!b->is_virtual)
		sheet_num(s, "ratio", best / pool, 1, 2, "x");
	sheet_uint(s, "checked", (uint64_t)samples_first(row, "checked"));
	sheet_uint(s, "wrong", (uint64_t)samples_first(row, "wrong"));
	sheet_row_end(s);
}

/* Shows the table of programs. Returns the number of wrong outputs. */
static unsigned show_programs(struct tasks_bench *b, struct json *j)
{
	unsigned wrong = 0;
	struct sheet s;
	char text[64];

	sheet_begin(&s, b->c, j, "programs", "<program|tasks|pool ms",
		"programs of narrow tasks: in the pool, and as launches in so many streams, ms");
	for (unsigned i = 1; i < tasks_ways(b); i++)
		sheet_column(&s, tasks_way_name(i, text));
	if (!b->is_virtual)
		sheet_column(&s, "best over pool");
	sheet_column(&s, "checked");
	sheet_column(&s, "wrong");
	for (unsigned i = 0; i < narrow_n_programs; i++) {
		const struct narrow_program *of = &narrow_programs[i];
		const json_t *row = samples_row(&b->samples, program_key(of, text));

		if (!row)
			continue;
		show_program(b, &s, of, row);
		wrong += (unsigned)samples_first(row, "wrong");
	}
	sheet_end(&s);
	return wrong;
}

/* ---- measuring the tasks ---- */

static int run_empty(struct tasks_bench *b)
{
	unsigned n = cli_has(b->c, "tasks") ? b->tasks : b->is_virtual ? 2000 : 1000000;
	json_t *row = NULL;
	int r;

	if (samples_row(&b->samples, "empty") || !samples_may_begin(&b->samples))
		return CLI_OK;
	progress_step("empty tasks");
	r = tasks_empty(b, n, &row);
	if (r == CLI_OK)
		samples_add(&b->samples, "empty", row);
	return r;
}

/* Adds a row with the samples "us", and with --stamps the times of each stage. */
static int run_latency(struct tasks_bench *b)
{
	unsigned n = b->is_virtual ? 100 : 10000;
	double *us;
	json_t *row;
	int r;

	if (samples_row(&b->samples, "latency") || !samples_may_begin(&b->samples))
		return CLI_OK;
	us = calloc((size_t)n * (1 + TASKS_LEGS), sizeof(*us));
	r = us ? tasks_latency(b, n, us, us + n) : cli_error(b->c, NULL, "out of memory");
	if (r == CLI_OK) {
		row = json_pack("{so}", "us", samples_numbers(us, n));
		for (unsigned i = 0; b->stamps && i < TASKS_LEGS; i++)
			json_object_set_new(
				row, leg_names[i], samples_numbers(us + n * (1 + i), n));
		samples_add(&b->samples, "latency", row);
	}
	free(us);
	return r;
}

static int run_program(struct tasks_bench *b, const struct narrow_program *of)
{
	struct tasks_program p;
	json_t *row = NULL;
	char key[64];
	int r;

	if (samples_row(&b->samples, program_key(of, key)) || !samples_may_begin(&b->samples))
		return CLI_OK;
	progress_step("%s", of->name);
	r = tasks_open(b, &p, of);
	if (r == CLI_OK)
		r = tasks_measure(b, &p, &row);
	if (r == CLI_OK)
		samples_add(&b->samples, key, row);
	tasks_close(b, &p);
	return r;
}

static bool is_wanted(const struct tasks_bench *b, const char *name)
{
	const char *only = cli_value(b->c, "program");

	if (b->stamps) /* time stamps slow the tasks down, so only empty tasks get them */
		return !strcmp(name, "empty");
	return !only || !strcmp(only, "all") || !strcmp(only, name);
}

static int measure_all(struct tasks_bench *b)
{
	int r = CLI_OK;

	progress_begin(1 + narrow_n_programs);
	if (is_wanted(b, "empty"))
		r = run_empty(b);
	if (r == CLI_OK && is_wanted(b, "empty"))
		r = run_latency(b);
	for (unsigned i = 0; r == CLI_OK && i < narrow_n_programs; i++)
		if (is_wanted(b, narrow_programs[i].name))
			r = run_program(b, &narrow_programs[i]);
	progress_clear();
	return r;
}

static int open_samples(struct tasks_bench *b)
{
	snprintf(b->options, sizeof(b->options),
		"%s, %u tasks of %u threads, seed %llu, pool %u:%u:%u%s",
		COUNTED(b->rounds, "round"), b->tasks, b->threads, (unsigned long long)b->seed,
		b->columns, b->leave, b->nap, b->stamps ? ", stamps" : "");
	return samples_open(&b->samples, b->c, heddle_device(b->h), b->options);
}

static int run_all(struct tasks_bench *b)
{
	struct heddle_tasks_state state = {.size = sizeof(state)};
	unsigned wrong;
	struct json j;
	const struct heddle_tasks_options o = {
		.size = sizeof(o), .blocks_per_sm = b->columns, .leave_sms = b->leave};
	int r = open_samples(b);

	if (r != CLI_OK)
		return r;
	if (heddle_tasks_create(b->h, &o, &b->pool) < 0)
		return cli_error(b->c, NULL, "%s", heddle_error(b->h));
	b->pool->nap_ns = b->nap;
	if (b->stamps && pool_ask_stamps(b->pool) < 0)
		return cli_error(b->c, NULL, "%s", heddle_error(b->h));
	heddle_tasks_look(b->pool, &state);
	begin_json(b, &j, &state);
	r = measure_all(b);
	if (r != CLI_OK)
		return r;
	show_rates(b, &j);
	show_latency(b, &j);
	wrong = show_programs(b, &j);
	samples_finish(&b->samples, &j);
	json_uint(&j, "wrong", wrong);
	json_end(&j, '}');
	if (wrong)
		r = cli_error(b->c, NULL, "%s %s wrong", COUNTED(wrong, "output"),
			wrong == 1 ? "is" : "are");
	return r;
}

int lab_tasks(struct cli *c)
{
	struct tasks_bench b = {.c = c};
	char *file = NULL;
	int r = samples_check(c);

	if (r == CLI_OK)
		r = find_file(&b, &file);
	b.file = file;
	if (r == CLI_OK)
		r = open_device(&b);
	if (r == CLI_OK)
		r = read_options(&b);
	if (r == CLI_OK)
		r = run_all(&b);
	heddle_tasks_destroy(b.pool);
	samples_close(&b.samples);
	heddle_close(b.h);
	free(file);
	return r;
}
