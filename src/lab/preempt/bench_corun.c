/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures the co-runs of FLEP's section 6.3 and prints their tables:
 * - pairs of different priorities (figure 8), also with delayed launches (figure 9)
 * - pairs of equal priority (figures 10 and 11)
 * - triplets (figure 12)
 *
 * An arrangement is a way to share the device, such as MPS or heddle. In each arrangement, the
 * pairs and triplets of all figures are measured before the next arrangement starts. */
#include "lab/cases.h"

#define LOWS      4 /* pairs: the first four programs run with the large input */
#define HIGHS     4 /* pairs of equal priority: the last four programs run with the small input */
#define TRIPLETS  28
#define MAX_CASES 256

static const struct stage_spec on_gpu[ARRANGEMENTS] = {
	[ALONE] = {.name = "alone"},
	[MPS] = {.name = "MPS", .mps = true},
	[MPS_PRIO] = {.name = "MPS prio", .mps = true, .mps_priorities = true},
	[SLICED] = {.name = "sliced"},
	[HEDDLE] = {.name = "heddle", .managed = true},
	[HEDDLE_MPS] = {.name = "heddle MPS", .managed = true, .mps = true},
};
static const struct stage_spec on_cpu[ARRANGEMENTS] = {
	[ALONE] = {.name = "alone"},
	[MPS] = {.name = "unmanaged"},
	[HEDDLE] = {.name = "heddle", .managed = true},
};

#define IN(k) (1u << (k))
static const unsigned runs_in[CASE_KINDS] = {
	[CASE_ALONE] = IN(ALONE),
	[CASE_PAIR] = IN(MPS) | IN(MPS_PRIO) | IN(SLICED) | IN(HEDDLE) | IN(HEDDLE_MPS),
	[CASE_DELAYED] = IN(MPS) | IN(SLICED) | IN(HEDDLE) | IN(HEDDLE_MPS),
	[CASE_EQUAL] = IN(MPS) | IN(SLICED) | IN(HEDDLE) | IN(HEDDLE_MPS),
	[CASE_TRIPLET] = IN(MPS) | IN(SLICED) | IN(HEDDLE) | IN(HEDDLE_MPS),
	[CASE_REORDERED] = IN(MPS),
};

static const double delays[] = {0, 0.2, 0.4, 0.6, 0.8, 1, 1.2};

static struct bench_case *add_case(
	struct cases *cs, enum case_kind kind, unsigned large, unsigned small, double delay)
{
	struct bench_case *c = cases_add(cs, kind, 2);

	c->program[0] = large;
	c->large[0] = true;
	c->program[1] = small;
	c->delay = delay;
	return c;
}

static void list_pairs(struct cases *cs)
{
	for (unsigned low = 0; low < LOWS; low++)
		for (unsigned high = 0; high < PROGRAMS; high++)
			if (high != low && (!cs->b->quick || high == (low + 5) % PROGRAMS))
				add_case(cs, CASE_PAIR, low, high, 0);
}

/* Lists two pairs for each low-priority program. */
static void list_delayed(struct cases *cs)
{
	unsigned step = cs->b->quick ? ARRAY_LEN(delays) - 1 : 1;

	for (unsigned low = 0; low < (cs->b->quick ? 1 : LOWS); low++)
		for (unsigned i = 0; i < (cs->b->quick ? 1 : 2); i++)
			for (unsigned d = 0; d < ARRAY_LEN(delays); d += step)
				add_case(cs, CASE_DELAYED, low, (low + 5 + i * 2) % PROGRAMS,
					delays[d]);
}

static void list_equals(struct cases *cs)
{
	for (unsigned high = PROGRAMS - HIGHS; high < PROGRAMS; high++)
		for (unsigned low = 0; low < PROGRAMS; low++)
			if (high != low && (!cs->b->quick || low == (high + 4) % PROGRAMS))
				add_case(cs, CASE_EQUAL, low, high, 0);
}

