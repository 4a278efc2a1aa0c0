/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Barriers that not all threads of a block reach, and ways out ahead of them. */
#ifndef HEDDLE_PASS_ROUNDS_H
#define HEDDLE_PASS_ROUNDS_H

#include "pass/analysis/body.h"

struct pass_place;
struct pass_writer;

/* rounds.c: barriers to which whole warps come. The lanes of a warp meet ahead of them. */
void pass_gather(struct pass_writer *w, const struct pass_place *at);
void pass_own_barrier(struct pass_writer *w, const struct pass_place *at);
/* The same of those threads that the kernel has (at->threads). */
void pass_among_barrier(struct pass_writer *w, const struct pass_place *at);
/* The kernel's own plain barrier. */
void pass_barrier_0(struct pass_writer *w, const struct pass_place *at);
/* Barriers that not all threads reach. */
void pass_rounds_declare(struct pass_writer *w, const struct pass_place *at);
void pass_rounds_clear(struct pass_writer *w, const struct pass_place *at);
void pass_round_barrier(
	struct pass_writer *w, const struct pass_place *at, const struct ptx_stmt *s);
/* Behind it, under no guard: it holds at any time. */
void pass_round_fate(struct pass_writer *w, const struct pass_place *at);
void pass_round_answer(struct pass_writer *w, const struct pass_place *at);

/* tails.c: ways from code that may still meet such a barrier to code that cannot. */
struct pass_tails_put {
	const struct pass_place *at;
	struct ptx_sym *label[PASS_MAX_TAILS]; /* of each, once its branch is written */
};
typedef void pass_put_fn(void *user, size_t at, const struct ptx_stmt *s, struct ptx_sym *end);
void pass_tails_begin(struct pass_writer *w, const struct pass_tails_put *t);
/* The branch at statement i to a tail of its own. False: there is none. */
bool pass_tail_branch(
	struct pass_writer *w, struct pass_tails_put *t, size_t i, const struct ptx_stmt *s);
/* Behind the body; put writes one statement, s, which was statement `at`, and whose ways out lead
 * to end. */
void pass_tails_write(
	struct pass_writer *w, const struct pass_tails_put *t, pass_put_fn *put, void *user);

#endif
