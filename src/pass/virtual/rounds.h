/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Barriers that not all threads of a block reach, and exit paths before them. */
#ifndef HEDDLE_PASS_ROUNDS_H
#define HEDDLE_PASS_ROUNDS_H

#include "pass/analysis/body.h"

struct pass_place;
struct pass_writer;

/* rounds.c: barriers that whole warps reach. pass_gather makes the lanes of a warp meet before
 * one. */
void pass_gather(struct pass_writer *w, const struct pass_place *at);
void pass_own_barrier(struct pass_writer *w, const struct pass_place *at);
/* The same for the threads of the kernel only (at->threads). */
void pass_among_barrier(struct pass_writer *w, const struct pass_place *at);
/* The kernel's own plain barrier. */
void pass_barrier_0(struct pass_writer *w, const struct pass_place *at);
/* Barriers that not all threads reach. */
void pass_rounds_declare(struct pass_writer *w, const struct pass_place *at);
void pass_rounds_clear(struct pass_writer *w, const struct pass_place *at);
void pass_round_barrier(
	struct pass_writer *w, const struct pass_place *at, const struct ptx_stmt *s);
/* Emitted after the barrier, without a guard: the check is valid at any time. */
void pass_round_fate(struct pass_writer *w, const struct pass_place *at);
void pass_round_answer(struct pass_writer *w, const struct pass_place *at);

/* tails.c: exit paths from code that may still meet such a barrier. */
struct pass_tails_put {
	const struct pass_place *at;
	/* label of each path, set when its branch is written */
	struct ptx_sym *label[PASS_MAX_TAILS];
};
typedef void pass_put_fn(void *user, size_t at, const struct ptx_stmt *s, struct ptx_sym *end);
void pass_tails_begin(struct pass_writer *w, const struct pass_tails_put *t);
/* If statement i branches to an exit path, emits a branch to that path's own copy. False: it does
 * not. */
bool pass_tail_branch(
	struct pass_writer *w, struct pass_tails_put *t, size_t i, const struct ptx_stmt *s);
/* Emits the paths after the body. put writes one statement s, which is statement `at` of the body;
 * its exits lead to end. */
void pass_tails_write(
	struct pass_writer *w, const struct pass_tails_put *t, pass_put_fn *put, void *user);

#endif
