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

struct latency {
	unsigned n;
	double p50, p99, most;
	bool has_legs;
	double legs[TASKS_LEGS]; /* medians */
};

static const char *const leg_names[TASKS_LEGS] = {
	[TASKS_PLACED] = "placed",
	[TASKS_BEGUN] = "begun",
	[TASKS_ENDED] = "ended",
	[TASKS_FENCED] = "fenced",
	[TASKS_REST] = "rest",
};

/* ---- opening ---- */

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

/* ---- what it writes ---- */

static void begin_json(struct tasks_bench *b, struct json *j, const struct heddle_tasks_state *s)
{
	cli_show(b->c, "%s, a pool of %s with %s for tasks\n", heddle_device(b->h),
		COUNTED(s->columns, "block"), COUNTED(s->executors, "warp"));
	if (b->is_virtual)
		cli_show(b->c, "A virtual GPU: outputs are checked, times say nothing of any "
			       "GPU.\n");
	cli_json_open(b->c, j, 1);
	json_str(j, "device", heddle_device(b->h));
	json_bool(j, "virtual", b->is_virtual);
	json_uint(j, "columns", s->columns);
	json_uint(j, "executors", s->executors);
	json_uint(j, "threads", b->threads);
	json_uint(j, "rounds", b->rounds);
	json_uint(j, "seed", b->seed);
}

static void text_empty(
	struct tasks_bench *b, unsigned n, const struct tasks_rate *e, const struct latency *l)
{
	cli_show(b->c, "\nempty        %s in %.2f ms, %.0f a second", COUNTED(n, "task"), e->ms[0],
		n / e->ms[0] * 1000);
	for (unsigned k = 1; k < TASKS_PRODUCERS; k++)
		cli_show(b->c, "; from %u threads %.0f", 1u << k, n / e->ms[k] * 1000);
	cli_show(b->c,
		"\nspawning     %u where places are free: %.1f ns each\n"
		"latency      of %u: p50 %.1f us, p99 %.1f us, at most %.1f us\n",
		e->burst, e->spawn_ns, l->n, l->p50, l->p99, l->most);
	for (unsigned i = 0; l->has_legs && i < TASKS_LEGS; i++)
		cli_show(b->c, "%s %s %.2f us%s", i ? "" : "medians of  ", leg_names[i], l->legs[i],
			i + 1 < TASKS_LEGS ? "," : "\n");
}

static void json_empty(
	struct json *j, unsigned n, const struct tasks_rate *e, const struct latency *l)
{
	json_begin_object(j, "empty");
	json_uint(j, "tasks", n);
	json_num(j, "ms", e->ms[0]);
	json_num(j, "per_second", n / e->ms[0] * 1000);
	json_num(j, "spawn_ns", e->spawn_ns);
	json_begin_array(j, "producers");
	for (unsigned k = 0; k < TASKS_PRODUCERS; k++) {
		json_begin_object(j, NULL);
		json_uint(j, "threads", 1u << k);
		json_num(j, "ms", e->ms[k]);
		json_num(j, "per_second", n / e->ms[k] * 1000);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
	json_begin_object(j, "latency");
	json_uint(j, "samples", l->n);
	json_num(j, "p50_us", l->p50);
	json_num(j, "p99_us", l->p99);
	json_num(j, "max_us", l->most);
	if (l->has_legs) {
		json_begin_object(j, "legs_us");
		for (unsigned i = 0; i < TASKS_LEGS; i++)
			json_num(j, leg_names[i], l->legs[i]);
		json_end(j, '}');
	}
	json_end(j, '}');
}

static unsigned best_way(const struct tasks_times *t)
{
	unsigned best = 1;

	for (unsigned i = 2; i < t->n; i++)
		best = t->ms[i] < t->ms[best] ? i : best;
	return best;
}

static void json_program(struct tasks_bench *b, struct json *j, const struct tasks_program *p,
	const struct tasks_times *t)
{
	unsigned best = best_way(t);

	json_begin_object(j, NULL);
	json_str(j, "program", p->of->name);
	json_uint(j, "tasks", p->n);
	json_num(j, "ms", t->ms[0]);
	json_begin_array(j, "launches");
	for (unsigned i = 1; i < t->n; i++) {
		json_begin_object(j, NULL);
		json_uint(j, "streams", 1u << (i - 1));
		json_num(j, "ms", t->ms[i]);
		json_end(j, '}');
	}
	json_end(j, ']');
	if (!b->is_virtual)
		json_num(j, "ratio", t->ms[best] / t->ms[0]);
	json_uint(j, "checked", t->checked);
	json_uint(j, "wrong", p->wrong);
	json_end(j, '}');
}

static void text_program(
	struct tasks_bench *b, const struct tasks_program *p, const struct tasks_times *t)
{
	cli_show(b->c, "\n%-12s %s: %.2f ms; as launches:", p->of->name, COUNTED(p->n, "task"),
		t->ms[0]);
	for (unsigned i = 1; i < t->n; i++)
		cli_show(b->c, " %.2f ms in %u%s", t->ms[i], 1u << (i - 1),
			i + 1 < t->n ? ","
			: i == 1     ? " stream"
				     : " streams");
	if (!b->is_virtual)
		cli_show(b->c, "; the best of them takes %.2f times as long",
			t->ms[best_way(t)] / t->ms[0]);
	cli_show(b->c, "\n%-12s %s checked, %u wrong\n", "", COUNTED(t->checked, "output"),
		p->wrong);
}

/* ---- all of it ---- */

static int run_empty(struct tasks_bench *b, struct json *j)
{
	unsigned n = cli_has(b->c, "tasks") ? b->tasks : b->is_virtual ? 2000 : 1000000;
	unsigned samples = b->is_virtual ? 100 : 10000;
	double *us = calloc((size_t)samples * (1 + TASKS_LEGS), sizeof(*us));
	struct tasks_rate rate = {0};
	struct latency l = {.n = samples};
	int r = us ? CLI_OK : cli_error(b->c, NULL, "out of memory");

	progress_step("empty tasks");
	if (r == CLI_OK)
		r = tasks_empty(b, n, &rate);
	if (r == CLI_OK)
		r = tasks_latency(b, samples, us, us + samples);
	if (r == CLI_OK) {
		l.p50 = us[samples / 2];
		l.p99 = us[samples * 99 / 100];
		l.most = us[samples - 1];
		l.has_legs = b->stamps;
		for (unsigned i = 0; i < TASKS_LEGS; i++)
			l.legs[i] = us[samples * (1 + i) + samples / 2];
		text_empty(b, n, &rate, &l);
		json_empty(j, n, &rate, &l);
	}
	free(us);
	return r;
}

static int run_program(
	struct tasks_bench *b, struct json *j, const struct narrow_program *of, unsigned *io_wrong)
{
	struct tasks_program p;
	struct tasks_times t;
	int r;

