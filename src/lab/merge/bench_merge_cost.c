/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures what heddle's scheduler costs when it runs a single kernel (KernelMerge, section 2.4,
 * figure 5), compared with the plain kernel. The total cost is the sum of four parts:
 * - ids: each block computes its block index. The measured form launches as many blocks as the
 *   plain kernel; it is the "vertically" fused form with only one kernel in it.
 * - occupancy: the plain kernel runs with unused dynamic shared memory, which limits its blocks on
 *   an SM to the number of workers on an SM. (The unused memory also shrinks the L1 cache.)
 * - queue: the remaining cost of the form whose workers serve only this kernel.
 * - choosing: the additional cost if each worker chooses the kernel of its next claim, as it would
 *   with several kernels.
 *
 * For comparison with the last part, one more form lets all workers choose together through a
 * shared control word, as published in figure 3a (CTL_STEAL_SHARED). */
#include "lab/merge/bench_merge.h"

#include "front/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 1000

struct timing {
	double ms[ROUNDS_MAX];
	unsigned n;
};

static bool is_wanted(const struct merge_bench *b, unsigned kernel)
{
	for (unsigned i = 0; i < b->n_pairs; i++)
		if (b->pairs[i].a == kernel || b->pairs[i].b == kernel)
			return true;
	return false;
}

/* ---- as they are ---- */

static uint64_t bytes_of(const struct spec *s)
{
	uint64_t sum = 0;

	for (unsigned a = 0; a < s->n_args; a++)
		sum += s->args[a].is_buffer ? s->args[a].bytes : 0;
	return sum;
}

static void say_alone(struct merge_bench *b, unsigned i, double mhz)
{
	struct merge_kernel *k = &b->kernels[i];
	uint64_t blocks = host_total_blocks(&k->spec.shape);
	uint64_t fit = (uint64_t)k->of[0].fit * b->device.d.n_sms, bytes = bytes_of(&k->spec);
	double waves = fit ? (double)blocks / (double)fit : 0;

	cli_show(b->c, "%-13s %9.4f %10" PRIu64 " %8" PRIu64 " %8.1f %8.1f %6.0f%s\n",
		merge_rows[i].name, k->alone_ms, blocks, fit, waves, (double)bytes / 1e6, mhz,
		b->large && (k->alone_ms < 1 || waves < 10) ? "  less than it should be" : "");
	json_begin_object(b->j, NULL);
	json_str(b->j, "name", merge_rows[i].name);
	json_num(b->j, "ms", k->alone_ms);
	json_uint(b->j, "blocks", blocks);
	json_uint(b->j, "fit", fit);
	json_num(b->j, "waves", waves);
	json_uint(b->j, "bytes", bytes);
	json_num(b->j, "mhz", mhz);
	json_end(b->j, '}');
}

static int time_once(struct merge_bench *b, struct corun *x, enum host_way way,
	const struct host_merging *m, const struct host_merge_plan *plan, struct timing *t)
{
	struct host_times times;
	bool same;
	int r = corun_once(x, way, m, plan, false, &times, &same);

	if (r == CLI_OK && t)
		t->ms[t->n++] = times.ms;
	b->wrong += r == CLI_OK && !same;
	return r;
}

static int measure_alone(struct merge_bench *b, unsigned i)
{
	struct merge_kernel *k = &b->kernels[i];
	struct corun_kernel *of = &k->of[0];
	struct timing t = {.n = 0};
	struct corun *x = NULL;
	struct arena arena;
	double mhz = 0;
	int r = merge_kernel(b, i, false);

	arena_init(&arena, 0);
	if (r == CLI_OK)
		r = corun_open(b->c, &arena, &b->device, &of, 1, &x);
	if (r == CLI_OK)
		r = corun_prepare(x, HOST_WAY_SEQUENTIAL, NULL, NULL);
	if (r == CLI_OK)
		r = time_once(b, x, HOST_WAY_SEQUENTIAL, NULL, NULL, NULL);
	for (unsigned n = 0; r == CLI_OK && n < b->rounds; n++)
		r = time_once(b, x, HOST_WAY_SEQUENTIAL, NULL, NULL, &t);
	if (r == CLI_OK)
		JOB_TRY(b->c, gauge_mhz(&b->device.d.cu, &b->device.gauge, &mhz), "clock");
	k->alone_ms = median_of(t.ms, t.n);
	corun_close(x);
	arena_finish(&arena);
	if (r == CLI_OK)
		say_alone(b, i, mhz);
	return r;
}

int merge_alone(struct merge_bench *b)
{
	int r = CLI_OK;

	cli_show(b->c, "\n%-13s %9s %10s %8s %8s %8s %6s\n", "kernel", "alone ms", "blocks", "fit",
		"waves", "MB", "MHz");
	json_begin_array(b->j, "kernels");
	progress_begin(0);
	for (unsigned i = 0; i < MERGE_KERNELS && r == CLI_OK; i++)
		if (is_wanted(b, i))
			r = measure_alone(b, i);
	progress_clear();
	json_end(b->j, ']');
	return r;
}

