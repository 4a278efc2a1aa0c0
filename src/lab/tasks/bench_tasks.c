/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs the programs of heddle bench tasks on the device (bench_tasks.h). Before each way starts,
 * the tasks' outputs are erased. Each way has the whole device to itself and ends when the host
 * knows that all tasks have ended. */
#include "lab/tasks/bench_tasks.h"
#include "job/ways.h"
#include "rt/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* maximum number of different inputs; the host computes the output of each once */
#define INPUTS 128u
#define WAIT   UINT64_MAX

static int pool_failed(struct tasks_bench *b, const char *what)
{
	return cli_error(b->c, NULL, "%s: %s", what, heddle_tasks_error(b->pool));
}

static int device_failed(struct tasks_bench *b, CUresult r, const char *what)
{
	const char *text = cu_result_text(r);

	return cli_error(b->c, NULL, "%s: %s", what, text ? text : "unknown error");
}

/* ---- making the tasks' inputs ---- */

static int make_inputs(struct tasks_bench *b, struct tasks_program *p)
{
	uint64_t seed = b->seed;

	p->n = b->tasks;
	p->n_inputs = MIN(b->tasks, INPUTS);
	p->inputs = calloc(p->n_inputs, sizeof(*p->inputs));
	p->in_at = calloc(p->n_inputs, sizeof(*p->in_at));
	p->out_at = calloc(p->n, sizeof(*p->out_at));
	p->want_of = calloc(p->n_inputs, sizeof(*p->want_of));
	if (!p->inputs || !p->in_at || !p->out_at || !p->want_of)
		return -ENOMEM;
	for (unsigned i = 0; i < p->n_inputs; i++) {
		p->of->shape(&p->inputs[i], &seed, b->is_virtual);
		p->in_at[i] = p->in_words;
		p->in_words += p->inputs[i].in_words;
	}
	for (unsigned i = 0; i < p->n; i++) {
		p->out_at[i] = p->out_words;
		p->out_words += p->inputs[i % p->n_inputs].out_words;
	}
	p->memory = malloc(4 * (p->in_words + 1));
	p->got = malloc(4 * p->out_words);
	/* One expected output for each different input, in the order of the outputs. */
	p->want = malloc(4 * p->out_words);
	if (!p->memory || !p->got || !p->want)
		return -ENOMEM;
	for (uint64_t i = 0; i < p->in_words; i++)
		p->memory[i] = (float)narrow_random(&seed, 1u << 20) / (1 << 20) - 0.5f;
	for (unsigned i = 0; i < p->n_inputs; i++) {
		p->want_of[i] = p->want + p->out_at[i];
		p->of->expect(&p->inputs[i], p->memory + p->in_at[i], p->want_of[i]);
	}
	return 0;
}

int tasks_open(struct tasks_bench *b, struct tasks_program *p, const struct narrow_program *of)
{
	int r;

	*p = (struct tasks_program){.of = of};
	r = make_inputs(b, p);
	if (r < 0)
		return cli_error(b->c, "fewer --tasks", "out of memory");
	r = heddle_load_file(b->h, of->name, b->file, of->kernel);
	if (r == 0)
		r = heddle_alloc(b->h, 4 * (p->in_words + 1), &p->in);
	if (r == 0)
		r = heddle_alloc(b->h, 4 * p->out_words, &p->out);
	if (r == 0)
		r = heddle_write(b->h, p->in, p->memory, 4 * p->in_words);
	if (r < 0)
		return cli_error(b->c, NULL, "%s: %s", of->name, heddle_error(b->h));
	if (heddle_tasks_add(b->pool, of->name, &p->kernel) < 0)
		return pool_failed(b, of->name);
	return CLI_OK;
}

void tasks_close(struct tasks_bench *b, struct tasks_program *p)
{
	if (p->in)
		heddle_free(b->h, p->in);
	if (p->out)
		heddle_free(b->h, p->out);
	free(p->inputs);
	free(p->in_at);
	free(p->out_at);
	free(p->want);
	free(p->want_of);
	free(p->memory);
	free(p->got);
}

