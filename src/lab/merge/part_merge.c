/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench merge: KernelMerge's figures 4 to 7 on this device. It measures what the scheduler
 * costs for a single kernel. Then it measures all pairs of seven kernels, including each kernel
 * paired with itself, in every way. With --part tuned, it measures instead the way that was
 * stored for each pair. */
#include "base/text.h"
#include "front/progress.h"
#include "job/kernelspec.h"
#include "lab/lab.h"
#include "lab/merge/bench_merge.h"
#include "lab/picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *merge_pair_name(const struct merge_pair *p, char *buf, size_t size)
{
	snprintf(buf, size, "%s + %s", merge_rows[p->a].name, merge_rows[p->b].name);
	return buf;
}

/* ---- loading the kernels ---- */

/* Finds the kernel's PTX file, from nvcc if it was compiled by nvcc, else from clang. */
static int find_file(struct merge_bench *b, const struct merge_row *row, char **ret)
{
	static const char *const toolchains[] = {"nvcc", "clang"};

	for (size_t i = 0; i < ARRAY_LEN(toolchains); i++) {
		char path[128];
		char *found;

		snprintf(path, sizeof(path), "kernels/%s/%s", toolchains[i], row->file);
		if (cli_find_part(path, path, &found))
			continue;
		*ret = arena_strndup(&b->arena, found, strlen(found));
		free(found);
		return *ret ? CLI_OK : job_out_of_memory(b->c);
	}
	return cli_error(b->c, "a build has them where nvcc or clang 14 is there",
		"no %s among "
		"the kernels of this installation",
		row->file);
}

