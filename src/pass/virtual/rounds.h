/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Barriers that not all threads of a block reach (rounds.c), and exit paths that skip them
 * (emit_tails.c). */
#ifndef HEDDLE_PASS_ROUNDS_H
#define HEDDLE_PASS_ROUNDS_H

#include "pass/analysis/body.h"

struct pass_place;
struct pass_writer;

/* Emit barriers that whole warps reach (rounds.c). pass_gather emits code that makes the lanes of a
 * warp reconverge before a barrier. pass_own_barrier emits a barrier for all threads of the
 * worker. */
void pass_gather(struct pass_writer *w, const struct pass_place *at);
void pass_own_barrier(struct pass_writer *w, const struct pass_place *at);
/* Emits a barrier for only the threads of the kernel (at->threads). */
void pass_among_barrier(struct pass_writer *w, const struct pass_place *at);
/* Emits barrier 0 of the kernel. */
void pass_barrier_0(struct pass_writer *w, const struct pass_place *at);
/* Functions for barriers that not all threads reach. */
void pass_rounds_declare(struct pass_writer *w, const struct pass_place *at);
void pass_rounds_clear(struct pass_writer *w, const struct pass_place *at);
void pass_round_barrier(
	struct pass_writer *w, const struct pass_place *at, const struct ptx_stmt *s);
/* pass_round_failed emits a check of whether a thread has failed. The check comes after the barrier
 * and without the barrier's guard, because it is valid at any time. */
void pass_round_failed(struct pass_writer *w, const struct pass_place *at);
void pass_round_answer(struct pass_writer *w, const struct pass_place *at);

/* emit_tails.c: copies of the exit paths, for branches from code that may still reach a barrier. */
struct pass_tails_put {
	const struct pass_place *at;
	/* label of each path; set when the path's branch is written */
	struct ptx_sym *label[PASS_MAX_TAILS];
};
typedef void pass_put_fn(void *user, size_t at, const struct ptx_stmt *s, struct ptx_sym *end);
void pass_tails_begin(struct pass_writer *w, const struct pass_tails_put *t);
/* If statement i branches to an exit path, emits a branch to the path's copy and returns true.
 * Otherwise emits nothing and returns false. */
bool pass_tail_branch(
	struct pass_writer *w, struct pass_tails_put *t, size_t i, const struct ptx_stmt *s);
/* Emits the copies of the exit paths after the body. The callback `put` writes one statement s,
 * which is statement `at` of the body; exits in s must lead to the label `end`. */
void pass_tails_write(
	struct pass_writer *w, const struct pass_tails_put *t, pass_put_fn *put, void *user);

#endif