/* ---- in the scheduler ---- */

#define CLAIMS 6 /* 1, 2, 4 ... blocks */

enum { PLAIN, LIMITED, IDS, KEEP, TURNS, SHARED = TURNS + CLAIMS, FORMS = SHARED + CLAIMS };

struct cost {
	struct corun *x;
	unsigned kernel;
	uint32_t limited; /* bytes of shared memory for nothing; 0: none is needed */
	struct host_merging merging[FORMS];
	struct host_merge_plan plan[FORMS];
	struct timing times[FORMS];
	double ms[FORMS];
	double make_ms, compile_ms;
};

static enum host_way how_of(unsigned form)
{
	return form == IDS    ? HOST_WAY_VERTICAL
	       : form >= KEEP ? HOST_WAY_MERGE
			      : HOST_WAY_SEQUENTIAL;
}

/* Finds an amount of dynamic shared memory that keeps an SM from holding more than `most` blocks of
 * the kernel. The amount is at most 128 bytes more than necessary. */
static int limit_blocks(struct merge_bench *b, struct cost *t, uint32_t most)
{
	struct host_device *d = &b->device.d;
	struct corun_kernel *k = &b->kernels[t->kernel].of[0];
	struct host_shape shape = k->k.spec->shape;
	int room = 0, fixed = 0, low, high;
	struct host_fault f;
	uint32_t fit;

	t->limited = 0;
	if (most >= k->fit)
		return CLI_OK;
	JOB_TRY(b->c,
		d->cu.cuDeviceGetAttribute(
			&room, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, d->device),
		"device");
	JOB_TRY(b->c,
		d->cu.cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k->host.fn),
		"kernel");
	high = room - fixed;
	for (low = 0; high - low > 128;) {
		shape.shared_bytes = (uint32_t)(low + (high - low) / 2);
		if (host_kernel_fit(d, &k->host, &shape, &fit, &f) < 0)
			return job_host_failed(b->c, &f);
		if (fit > most)
			low = (int)shape.shared_bytes;
		else
			high = (int)shape.shared_bytes;
	}
	if (host_room(d, k->host.fn, (uint32_t)high, &f) < 0)
		return job_host_failed(b->c, &f);
	t->limited = (uint32_t)high;
	return CLI_OK;
}

static enum ctl_order order_of(unsigned form)
{
	return form == KEEP ? CTL_PARTITION : form >= SHARED ? CTL_STEAL_SHARED : CTL_STEAL;
}

static int prepare_forms(struct merge_bench *b, struct cost *t)
{
	int r = CLI_OK;

	for (unsigned f = 0; f < FORMS && r == CLI_OK; f++) {
		t->merging[f] =
			(struct host_merging){.order = order_of(f), .share = {1}, .chunk = 1};
		if (f >= TURNS)
			t->merging[f].chunk = 1u << ((f - TURNS) % CLAIMS);
		r = corun_prepare(t->x, how_of(f), &t->merging[f], NULL);
		if (r == CLI_OK)
			r = corun_plan(t->x, how_of(f), &t->merging[f], NULL, &t->plan[f]);
	}
	if (r == CLI_OK)
		corun_made(t->x, HOST_WAY_MERGE, &t->make_ms, &t->compile_ms);
	return r == CLI_OK ? limit_blocks(b, t, t->plan[TURNS].per_sm) : r;
}

static int time_form(struct merge_bench *b, struct cost *t, unsigned f, bool counts)
{
	uint32_t bytes = b->kernels[t->kernel].spec.shape.shared_bytes;
	int r;

	if (f == LIMITED && !t->limited)
		return CLI_OK;
	corun_take_shared(t->x, 0, f == LIMITED ? t->limited : bytes);
	r = time_once(
		b, t->x, how_of(f), &t->merging[f], &t->plan[f], counts ? &t->times[f] : NULL);
	corun_take_shared(t->x, 0, bytes);
	return r;
}

/* Returns the fastest of the forms from `first` on, which differ in the number of blocks for each
 * claim. */
static unsigned best_claim(const struct cost *t, unsigned first)
{
	unsigned best = first;

	for (unsigned f = first; f < first + CLAIMS; f++)
		if (t->ms[f] < t->ms[best])
			best = f;
	return best;
}

