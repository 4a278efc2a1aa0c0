/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares the plain with the preemptible form of random programs:
 *	gen [--device cpu|cuda] [--first SEED] [--count N] [--seeds 1-60,367] …
 * Reports what it ran, and the reason for each program that differs. Writes the smallest program
 * that still fails in the same way. Exit status 0: no program differs. */
#include "shrink.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct option long_options[] = {
	{"device", required_argument, NULL, 'd'}, /* cpu or cuda */
	{"first", required_argument, NULL, 's'},
	{"count", required_argument, NULL, 'n'},
	{"seeds", required_argument, NULL, 'o'}, /* in place of both: ranges and single seeds */
	{"jobs", required_argument, NULL, 'j'},
	{"batch", required_argument, NULL, 'b'}, /* programs in a module */
	{"range", required_argument, NULL, 'r'}, /* programs for one process */
	{"limit", required_argument, NULL, 'l'}, /* timeout in seconds */
	{"mode", required_argument, NULL, 'm'},  /* further settings for HEDDLE_VGPU */
	{"shrink", required_argument, NULL,
		't'}, /* number of runs to shrink a failing program; 0: none */
	/* folder for failing programs; default: the working directory */
	{"keep", required_argument, NULL, 'k'},
	{"enough", required_argument, NULL, 'e'}, /* number of failures after which it stops */
	{"astray", no_argument, NULL,
		'a'}, /* each program stores outside its arrays: both forms must fail alike */
	{"apart", no_argument, NULL, 'i'},         /* programs with GEN_APART */
	{"scale", required_argument, NULL, 'g'},   /* factor for the size of grids */
	{"pretend", required_argument, NULL, 'x'}, /* see run.h */
	{"with", required_argument, NULL, 'w'},    /* see `form` in run.h */
	{"print", no_argument, NULL, 'p'},         /* prints the programs instead */
	{"form", no_argument, NULL, 'f'},          /* with --print: the preemptible form */
	{"judge", no_argument, NULL, 'u'},         /* calls farm_judge; on a GPU always on */
	{0},
};

struct request {
	struct farm_options farm;
	const char *keep, *seeds; /* seeds: the ranges not yet run */
	unsigned tries;
	bool print, form, judge;
};

static int usage(void)
{
	fprintf(stderr, "usage: gen [--device cpu|cuda] [--first SEED] [--count N] [--seeds LIST] "
			"[--jobs N] "
			"[--batch N] [--range N] [--limit SECONDS] [--enough FAILURES] [--mode "
			"WORDS] [--shrink TRIES] [--keep DIR] [--scale N] [--apart] [--astray] "
			"[--with FORM] [--judge] [--print [--form]]\n");
	return 2;
}

static bool number(const char *text, unsigned *ret)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	*ret = (unsigned)v;
	return *text && !*end && v <= UINT32_MAX / 2;
}

/* Removes the first range from the list of seeds. */
static bool next_range(struct request *q)
{
	unsigned long long last;
	char *end;

	q->farm.first = last = strtoull(q->seeds, &end, 10);
	if (*end == '-')
		last = strtoull(end + 1, &end, 10);
	q->seeds = *end == ',' ? end + 1 : end;
	q->farm.count = (unsigned)(last - q->farm.first + 1);
	return (*end == ',' || !*end) && q->farm.first && last >= q->farm.first &&
	       last - q->farm.first < UINT32_MAX / 2;
}