static int check_outputs(struct tasks_bench *b, struct tasks_program *p)
{
	if (heddle_read(b->h, p->got, p->out, 4 * p->out_words) < 0)
		return cli_error(b->c, NULL, "reading: %s", heddle_error(b->h));
	for (unsigned i = 0; i < p->n; i++)
		p->wrong += memcmp(p->got + p->out_at[i], p->want_of[i % p->n_inputs],
				    4ul * p->inputs[i % p->n_inputs].out_words) != 0;
	return CLI_OK;
}

static void params_of(const struct tasks_program *p, unsigned i, struct narrow_params *ret)
{
	unsigned k = i % p->n_inputs;

	ret->n = 0;
	p->of->params(&p->inputs[k], p->in + 4 * p->in_at[k], p->out + 4 * p->out_at[i], ret);
}

/* ---- measuring the ways ---- */

static int run_pool(struct tasks_bench *b, struct tasks_program *p, double *ret_ms)
{
	struct heddle_task task = {.size = sizeof(task),
		.kernel = p->kernel,
		.grid = {1, 1, 1},
		.block = {b->threads, 1, 1}};
	struct narrow_params params;
	double began;

	if (heddle_tasks_resume(b->pool) < 0)
		return pool_failed(b, p->of->name);
	task.params = params.at;
	began = clock_ms();
	for (unsigned i = 0; i < p->n; i++) {
		params_of(p, i, &params);
		task.shared_bytes = p->inputs[i % p->n_inputs].shared_bytes;
		if (heddle_tasks_spawn(b->pool, &task, NULL) < 0)
			return pool_failed(b, p->of->name);
	}
	if (heddle_tasks_wait_all(b->pool, WAIT) < 0)
		return pool_failed(b, p->of->name);
	*ret_ms = clock_ms() - began;
	return heddle_tasks_suspend(b->pool) < 0 ? pool_failed(b, p->of->name) : CLI_OK;
}

static CUresult launch_all(const struct tasks_bench *b, const struct tasks_program *p,
	CUstream *streams, unsigned n_streams)
{
	const struct cu_api *cu = &b->h->d.cu;
	CUfunction fn = rt_find(b->h, p->of->name)->host.fn;
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < p->n && r == CUDA_SUCCESS; i++) {
		struct narrow_params params;

		params_of(p, i, &params);
		r = cu->cuLaunchKernel(fn, 1, 1, 1, b->threads, 1, 1,
			p->inputs[i % p->n_inputs].shared_bytes, streams[i % n_streams], params.at,
			NULL);
	}
	for (unsigned s = 0; s < n_streams && r == CUDA_SUCCESS; s++)
		r = cu->cuStreamSynchronize(streams[s]);
	return r;
}

static int run_launches(
	struct tasks_bench *b, struct tasks_program *p, unsigned n_streams, double *ret_ms)
{
	const struct cu_api *cu = &b->h->d.cu;
	CUstream streams[TASKS_STREAMS];
	unsigned n = 0;
	CUresult r = CUDA_SUCCESS;
	double began;

	if (rt_enter(b->h) < 0)
		return cli_error(b->c, NULL, "%s", heddle_error(b->h));
	while (r == CUDA_SUCCESS && n < n_streams) {
		r = cu->cuStreamCreate(&streams[n], CU_STREAM_NON_BLOCKING);
		n += r == CUDA_SUCCESS;
	}
	began = clock_ms();
	if (r == CUDA_SUCCESS)
		r = launch_all(b, p, streams, n);
	*ret_ms = clock_ms() - began;
	while (n)
		cu->cuStreamDestroy(streams[--n]);
	rt_leave(b->h);
	return r == CUDA_SUCCESS ? CLI_OK : device_failed(b, r, p->of->name);
}

static int wipe_outputs(struct tasks_bench *b, const struct tasks_program *p)
{
	CUresult r;

	if (rt_enter(b->h) < 0)
		return cli_error(b->c, NULL, "%s", heddle_error(b->h));
	r = b->h->d.cu.cuMemsetD8(p->out, 0xff, 4 * p->out_words);
	if (r == CUDA_SUCCESS)
		r = b->h->d.cu.cuCtxSynchronize();
	rt_leave(b->h);
	return r == CUDA_SUCCESS ? CLI_OK : device_failed(b, r, "wiping");
}

unsigned tasks_ways(const struct tasks_bench *b)
{
	unsigned n = 1;

	while (n <= TASKS_WAYS && 1u << (n - 1) <= b->streams)
		n++;
	return n;
}

