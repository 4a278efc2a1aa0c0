/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench share measures pairs of programs that arrive one after the other or together, in
 * several arrangements ("Adaptive simultaneous multi-tenancy", section 4). This header has the data
 * that its parts share. Times are medians of rounds, in ns. Each part prints its table, and writes
 * its keys into the JSON object that is open. */
#ifndef HEDDLE_BENCH_SHARE_H
#define HEDDLE_BENCH_SHARE_H

#include "cli/bench/cases.h"
#include "sched/model.h"

#define SHARE_PROGRAMS    15 /* rows of utilisation.def */
#define SHARE_PAIRS       (SHARE_PROGRAMS * (SHARE_PROGRAMS - 1) / 2)
#define SHARE_PREDICT_KEY "policy_options=" /* of heddled */
#define SHARE_LOW         50.0 /* percent of issue slots; a program below it has low utilisation */

enum share_class { SHARE_UNKNOWN, SHARE_LOW_CLASS, SHARE_HIGH_CLASS };

/* SEQUENTIAL is computed from the times of the programs alone, without a gap between them. */
enum share_arrangement {
	SHARE_SEQUENTIAL,
	SHARE_MPS,          /* on the virtual GPU: the programs as they are */
	SHARE_MPS_PRIORITY, /* the client priorities of MPS: high for the program that arrives
			       second */
	SHARE_WORKERS,      /* preemptible forms, heddled with the policy none */
	SHARE_GREEDY,
	SHARE_PROFILED, /* greedy that knows the profiles of heddle profile */
	SHARE_PREDICT,  /* greedy that asks the pair model first */
	/* Policy split: quotas differ by SM (sections 3.8 and 6). The pair's first program has
	 * whole SMs, this percentage of them; or three quarters of the blocks on even SMs, and a
	 * quarter on odd ones. */
	SHARE_WHOLE_25,
	SHARE_WHOLE_50,
	SHARE_WHOLE_75,
	SHARE_MIXED_75,
	SHARE_ARRANGEMENTS
};
_Static_assert(SHARE_ARRANGEMENTS <= CASES_ARRANGEMENTS, "a case has room for the results of each");

enum share_order { SHARE_FIRST, SHARE_SECOND, SHARE_TOGETHER, SHARE_ORDERS };

struct share_pair {
	unsigned program[2]; /* indices of share.programs */
	enum share_class class;
	struct bench_case *by[SHARE_ORDERS]; /* SECOND: the second program is the case's first */
};

/* A pair's figures in one arrangement, over its orders. */
struct share_figures {
	struct figures f; /* geometric means */
	/* the largest of its makespans, relative to their median; -1: one round */
	double spread;
	unsigned preemptions, shrinks, checked;
};

struct share {
	struct bench b;
	struct cases_table table;
	struct cases cs;
	const char *programs[SHARE_PROGRAMS];
	enum share_class class[SHARE_PROGRAMS];
	double scale[SHARE_PROGRAMS]; /* of the inputs; 0: 1 */
	unsigned n, n_pairs;
	unsigned asked[SHARE_PAIRS][2], n_asked; /* of --pairs; none: all pairs */
	bool large, predict, by_sm;
	unsigned only; /* a bit for each arrangement of --only; 0: all that fit the other options */
	const char *store; /* of heddle profile; NULL: none */
	/* From the store, by program: an SM's time for a block with i + 1 blocks on the SM; 0:
	 * unknown. */
	float curve_ns[SHARE_PROGRAMS][SCHED_PER_SM];
	bool has_curve[SHARE_PROGRAMS];
	struct {
		unsigned plain, workers; /* of a thread; 0: not known */
	} registers[SHARE_PROGRAMS];
	struct bench_case *alone[SHARE_PROGRAMS];
	struct share_pair pairs[SHARE_PAIRS];
};

/* ---- bench_share_programs.c ---- */
/* Reads --of, --pairs and --low into s, and checks that the programs are installed. CLI_OK;
 * CLI_USAGE or CLI_FAILED after it reported an error, as for all functions below. */
int share_choose(struct share *s);
/* Sets s->scale, once s->large and the device are known: launches of about 100 ms on a GPU. */
void share_scale(struct share *s);
/* Reads the programs' curves on this device from s->store into s->curve_ns. */
int share_read_store(struct share *s);
/* Limits of an SM. */
struct share_limits {
	int threads, registers, shared_bytes, blocks;
};
int share_read_limits(struct share *s, struct share_limits *ret);
/* Returns "low" or "high"; NULL: not known. */
const char *share_class_name(enum share_class class);
/* Shows figures 2, 3, 8a and 8b, and figure 9 if there is a store: each program's share of an SM's
 * resources, its utilisation, the cost of its workers' form, and its time by blocks on each SM. */
int share_show_programs(struct share *s);

/* ---- bench_share_registers.c ---- */
/* Compiles each program's kernel in both forms, into s->registers. Counts a form that cannot be
 * made as a failure, and goes on. */
int share_read_registers(struct share *s);

/* ---- bench_share_pairs.c ---- */
/* Reads --only into s->only, when s->b.device, s->predict and s->store are set. */
int share_choose_arrangements(struct share *s);
/* Lists the cases of all programs alone and of all pairs in s->cs. */
int share_list(struct share *s);
/* Shows figures 10 and 11. */
void share_show_pairs(struct share *s);
/* Returns NULL if this device lacks the arrangement, or the options exclude it. */
const char *share_arrangement_name(const struct share *s, enum share_arrangement k);
/* False: an order of the pair, or one of its programs alone, was not measured. */
bool share_figures_of(const struct share *s, const struct share_pair *p, enum share_arrangement k,
	struct share_figures *ret);

/* ---- bench_share_oracle.c ---- */
/* Measures each pair with fixed numbers of blocks on each SM, and shows greedy's part of the best
 * division's gain. Call after share_read_registers. */
int share_oracle(struct share *s);

/* Returns why the figures are no result, or NULL. buf has room for the text. */
const char *share_noise(
	const struct share_figures *f, enum share_arrangement k, char *buf, size_t size);

/* ---- bench_share_splits.c ---- */
/* Writes the best split with quotas by SM, compared with greedy, as a key of p's object. */
void share_json_best(struct share *s, const struct share_pair *p);
/* Shows that of all pairs as text. */
void share_text_best(struct share *s);

/* ---- share_svg.c ---- */
/* Appends a picture to out: a bar for each pair's STP in each arrangement. */
void share_svg(const struct share *s, struct strbuf *out);

#endif
