/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle bench share measures pairs of programs in several arrangements, such as one after the
 * other, under MPS, or under a policy of heddle. The two programs of a pair launch one after the
 * other or at the same time ("Adaptive simultaneous multi-tenancy", section 4). This header
 * declares the data that the benchmark's parts share. Times are medians of rounds, in ns. Each part
 * prints its table and writes its keys into the JSON object that is open. */
#ifndef HEDDLE_BENCH_SHARE_H
#define HEDDLE_BENCH_SHARE_H

#include "lab/cases.h"
#include "sched/model/model.h"

#define SHARE_PROGRAMS    15 /* number of rows in utilisation.def */
#define SHARE_PAIRS       (SHARE_PROGRAMS * (SHARE_PROGRAMS - 1) / 2)
#define SHARE_PREDICT_KEY "policy_options=" /* heddled's key for options of the policy */
/* threshold in percent of issue slots; utilisation is low below it */
#define SHARE_LOW 50.0

enum share_class { SHARE_UNKNOWN, SHARE_LOW_CLASS, SHARE_HIGH_CLASS };

/* The arrangements in which a pair of programs is measured. SHARE_SEQUENTIAL is not run for pairs:
 * it is the sum of the programs' times alone, without a gap. */
enum share_arrangement {
	SHARE_SEQUENTIAL,
	SHARE_MPS, /* on the virtual GPU: the unmodified programs, without MPS */
	/* MPS client priorities: the program that arrives second has high priority */
	SHARE_MPS_PRIORITY,
	SHARE_WORKERS, /* preemptible forms, under a heddled with policy none */
	SHARE_GREEDY,
	SHARE_PROFILED, /* policy greedy that knows the profiles of heddle profile */
	SHARE_PREDICT,  /* policy greedy that asks the pair model first */
	/* Policy split gives each SM its own quotas (sections 3.8 and 6).
	 * - WHOLE_n: the pair's first program has n percent of the SMs for itself; the second
	 *   program has the other SMs.
	 * - MIXED_75: the first program has three quarters of the blocks on even SMs and one
	 *   quarter on odd SMs. */
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
	/* the class in the paper; UNKNOWN: the paper lacks one of the programs */
	enum share_class paper;
	/* for each launch order; in the order SECOND, the case's first program is program[1] */
	struct bench_case *by[SHARE_ORDERS];
};

/* A pair's figures in one arrangement, combined over its three launch orders. */
struct share_figures {
	struct figures f; /* geometric means over the launch orders */
	/* the spread of the pair's makespans over the rounds, relative to their median: the
	 * greatest of the launch orders; -1 if there is only one round */
	double spread;
	unsigned preemptions, shrinks, checked;
};

struct share {
	struct bench b;
	struct cases_table table;
	struct cases cs;
	const char *programs[SHARE_PROGRAMS];
	enum share_class class[SHARE_PROGRAMS];
	double scale[SHARE_PROGRAMS]; /* scale of each program's input; 0 means 1 */
	unsigned n, n_pairs;
	/* indices of the pairs in --pairs; n_asked 0: all pairs */
	unsigned asked[SHARE_PAIRS][2], n_asked;
	bool large, predict, by_sm;
	/* a bit for each arrangement of --only; 0: all that the other options allow */
	unsigned only;
	const char *store; /* file of heddle profile's curves; NULL: none */
	/* Curves from the store: curve_ns[p][n - 1] is an SM's time for one block of program p
	 * while the SM has n blocks; 0 if unknown. */
	float curve_ns[SHARE_PROGRAMS][SCHED_PER_SM];
	bool has_curve[SHARE_PROGRAMS];
	struct {
		unsigned plain, workers; /* registers of each thread; 0: unknown */
	} registers[SHARE_PROGRAMS];
	struct bench_case *alone[SHARE_PROGRAMS];
	struct share_pair pairs[SHARE_PAIRS];
};

/* ---- bench_share_programs.c ---- */
/* Reads --of, --pairs and --low into s, and checks that the programs are installed. Here and below,
 * functions of type int return CLI_OK, or CLI_USAGE or CLI_FAILED after they report an error. */
int share_choose(struct share *s);
/* Sets s->scale so that each launch takes about 100 ms on a GPU. Call it when s->large and the
 * device are set. */
void share_scale(struct share *s);
/* Reads the programs' curves for this device from the file s->store into s->curve_ns. */
int share_read_store(struct share *s);
/* The limits of an SM. */
struct share_limits {
	int threads, registers, shared_bytes, blocks;
};
int share_read_limits(struct share *s, struct share_limits *ret);
/* Returns a program's class in the paper's own measurement (SiM, figure 3); UNKNOWN: the paper does
 * not have the program. */
enum share_class share_paper_class(const char *program);
/* Returns "low" or "high", or NULL for SHARE_UNKNOWN. */
const char *share_class_name(enum share_class class);
/* Prints for each program:
 * - its share of an SM's resources (figure 2)
 * - its utilisation (figure 3)
 * - the cost of the form that its workers execute (figures 8a and 8b)
 * - if a store of measured curves was given: an SM's time for one block, at each number of blocks
 *   on the SM (figure 9) */
int share_show_programs(struct share *s);

/* ---- bench_share_registers.c ---- */
/* Compiles each program's kernel plain and in the workers' form, and stores the register counts in
 * s->registers. A form that cannot be made is counted as a failure, and the function continues. */
int share_read_registers(struct share *s);

/* ---- bench_share_pairs.c ---- */
/* Reads --only into s->only. Call it when s->b.device, s->predict and s->store are set. */
int share_choose_arrangements(struct share *s);
/* Fills s->cs with the cases to measure: each program alone, and all pairs. */
int share_list(struct share *s);
/* Shows the tables of figures 10 and 11. */
void share_show_pairs(struct share *s);
/* Returns the arrangement's name, or NULL if this device does not support it or the options exclude
 * it. */
const char *share_arrangement_name(const struct share *s, enum share_arrangement k);
/* Computes a pair's figures in arrangement k. Returns false if one of the pair's three launch
 * orders, or one of the programs alone, was not measured. */
bool share_figures_of(const struct share *s, const struct share_pair *p, enum share_arrangement k,
	struct share_figures *ret);

/* ---- bench_share_oracle.c ---- */
/* Measures each pair with fixed numbers of blocks on each SM, and finds the best of these
 * divisions. Prints which fraction of that division's gain policy greedy reaches. Call it after
 * share_read_registers. */
int share_oracle(struct share *s);

/* Returns why the figures are too noisy to count as a result, or NULL if they are not. buf holds
 * the returned text. */
const char *share_noise(
	const struct share_figures *f, enum share_arrangement k, char *buf, size_t size);

/* ---- bench_share_splits.c ---- */
/* Writes the pair's best split with different quotas by SM, compared with policy greedy, as a key
 * of p's JSON object. */
void share_json_best(struct share *s, const struct share_pair *p);
/* Shows the best splits of all pairs as text. */
void share_text_best(struct share *s);

#endif