	progress_step("%s", of->name);
	r = tasks_open(b, &p, of);
	if (r == CLI_OK)
		r = tasks_measure(b, &p, &t);
	if (r == CLI_OK) {
		json_program(b, j, &p, &t);
		text_program(b, &p, &t);
	}
	*io_wrong += p.wrong;
	tasks_close(b, &p);
	return r;
}

static bool is_wanted(const struct tasks_bench *b, const char *name)
{
	const char *only = cli_value(b->c, "program");

	if (b->stamps) /* they cost something */
		return !strcmp(name, "empty");
	return !only || !strcmp(only, "all") || !strcmp(only, name);
}

static int run_all(struct tasks_bench *b)
{
	struct heddle_tasks_state state = {.size = sizeof(state)};
	unsigned wrong = 0;
	struct json j;
	const struct heddle_tasks_options o = {
		.size = sizeof(o), .blocks_per_sm = b->columns, .leave_sms = b->leave};
	int r = heddle_tasks_create(b->h, &o, &b->pool);

	if (r < 0)
		return cli_error(b->c, NULL, "%s", heddle_error(b->h));
	b->pool->nap_ns = b->nap;
	if (b->stamps && pool_ask_stamps(b->pool) < 0)
		return cli_error(b->c, NULL, "%s", heddle_error(b->h));
	heddle_tasks_look(b->pool, &state);
	progress_begin(1 + narrow_n_programs);
	begin_json(b, &j, &state);
	r = is_wanted(b, "empty") ? run_empty(b, &j) : CLI_OK;
	json_begin_array(&j, "programs");
	for (unsigned i = 0; r == CLI_OK && i < narrow_n_programs; i++)
		if (is_wanted(b, narrow_programs[i].name))
			r = run_program(b, &j, &narrow_programs[i], &wrong);
	json_end(&j, ']');
	json_uint(&j, "wrong", wrong);
	json_end(&j, '}');
	progress_clear();
	if (r == CLI_OK && wrong)
		r = cli_error(b->c, NULL, "%s %s wrong", COUNTED(wrong, "output"),
			wrong == 1 ? "is" : "are");
	return r;
}

int lab_tasks(struct cli *c)
{
	struct tasks_bench b = {.c = c};
	char *file = NULL;
	int r = find_file(&b, &file);

	b.file = file;
	if (r == CLI_OK)
		r = open_device(&b);
	if (r == CLI_OK)
		r = read_options(&b);
	if (r == CLI_OK)
		r = run_all(&b);
	heddle_tasks_destroy(b.pool);
	heddle_close(b.h);
	free(file);
	return r;
}