static bool is_listed(const struct cases *cs, const unsigned program[3])
{
	for (unsigned i = 0; i < cs->n; i++) {
		const unsigned *p = cs->at[i].program;

		if (cs->at[i].kind == CASE_TRIPLET && p[0] == program[0] && p[1] == program[1] &&
			p[2] == program[2])
			return true;
	}
	return false;
}

static void add_triplet(struct cases *cs, enum case_kind kind, const unsigned program[3])
{
	struct bench_case *c = cases_add(cs, kind, 3);

	for (unsigned i = 0; i < 3; i++)
		c->program[i] = program[i];
	c->large[0] = true;
}

/* Lists random triplets, the same ones in each run of the benchmark. */
static void list_triplets(struct cases *cs)
{
	unsigned n = 0, want = cs->b->quick ? 2 : TRIPLETS;

	for (uint64_t i = 0; n < want; i++) {
		uint64_t h = hash_bytes(&i, sizeof(i), 0x74726970);
		unsigned program[3] = {(unsigned)(h % PROGRAMS), (unsigned)(h / 8 % PROGRAMS),
			(unsigned)(h / 64 % PROGRAMS)};

		if (program[0] == program[1] || program[0] == program[2] ||
			program[1] == program[2] || is_listed(cs, program))
			continue;
		add_triplet(cs, CASE_TRIPLET, program);
		add_triplet(cs, CASE_REORDERED, program);
		n++;
	}
}

/* Lists each program and input of the other cases alone. */
static void list_alone(struct cases *cs)
{
	bool seen[PROGRAMS][2] = {{false}};
	unsigned n = cs->n;

	for (unsigned i = 0; i < n; i++)
		for (unsigned m = 0; m < cs->at[i].n; m++) {
			unsigned program = cs->at[i].program[m];
			bool large = cs->at[i].large[m];
			struct bench_case *c;

			if (seen[program][large])
				continue;
			seen[program][large] = true;
			c = cases_add(cs, CASE_ALONE, 1);
			c->program[0] = program;
			c->large[0] = large;
		}
}

static int list_cases(struct bench *b, unsigned parts, struct cases *ret)
{
	/* On the virtual GPU, most of the time passes in the programs themselves. */
	static const double less[PROGRAMS] = {0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3};
	static const struct cases_table gpu = {bench_programs, on_gpu, ARRANGEMENTS, runs_in},
					cpu = {bench_programs, on_cpu, ARRANGEMENTS, runs_in},
					cpu_quick = {bench_programs, on_cpu, ARRANGEMENTS, runs_in,
						less};
	const struct cases_table *on_this = b->quick ? &cpu_quick : &cpu;
	int r = cases_begin(b, b->device == DEV_CPU ? on_this : &gpu, MAX_CASES, ret);

	if (!bench_shows(r))
		return r;
	if (parts & BENCH_PAIRS)
		list_pairs(ret);
	if (parts & BENCH_DELAY)
		list_delayed(ret);
	if (parts & BENCH_EQUAL)
		list_equals(ret);
	if (parts & BENCH_TRIPLETS)
		list_triplets(ret);
	list_alone(ret);
	return CLI_OK;
}

unsigned bench_corun_steps(const struct bench *b, unsigned parts)
{
	struct bench copy = *b;
	struct cases cs;
	unsigned n = 0;

	arena_init(&copy.arena, 0);
	if (list_cases(&copy, parts, &cs) == CLI_OK)
		n = cases_steps(&cs);
	arena_finish(&copy.arena);
	return n;
}

int bench_corun(struct bench *b, unsigned parts)
{
	struct cases cs;
	int r = list_cases(b, parts, &cs);

	if (r == CLI_OK)
		r = cases_measure(&cs);
	if (!bench_shows(r))
		return r;
	if (parts & BENCH_PAIRS)
		cases_show_pairs(&cs);
	if (parts & BENCH_DELAY)
		cases_show_delays(&cs);
	if (parts & BENCH_EQUAL)
		cases_show_equals(&cs, CASE_EQUAL);
	if (parts & BENCH_TRIPLETS)
		cases_show_equals(&cs, CASE_TRIPLET);
	return r;
}
