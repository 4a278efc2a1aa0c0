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

/* ---- measuring the unmodified kernels ---- */

static uint64_t bytes_of(const struct spec *s)
{
	uint64_t sum = 0;

	for (unsigned a = 0; a < s->n_args; a++)
		sum += s->args[a].is_buffer ? s->args[a].bytes : 0;
	return sum;
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

static const char *alone_key(unsigned i, char *buf, size_t size)
{
	snprintf(buf, size, "alone %s", merge_rows[i].name);
	return buf;
}

/* Adds the row with the samples "ms" (time of each run), "mhz", "blocks", "fit" and "bytes". */
static void keep_alone(struct merge_bench *b, unsigned i, const struct timing *t, double mhz)
{
	const struct merge_kernel *k = &b->kernels[i];
	char key[48];

	samples_add(&b->samples, alone_key(i, key, sizeof(key)),
		json_pack("{so so so so so}", "ms", samples_numbers(t->ms, t->n), "mhz",
			samples_number(mhz), "blocks",
			samples_number((double)host_total_blocks(&k->spec.shape)), "fit",
			samples_number((double)k->of[0].fit * b->device.d.n_sms), "bytes",
			samples_number((double)bytes_of(&k->spec))));
}

static int measure_alone(struct merge_bench *b, unsigned i)
{
	struct corun_kernel *of = &b->kernels[i].of[0];
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
	if (r == CLI_OK)
		keep_alone(b, i, &t, mhz);
	corun_close(x);
	arena_finish(&arena);
	return r;
}

static void show_alone(struct merge_bench *b, struct sheet *s, unsigned i)
{
	char key[48];
	const json_t *row = samples_row(&b->samples, alone_key(i, key, sizeof(key)));
	double ms = samples_median(row, "ms"), blocks = samples_first(row, "blocks");
	double fit = samples_first(row, "fit"), waves = fit > 0 ? blocks / fit : 0;

	if (!row)
		return;
	sheet_row(s);
	sheet_str(s, "name", merge_rows[i].name);
	sheet_num(s, "ms", ms, 1, 4, "");
	sheet_uint(s, "blocks", (uint64_t)blocks);
	sheet_uint(s, "fit", (uint64_t)fit);
	sheet_num(s, "waves", waves, 1, 1, "");
	json_uint(s->j, "bytes", (uint64_t)samples_first(row, "bytes"));
	table_cell(&s->t, "%.1f", samples_first(row, "bytes") / 1e6);
	sheet_num(s, "mhz", samples_first(row, "mhz"), 1, 0, "");
	if (b->large && (ms < 1 || waves < 10))
		table_note(&s->t, "less than it should be");
	sheet_row_end(s);
}

int merge_alone(struct merge_bench *b)
{
	int r = CLI_OK;
	struct sheet s;
	char key[48];

	progress_begin(0);
	for (unsigned i = 0; i < MERGE_KERNELS && r == CLI_OK; i++)
		if (is_wanted(b, i) && !samples_row(&b->samples, alone_key(i, key, sizeof(key))))
			r = measure_alone(b, i);
	progress_clear();
	sheet_begin(&s, b->c, b->j, "kernels", "<kernel|alone ms|blocks|fit|waves|MB|MHz",
		"kernels alone");
	for (unsigned i = 0; i < MERGE_KERNELS; i++)
		show_alone(b, &s, i);
	sheet_end(&s);
	return r;
}

/* ---- measuring the kernels in the scheduler ---- */

#define CLAIMS 6 /* claim sizes that are tried: 1, 2, 4 ... blocks */

enum { PLAIN, LIMITED, IDS, KEEP, TURNS, SHARED = TURNS + CLAIMS, FORMS = SHARED + CLAIMS };

struct cost {
	struct corun *x;
	unsigned kernel;
	/* bytes of unused shared memory that limit the blocks on an SM; 0: not needed */
	uint32_t limited;
	struct host_merging merging[FORMS];
	struct host_merge_plan plan[FORMS];
	struct timing times[FORMS];
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

/* ---- packing and unpacking samples ---- */

static const char *cost_key(unsigned kernel, char *buf, size_t size)
{
	snprintf(buf, size, "overhead %s", merge_rows[kernel].name);
	return buf;
}

/* Packs a row of samples. "ms F" are the times of form F. LIMITED has none if there are as many
 * workers on an SM as blocks of the plain kernel. The other samples are "fit", "workers", "make_ms"
 * and "compile_ms". */
static json_t *pack(const struct merge_bench *b, const struct cost *t)
{
	json_t *o = json_object();
	char name[24];

	for (unsigned f = 0; f < FORMS; f++) {
		snprintf(name, sizeof(name), "ms %u", f);
		json_object_set_new(o, name, samples_numbers(t->times[f].ms, t->times[f].n));
	}
	json_object_set_new(o, "fit", samples_number(b->kernels[t->kernel].of[0].fit));
	json_object_set_new(o, "workers", samples_number(t->plan[TURNS].per_sm));
	json_object_set_new(o, "make_ms", samples_number(t->make_ms));
	json_object_set_new(o, "compile_ms", samples_number(t->compile_ms));
	return o;
}

/* Computes the median time of each form from a row. */
static void unpack(const json_t *row, double ret_ms[FORMS])
{
	char name[24];

	for (unsigned f = 0; f < FORMS; f++) {
		snprintf(name, sizeof(name), "ms %u", f);
		ret_ms[f] = samples_median(row, name);
	}
	if (!(ret_ms[LIMITED] > 0))
		ret_ms[LIMITED] = ret_ms[PLAIN];
}

/* ---- showing the tables ---- */

/* Returns the blocks for each claim of a form in the series that starts with form `first`. */
static unsigned chunk_of(unsigned form, unsigned first)
{
	return 1u << (form - first);
}

/* Returns the fastest of the forms from `first` on, which differ in the number of blocks for each
 * claim. */
static unsigned best_claim(const double ms[FORMS], unsigned first)
{
	unsigned best = first;

	for (unsigned f = first; f < first + CLAIMS; f++)
		if (ms[f] < ms[best])
			best = f;
	return best;
}

static void json_claims(struct json *j, const double ms[FORMS], const char *key, unsigned first)
{
	json_begin_array(j, key);
	for (unsigned f = first; f < first + CLAIMS; f++) {
		json_begin_object(j, NULL);
		json_uint(j, "chunk", chunk_of(f, first));
		json_num(j, "ms", ms[f]);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void show_cost(struct sheet *s, unsigned kernel, const json_t *row, const double ms[FORMS])
{
	double p = ms[PLAIN], ids = ms[IDS] / p - 1, lost = ms[LIMITED] / p - 1;
	double queue = ms[KEEP] / p - 1 - ids - lost, total = ms[TURNS] / p - 1;
	unsigned best = best_claim(ms, TURNS), shared = best_claim(ms, SHARED);

	sheet_row(s);
	sheet_str(s, "kernel", merge_rows[kernel].name);
	sheet_num(s, "plain_ms", p, 1, 4, "");
	json_num(s->j, "limited_ms", ms[LIMITED]);
	json_num(s->j, "ids_ms", ms[IDS]);
	json_num(s->j, "keep_ms", ms[KEEP]);
	json_num(s->j, "total_ms", ms[TURNS]);
	json_claims(s->j, ms, "claims", TURNS);
	json_claims(s->j, ms, "shared_claims", SHARED);
	sheet_uint(s, "fit", (uint64_t)samples_first(row, "fit"));
	sheet_uint(s, "workers", (uint64_t)samples_first(row, "workers"));
	sheet_num(s, "ids", ids, 100, 1, "");
	sheet_num(s, "occupancy", lost, 100, 1, "");
	sheet_num(s, "queue", queue, 100, 1, "");
	sheet_num(s, "choosing", total - (ms[KEEP] / p - 1), 100, 1, "");
	sheet_num(s, "total", total, 100, 1, "");
	sheet_num(s, "best", ms[best] / p - 1, 100, 1, "");
	table_cell(&s->t, "%u", chunk_of(best, TURNS));
	sheet_num(s, "shared", ms[SHARED] / p - 1, 100, 1, "");
	sheet_num(s, "shared_best", ms[shared] / p - 1, 100, 1, "");
	table_cell(&s->t, "%u", chunk_of(shared, SHARED));
	sheet_num(s, "make_ms", samples_first(row, "make_ms"), 1, 2, "");
	sheet_num(s, "compile_ms", samples_first(row, "compile_ms"), 1, 1, "");
	sheet_row_end(s);
}

static int cost_of(struct merge_bench *b, struct cost *t)
{
	struct corun_kernel *of = &b->kernels[t->kernel].of[0];
	struct arena arena;
	char key[48];
	int r = merge_kernel(b, t->kernel, false);

	arena_init(&arena, 0);
	if (r == CLI_OK)
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
	progress_clear();
	if (r == CLI_OK)
		samples_add(&b->samples, cost_key(t->kernel, key, sizeof(key)), pack(b, t));
	return r;
}

static void measure_overhead(struct merge_bench *b, struct cost *t)
{
	char key[48];

	for (unsigned i = 0; i < MERGE_KERNELS; i++) {
		if (!is_wanted(b, i) || samples_row(&b->samples, cost_key(i, key, sizeof(key))) ||
			!samples_may_begin(&b->samples))
			continue;
		*t = (struct cost){.kernel = i};
		progress_begin((b->rounds + 1) * FORMS);
		b->failures += cost_of(b, t) != CLI_OK;
	}
}

int merge_overhead(struct merge_bench *b)
{
	double logs[3] = {0}, ms[FORMS];
	struct cost *t = malloc(sizeof(*t));
	unsigned n = 0;
	struct sheet s;
	char key[48];

	if (!t)
		return job_out_of_memory(b->c);
	measure_overhead(b, t);
	free(t);
	sheet_begin(&s, b->c, b->j, "overhead",
		"<kernel|plain ms|fit|workers|ids|occupancy|queue|choosing|total|best "
		"claim|of|shared|best claim|of|make ms|compile ms",
		"what the scheduler costs one kernel, %% of its time (fit, workers: blocks, and "
		"workers, on an SM;\nbest claim: of so many blocks; shared: turns from one word)");
	for (unsigned i = 0; i < MERGE_KERNELS; i++) {
		const json_t *row = samples_row(&b->samples, cost_key(i, key, sizeof(key)));

		if (!row || !is_wanted(b, i))
			continue;
		unpack(row, ms);
		show_cost(&s, i, row, ms);
		logs[0] += log(ms[TURNS] / ms[PLAIN]);
		logs[1] += log(ms[best_claim(ms, TURNS)] / ms[PLAIN]);
		logs[2] += log(ms[best_claim(ms, SHARED)] / ms[PLAIN]);
		n++;
	}
	sheet_end(&s);
	if (!n)
		return CLI_OK;
	json_num(b->j, "overhead_geomean", exp(logs[0] / n) - 1);
	json_num(b->j, "overhead_best_geomean", exp(logs[1] / n) - 1);
	json_num(b->j, "overhead_shared_geomean", exp(logs[2] / n) - 1);
	cli_show(b->c,
		"geometric mean: a block a claim %+.2f %%, with the best claims %+.2f %%; shared, "
		"with the best claims, %+.2f %%\n",
		(exp(logs[0] / n) - 1) * 100, (exp(logs[1] / n) - 1) * 100,
		(exp(logs[2] / n) - 1) * 100);
	return CLI_OK;
}