static int read_options(int argc, char **argv, struct request *ret)
{
	struct farm_options *o = &ret->farm;
	bool ok = true;
	int c;

	ret->tries = 600;
	ret->keep = ".";
	while (ok && (c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		switch (c) {
		case 'd':
			ok = dev_kind_parse(optarg, &o->device);
			break;
		case 's':
			o->first = strtoull(optarg, NULL, 10);
			break;
		case 'n':
			ok = number(optarg, &o->count);
			break;
		case 'o':
			ret->seeds = optarg;
			break;
		case 'j':
			ok = number(optarg, &o->jobs);
			break;
		case 'b':
			ok = number(optarg, &o->batch);
			break;
		case 'r':
			ok = number(optarg, &o->range);
			break;
		case 'l':
			ok = number(optarg, &o->limit_s);
			break;
		case 'm':
			o->mode = *optarg ? optarg : NULL;
			break;
		case 't':
			ok = number(optarg, &ret->tries);
			break;
		case 'e':
			ok = number(optarg, &o->enough);
			break;
		case 'g':
			ok = number(optarg, &o->scale) && o->scale <= GEN_MAX_SCALE;
			break;
		case 'a':
			o->astray = true;
			break;
		case 'i':
			o->apart = true;
			break;
		case 'x':
			o->pretend = optarg;
			break;
		case 'w':
			o->form = optarg;
			break;
		case 'k':
			ret->keep = optarg;
			break;
		case 'p':
			ret->print = true;
			break;
		case 'f':
			ret->form = true;
			break;
		case 'u':
			ret->judge = true;
			break;
		default:
			ok = false;
		}
	ok &= !ret->seeds || (!ret->print && next_range(ret));
	ok &= o->count && o->jobs && o->batch && o->range && o->limit_s && o->enough && o->scale;
	return ok && optind == argc ? 0 : usage();
}

static int build(const struct farm_options *o, uint64_t seed, struct gen_program *ret)
{
	int r = gen_build(seed, ret);

	if (r)
		return r;
	ret->features |= o->apart ? GEN_APART : 0;
	gen_scale(ret, o->scale);
	return o->astray ? gen_add_stray(ret) : 0;
}

static int print(const struct request *q)
{
	unsigned n = q->farm.count;
	struct gen_program *p = calloc(n, sizeof(*p));
	struct strbuf out = {0};
	int r = p ? 0 : -ENOMEM;

	for (unsigned i = 0; r == 0 && i < n; i++)
		r = build(&q->farm, q->farm.first + i, &p[i]);
	if (r == 0 && q->form) {
		r = run_form_text(p, n, &out);
	} else if (r == 0) {
		if (n == 1)
			shrink_command(p, &out);
		strbuf_puts(&out, gen_head);
		for (unsigned i = 0; i < n; i++)
			gen_text(&p[i], &out);
	}
	if (r == 0 && !out.failed)
		fputs(out.at, stdout);
	for (unsigned i = 0; p && i < n; i++)
		gen_free(&p[i]);
	free(p);
	strbuf_finish(&out);
	return r ? 1 : 0;
}

static int report(const struct farm_options *o, const struct run_result *results, double seconds)
{
	unsigned verdicts[RUN_LOST + 1] = {0}, tiers[3] = {0}, again = 0, bad = 0;

	for (unsigned i = 0; i < o->count; i++) {
		verdicts[results[i].verdict]++;
		tiers[results[i].tier] += results[i].verdict != RUN_NONE;
		again += results[i].again > 0;
		bad += results[i].verdict > RUN_NATIVE;
	}
	printf("%u programs from seed %llu in %.1f s:", o->count, (unsigned long long)o->first,
		seconds);
	for (int v = 0; v <= RUN_LOST; v++)
		if (verdicts[v])
			printf(" %u %s,", verdicts[v], run_verdict_names[v]);
	printf(" %u managed, %u guard, %u held; %u stopped and resumed\n", tiers[PASS_MANAGED],
		tiers[PASS_GUARD], tiers[PASS_HELD], again);
	return bad || verdicts[RUN_NONE] ? 1 : 0;
}

/* Shrinks the first failing program. */
static int shrink_first(const struct request *q, const struct run_result *results)
{
	struct strbuf text = {0}, path = {0};
	enum run_verdict verdict;
	struct gen_program p;
	unsigned i = 0, used;
	FILE *f;

	while (i < q->farm.count && results[i].verdict <= RUN_NATIVE)
		i++;
	if (i == q->farm.count || q->tries == 0 || build(&q->farm, q->farm.first + i, &p))
		return 1;
	verdict = (enum run_verdict)results[i].verdict;
	used = shrink(&q->farm, &p, verdict, q->tries);
	shrink_write(&p, verdict, &text);
	strbuf_printf(&path, "%s/gen-%llu.ptx", q->keep, (unsigned long long)p.seed);
	f = fopen(path.at, "w");
	if (f && fwrite(text.at, 1, text.len, f) == text.len && fclose(f) == 0)
		printf("seed %llu, smaller after %u runs: %s\n", (unsigned long long)p.seed, used,
			path.at);
	else
		fprintf(stderr, "gen: %s: %s\n", path.at, strerror(errno));
	gen_free(&p);
	strbuf_finish(&text);
	strbuf_finish(&path);
	return 1;
}

/* Runs the programs of one range. Returns 0, 1 after a failure, or a negative errno. */
static int run_range(const struct request *q)
{
	struct timespec from, to;
	struct run_result *results = calloc(q->farm.count, sizeof(*results));
	int r;

	clock_gettime(CLOCK_MONOTONIC, &from);
	r = results ? farm_run(&q->farm, results) : -ENOMEM;
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (r == 0 && (q->judge || q->farm.device == DEV_CUDA))
		farm_judge(&q->farm, results);
	if (r)
		fprintf(stderr, "gen: %s\n", strerror(-r));
	else
		r = report(&q->farm, results,
			(double)(to.tv_sec - from.tv_sec) +
				1e-9 * (double)(to.tv_nsec - from.tv_nsec));
	if (r == 1)
		r = shrink_first(q, results);
	free(results);
	return r;
}

int main(int argc, char **argv)
{
	struct request q = {.farm = {.device = DEV_CPU,
				    .first = 1,
				    .count = 100,
				    .batch = 1,
				    .range = 50,
				    .limit_s = 60,
				    .enough = 50,
				    .scale = 1}};
	int r;

	q.farm.jobs = (unsigned)MAX(1, MIN(64, sysconf(_SC_NPROCESSORS_ONLN)));
	r = read_options(argc, argv, &q);
	if (r)
		return r;
	if (q.print)
		return print(&q);
	r = run_range(&q);
	while (r == 0 && q.seeds && *q.seeds)
		r = next_range(&q) ? run_range(&q) : usage();
	return r ? 1 : 0;
}