const char *tasks_way_name(unsigned way, char buf[32])
{
	if (way)
		snprintf(buf, 32, "%u streams", 1u << (way - 1));
	else
		snprintf(buf, 32, "pool");
	return buf;
}

/* Packs a row of samples. ms has b->rounds times for each way. */
static json_t *pack(const struct tasks_bench *b, const struct tasks_program *p, const double *ms)
{
	unsigned n = tasks_ways(b);
	json_t *o = json_object();
	char name[32];

	for (unsigned way = 0; way < n; way++)
		json_object_set_new(o, tasks_way_name(way, name),
			samples_numbers(ms + way * b->rounds, b->rounds));
	json_object_set_new(o, "tasks", samples_number(p->n));
	json_object_set_new(o, "checked", samples_number((double)p->n * n * b->rounds));
	json_object_set_new(o, "wrong", samples_number(p->wrong));
	return o;
}

int tasks_measure(struct tasks_bench *b, struct tasks_program *p, json_t **ret)
{
	double *ms = calloc((1 + TASKS_WAYS) * b->rounds, sizeof(*ms));
	int r = ms ? CLI_OK : cli_error(b->c, NULL, "out of memory");
	unsigned n = tasks_ways(b);

	if (r == CLI_OK && heddle_tasks_suspend(b->pool) < 0)
		r = pool_failed(b, p->of->name);
	/* The ways run alternately, so that a change during the measurement affects all of
	 * them. */
	for (unsigned i = 0; r == CLI_OK && i < n * b->rounds; i++) {
		unsigned way = i % n;
		double *to = &ms[way * b->rounds + i / n];

		r = wipe_outputs(b, p);
		if (r == CLI_OK)
			r = way ? run_launches(b, p, 1u << (way - 1), to) : run_pool(b, p, to);
		if (r == CLI_OK)
			r = check_outputs(b, p);
	}
	if (r == CLI_OK)
		*ret = pack(b, p, ms);
	free(ms);
	if (heddle_tasks_resume(b->pool) < 0 && r == CLI_OK)
		r = pool_failed(b, p->of->name);
	return r;
}

/* ---- measuring empty tasks ---- */
#define EMPTY "narrow_empty"

static int add_empty(struct tasks_bench *b, struct heddle_task *ret)
{
	static const uint64_t nowhere;

	*ret = (struct heddle_task){.size = sizeof(*ret),
		.kernel = b->empty,
		.grid = {1, 1, 1},
		.block = {b->threads, 1, 1},
		.args = &nowhere,
		.args_bytes = sizeof(nowhere)};
	if (b->has_empty)
		return CLI_OK;
	if (heddle_load_file(b->h, EMPTY, b->file, EMPTY) < 0)
		return cli_error(b->c, NULL, "%s", heddle_error(b->h));
	if (heddle_tasks_add(b->pool, EMPTY, &ret->kernel) < 0 ||
		/* the pool has loaded the kernel when this task ends */
		heddle_tasks_spawn(b->pool, ret, NULL) < 0 ||
		heddle_tasks_wait_all(b->pool, WAIT) < 0)
		return pool_failed(b, EMPTY);
	b->empty = ret->kernel;
	b->has_empty = true;
	return CLI_OK;
}

struct producer {
	struct heddle_tasks *pool;
	const struct heddle_task *task;
	unsigned n;
	int failed;
	pthread_t thread;
};

static void *produce_tasks(void *user)
{
	struct producer *p = user;

	for (unsigned i = 0; i < p->n && p->failed == 0; i++)
		p->failed = heddle_tasks_spawn(p->pool, p->task, NULL);
	return NULL;
}

/* Spawns n empty tasks from the given number of threads, including the calling thread.
 * *ret_spawned_ms is the time until the last task is spawned, and *ret_ms the time until all tasks
 * have ended. */