static int read_spec(struct merge_bench *b, unsigned i)
{
	const struct merge_row *row = &merge_rows[i];
	char *words[32], *save = NULL, *text;
	int n = 2, r = find_file(b, row, &words[0]);

	if (r != CLI_OK)
		return r;
	words[1] = (char *)row->kernel;
	text = arena_printf(&b->arena, "%s", b->large ? row->large : row->small);
	if (!text)
		return job_out_of_memory(b->c);
	for (char *w = strtok_r(text, " ", &save); w && n < 32; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	return kernelspec_read_words(b->c, &b->arena, i + 1, false, words, n, &b->kernels[i].spec);
}

int merge_kernel(struct merge_bench *b, unsigned i, bool twin)
{
	struct merge_kernel *k = &b->kernels[i];
	int r = CLI_OK;

	if (!k->ready) {
		progress_step("%s", merge_rows[i].name);
		r = read_spec(b, i);
		if (r == CLI_OK)
			r = corun_kernel_open(b->c, &b->device, &k->spec, true, &k->of[0]);
		k->ready = r == CLI_OK;
	}
	if (r == CLI_OK && twin && !k->has_twin) {
		r = corun_kernel_twin(b->c, &b->device, &k->of[0], &k->of[1]);
		k->has_twin = r == CLI_OK;
	}
	return r;
}

int merge_open(
	struct merge_bench *b, struct arena *a, const struct merge_pair *p, struct corun **ret)
{
	struct corun_kernel *of[2];
	int r = merge_kernel(b, p->a, false);

	*ret = NULL;
	if (r == CLI_OK)
		r = merge_kernel(b, p->b, p->a == p->b);
	if (r != CLI_OK)
		return r;
	of[0] = &b->kernels[p->a].of[0];
	of[1] = &b->kernels[p->b].of[p->a == p->b];
	return corun_open(b->c, a, &b->device, of, 2, ret);
}

/* ---- the choice of kernels and pairs ---- */

static bool parse_name(const char *text, size_t len, unsigned *ret)
{
	for (unsigned i = 0; i < MERGE_KERNELS; i++)
		if (strlen(merge_rows[i].name) == len && !memcmp(merge_rows[i].name, text, len)) {
			*ret = i;
			return true;
		}
	return false;
}

static void add_pair(struct merge_bench *b, unsigned x, unsigned y)
{
	unsigned low = MIN(x, y), high = MAX(x, y);

	for (unsigned i = 0; i < b->n_pairs; i++)
		if (b->pairs[i].a == low && b->pairs[i].b == high)
			return;
	b->pairs[b->n_pairs++] = (struct merge_pair){.a = low, .b = high};
}

static int read_pairs(struct merge_bench *b)
{
	const char *text = cli_value(b->c, "pairs");

	for (unsigned x = 0; !text && x < MERGE_KERNELS; x++)
		for (unsigned y = x; y < MERGE_KERNELS; y++)
			add_pair(b, x, y);
	while (text) {
		size_t len = strcspn(text, ","), first = strcspn(text, "+,");
		unsigned x, y;

		if (!parse_name(text, first, &x) ||
			(first < len && !parse_name(text + first + 1, len - first - 1, &y)))
			return cli_usage(b->c,
				"--pairs: '%.*s' is none: names are bitonic, msort, kmeans, va, "
				"transpose, blackscholes, histogram, two of them with a +",
				(int)MIN(len, 60), text);
		if (first < len)
			add_pair(b, x, y);
		for (y = 0; first == len && y < MERGE_KERNELS; y++)
			add_pair(b, x, y);
		text = text[len] ? text + len + 1 : NULL;
	}
	return CLI_OK;
}

static int read_options(struct merge_bench *b)
{
	uint64_t rounds = 10, points = 15;
	int r = cli_number(b->c, "rounds", 1, 1000, &rounds);

	if (r == CLI_OK)
		r = cli_number(b->c, "points", 1, MERGE_CURVE, &points);
	if (r == CLI_OK)
		r = read_pairs(b);
	b->rounds = (unsigned)rounds;
	b->points = (unsigned)points;
	b->store = cli_value(b->c, "store");
	return r;
}

static bool is_wanted(const struct merge_bench *b, const char *part)
{
	const char *given = cli_value(b->c, "part");

	if (!given || !strcmp(given, "all"))
		return strcmp(part, "tuned") != 0;
	return !strcmp(given, part);
}

/* ---- measuring and showing ---- */

static int measure_all(struct merge_bench *b)
{
	int r = merge_alone(b);

	if (r == CLI_OK && is_wanted(b, "overhead"))
		r = merge_overhead(b);
	if (r == CLI_OK && is_wanted(b, "pairs"))
		r = merge_pairs(b);
	if (r == CLI_OK && is_wanted(b, "tuned"))
		r = merge_tuned(b);
	return r;
}

static void begin_json(struct merge_bench *b, struct json *j)
{
	cli_json_open(b->c, j, 2);
	json_str(j, "version", HEDDLE_VERSION);
	json_str(j, "device", b->device.d.name);
	json_uint(j, "sms", b->device.d.n_sms);
	json_str(j, "size", b->large ? "large" : "small");
	json_uint(j, "rounds", b->rounds);
	json_uint(j, "warm_rounds", 1);
	b->j = j;
	cli_show(b->c, "device: %s, %u SMs; %s kernels, %s, medians\n", b->device.d.name,
		b->device.d.n_sms, b->large ? "large" : "small", COUNTED(b->rounds, "round"));
}

/* Gives the driver an empty compilation cache, because this benchmark also measures compile times.
 * The cache cannot be disabled: the driver's compiler may crash, so a separate process compiles
 * each form, and this process loads the result from the cache. */
static int begin_cache(struct merge_bench *b)
{
	int r = cli_make_folder("cache", b->cache);

	if (r < 0)
		return cli_error(b->c, "TMPDIR names another folder", "a temporary folder: %s",
			strerror(-r));
	setenv("CUDA_CACHE_PATH", b->cache, 1);
	unsetenv("CUDA_CACHE_DISABLE");
	return CLI_OK;
}

static int run_all(struct merge_bench *b)
{
	const char *size = cli_value(b->c, "size"), *path = cli_value(b->c, "data");
	struct json j;
	int r = read_options(b), written = CLI_OK;

	if (r == CLI_OK && path && b->c->json)
		r = cli_usage(b->c, "--data beside --json, which prints the same");
	if (r == CLI_OK)
		r = picture_check(b->c);
	if (r == CLI_OK)
		r = samples_check(b->c);
	if (r == CLI_OK)
		r = cli_will_write(b->c, path, NULL);
	if (r == CLI_OK && is_wanted(b, "pairs"))
		r = ways_will_keep(b->c, b->store);
	if (r == CLI_OK)
		r = begin_cache(b);
	if (r == CLI_OK)
		r = corun_device_open(b->c, job_device_kind(b->c), &b->device);
	if (r != CLI_OK)
		return r;
	b->large = size ? !strcmp(size, "large") : dev_kind_of(&b->device.d.cu) == DEV_CUDA;
	snprintf(b->options, sizeof(b->options), "%s, %u points, %s kernels",
		COUNTED(b->rounds, "round"), b->points, b->large ? "large" : "small");
	r = samples_open(&b->samples, b->c, b->device.d.name, b->options);
	if (r != CLI_OK)
		return r;
	begin_json(b, &j);
	r = measure_all(b);
	progress_clear();
	if (r == CLI_OK) {
		samples_finish(&b->samples, &j);
		json_uint(&j, "wrong", b->wrong);
		json_uint(&j, "failures", b->failures);
		json_end(&j, '}');
		written = is_wanted(b, "pairs") ? picture_draw(b->c, "merge") : CLI_OK;
	}
	if (r == CLI_OK && written == CLI_OK && path)
		written = cli_write_file(b->c, path, NULL, cli_json_text(b->c));
	return r == CLI_OK ? written : r;
}

int lab_merge(struct cli *c)
{
	struct merge_bench *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return job_out_of_memory(c);
	b->c = c;
	arena_init(&b->arena, 0);
	r = run_all(b);
	for (unsigned i = 0; i < MERGE_KERNELS; i++)
		for (unsigned k = 0; k < 2; k++)
			corun_kernel_close(&b->kernels[i].of[k]);
	host_device_close(&b->device.d);
	samples_close(&b->samples);
	if (b->cache[0])
		cli_remove_folder(b->cache);
	if (r == CLI_OK && (b->wrong || b->failures))
		r = CLI_FAILED;
	arena_finish(&b->arena);
	free(b);
	return r;
}