static void json_claims(struct json *j, const struct cost *t, const char *key, unsigned first)
{
	json_begin_array(j, key);
	for (unsigned f = first; f < first + CLAIMS; f++) {
		json_begin_object(j, NULL);
		json_uint(j, "chunk", t->merging[f].chunk);
		json_num(j, "ms", t->ms[f]);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void say_cost(struct merge_bench *b, const struct cost *t)
{
	const char *name = merge_rows[t->kernel].name;
	const double *ms = t->ms;
	double p = ms[PLAIN], ids = ms[IDS] / p - 1, lost = ms[LIMITED] / p - 1;
	double keep = ms[KEEP] / p - 1, total = ms[TURNS] / p - 1;
	unsigned best = best_claim(t, TURNS), shared = best_claim(t, SHARED);
	uint32_t fit = b->kernels[t->kernel].of[0].fit, workers = t->plan[TURNS].per_sm;

	cli_show(b->c,
		"%-13s %9.4f %7.1f %7.1f (%2u, %2u) %7.1f %7.1f %8.1f %8.1f of %2u %8.1f %8.1f of "
		"%2u %8.2f %8.1f\n",
		name, p, ids * 100, lost * 100, fit, workers, (keep - ids - lost) * 100,
		(total - keep) * 100, total * 100, (ms[best] / p - 1) * 100, t->merging[best].chunk,
		(ms[SHARED] / p - 1) * 100, (ms[shared] / p - 1) * 100, t->merging[shared].chunk,
		t->make_ms, t->compile_ms);
	json_begin_object(b->j, NULL);
	json_str(b->j, "kernel", name);
	json_num(b->j, "plain_ms", p);
	json_num(b->j, "limited_ms", ms[LIMITED]);
	json_num(b->j, "ids_ms", ms[IDS]);
	json_num(b->j, "keep_ms", ms[KEEP]);
	json_num(b->j, "total_ms", ms[TURNS]);
	json_claims(b->j, t, "claims", TURNS);
	json_claims(b->j, t, "shared_claims", SHARED);
	json_uint(b->j, "fit", fit);
	json_uint(b->j, "workers", workers);
	json_num(b->j, "ids", ids);
	json_num(b->j, "occupancy", lost);
	json_num(b->j, "queue", keep - ids - lost);
	json_num(b->j, "choosing", total - keep);
	json_num(b->j, "total", total);
	json_num(b->j, "best", ms[best] / p - 1);
	json_num(b->j, "shared", ms[SHARED] / p - 1);
	json_num(b->j, "shared_best", ms[shared] / p - 1);
	json_num(b->j, "make_ms", t->make_ms);
	json_num(b->j, "compile_ms", t->compile_ms);
	json_end(b->j, '}');
}

static int cost_of(struct merge_bench *b, struct cost *t)
{
	struct corun_kernel *of = &b->kernels[t->kernel].of[0];
	struct arena arena;
	int r;

	arena_init(&arena, 0);
	r = corun_open(b->c, &arena, &b->device, &of, 1, &t->x);
	if (r == CLI_OK)
		r = prepare_forms(b, t);
	for (unsigned n = 0; n <= b->rounds && r == CLI_OK; n++)
		for (unsigned f = 0; f < FORMS && r == CLI_OK; f++) {
			progress_step("%s in the scheduler", merge_rows[t->kernel].name);
			r = time_form(b, t, f, n > 0);
		}
	corun_close(t->x);
	arena_finish(&arena);
	for (unsigned f = 0; f < FORMS; f++)
		t->ms[f] = median_of(t->times[f].ms, t->times[f].n);
	if (!t->limited)
		t->ms[LIMITED] = t->ms[PLAIN];
	progress_clear();
	if (r == CLI_OK)
		say_cost(b, t);
	return r;
}

int merge_overhead(struct merge_bench *b)
{
	double logs = 0, best_logs = 0, shared_logs = 0;
	unsigned n = 0;
	struct cost *t = malloc(sizeof(*t));

	if (!t)
		return job_out_of_memory(b->c);
	cli_show(b->c,
		"\nwhat the scheduler costs one kernel, %% of its time; (fit: blocks, workers on "
		"an "
		"SM; shared: turns from one word)\n"
		"%-13s %9s %7s %16s %7s %7s %8s %14s %8s %14s %8s %8s\n",
		"kernel", "plain ms", "ids", "occupancy (fit)", "queue", "choose", "total",
		"best claim", "shared", "best claim", "make ms", "compile");
	json_begin_array(b->j, "overhead");
	for (unsigned i = 0; i < MERGE_KERNELS && !merge_is_late(b); i++) {
		if (!is_wanted(b, i))
			continue;
		*t = (struct cost){.kernel = i};
		progress_begin((b->rounds + 1) * FORMS);
		if (cost_of(b, t) != CLI_OK) {
			b->failures++;
			continue;
		}
		logs += log(t->ms[TURNS] / t->ms[PLAIN]);
		best_logs += log(t->ms[best_claim(t, TURNS)] / t->ms[PLAIN]);
		shared_logs += log(t->ms[best_claim(t, SHARED)] / t->ms[PLAIN]);
		n++;
	}
	json_end(b->j, ']');
	free(t);
	if (!n)
		return CLI_OK;
	json_num(b->j, "overhead_geomean", exp(logs / n) - 1);
	json_num(b->j, "overhead_best_geomean", exp(best_logs / n) - 1);
	json_num(b->j, "overhead_shared_geomean", exp(shared_logs / n) - 1);
	cli_show(b->c,
		"geometric mean: a block a claim %+.2f %%, with the best claims %+.2f %%; shared, "
		"with the best claims, %+.2f %%\n",
		(exp(logs / n) - 1) * 100, (exp(best_logs / n) - 1) * 100,
		(exp(shared_logs / n) - 1) * 100);
	return CLI_OK;
}