static int spawn_empty(struct tasks_bench *b, const struct heddle_task *task, unsigned n,
	unsigned threads, double *ret_spawned_ms, double *ret_ms)
{
	struct producer of[1u << (TASKS_PRODUCERS - 1)];
	double began = clock_ms();
	unsigned started = 1;
	bool failed = false;

	for (unsigned i = 0; i < threads; i++)
		of[i] = (struct producer){.pool = b->pool,
			.task = task,
			.n = n * (i + 1) / threads - n * i / threads};
	while (started < threads &&
		pthread_create(&of[started].thread, NULL, produce_tasks, &of[started]) == 0)
		started++;
	produce_tasks(&of[0]);
	for (unsigned i = 1; i < started; i++)
		pthread_join(of[i].thread, NULL);
	*ret_spawned_ms = clock_ms() - began;
	for (unsigned i = 0; i < started; i++)
		failed |= of[i].failed < 0;
	if (failed || heddle_tasks_wait_all(b->pool, WAIT) < 0)
		return pool_failed(b, EMPTY);
	*ret_ms = clock_ms() - began;
	return started == threads ? CLI_OK : cli_error(b->c, NULL, "no thread to spawn with");
}

int tasks_empty(struct tasks_bench *b, unsigned n, json_t **ret)
{
	struct heddle_tasks_state state = {.size = sizeof(state)};
	double *ms = calloc(b->rounds, sizeof(*ms)), spawned, all;
	struct heddle_task task;
	int r = ms ? add_empty(b, &task) : cli_error(b->c, NULL, "out of memory");
	json_t *o = json_object();
	unsigned burst;
	char name[24];

	heddle_tasks_look(b->pool, &state);
	burst = MIN(n, 8 * state.columns);
	for (unsigned k = 0; r == CLI_OK && k < TASKS_PRODUCERS; k++) {
		for (unsigned i = 0; r == CLI_OK && i < b->rounds; i++)
			r = spawn_empty(b, &task, n, 1u << k, &spawned, &ms[i]);
		snprintf(name, sizeof(name), "ms %u", 1u << k);
		json_object_set_new(o, name, samples_numbers(ms, b->rounds));
	}
	/* The first run only wakes the executor and warms its caches; the second is timed. */
	for (unsigned i = 0; r == CLI_OK && i < b->rounds; i++) {
		r = spawn_empty(b, &task, burst, 1, &spawned, &all);
		if (r == CLI_OK)
			r = spawn_empty(b, &task, burst, 1, &ms[i], &all);
	}
	json_object_set_new(o, "spawn_ms", samples_numbers(ms, b->rounds));
	json_object_set_new(o, "burst", samples_number(burst));
	json_object_set_new(o, "tasks", samples_number(n));
	if (r == CLI_OK)
		*ret = o;
	else
		json_decref(o);
	free(ms);
	return r;
}

static int read_legs(
	struct tasks_bench *b, uint64_t id, double us, unsigned i, unsigned n, double *ret_legs)
{
	struct task_stamps s;
	double of[TASKS_LEGS];

	if (pool_read_stamps(b->pool, id, &s) < 0)
		return pool_failed(b, EMPTY);
	of[TASKS_PLACED] = ((double)s.placed - (double)s.seen) / 1000;
	of[TASKS_BEGUN] = ((double)s.begun - (double)s.placed) / 1000;
	of[TASKS_ENDED] = ((double)s.ended - (double)s.begun) / 1000;
	of[TASKS_FENCED] = ((double)s.fenced - (double)s.ended) / 1000;
	of[TASKS_REST] = us - ((double)s.fenced - (double)s.seen) / 1000;
	for (unsigned leg = 0; leg < TASKS_LEGS; leg++)
		ret_legs[leg * n + i] = of[leg];
	return CLI_OK;
}

int tasks_latency(struct tasks_bench *b, unsigned n, double *ret_us, double *ret_legs)
{
	struct heddle_task task;
	int r = add_empty(b, &task);

	for (unsigned i = 0; i < n && r == CLI_OK; i++) {
		double began = clock_ms();
		uint64_t id;

		if (heddle_tasks_spawn(b->pool, &task, &id) < 0 ||
			heddle_tasks_wait(b->pool, id, WAIT) < 0)
			return pool_failed(b, EMPTY);
		ret_us[i] = (clock_ms() - began) * 1000;
		if (b->stamps)
			r = read_legs(b, id, ret_us[i], i, n, ret_legs);
	}
	for (unsigned leg = 0; r == CLI_OK && b->stamps && leg < TASKS_LEGS; leg++)
		sort_values(ret_legs + leg * n, n);
	if (r == CLI_OK)
		sort_values(ret_us, n);
	return r;
}
