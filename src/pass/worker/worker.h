/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The control block's protocol (control.h) around virtual blocks: pieces of the worker, alone or
 * one of several, and of the guard form. */
#ifndef HEDDLE_WORKER_H
#define HEDDLE_WORKER_H

#include "pass/virtual/emit.h"
#include "pass/virtual/virtual.h"

/* The ids of the block that a worker has claimed, and of its grid, as a place has them. */
#define PASS_CLAIMED_IDS                                                \
	{                                                               \
		"%hd_x", "%hd_y", "%hd_z", A_GRID_X, A_GRID_Y, A_GRID_Z \
	}

void pass_emit_regs(struct pass_writer *w);
/* worker: it is counted in state, whose narrow bit it left in %hd_r9. */
void pass_emit_first_steps(struct pass_writer *w, const char *relay_to, bool worker);
/* Block number %hd_x becomes the first ids {x, y, z} of %hd_k blocks; maybe at $hd_wide_ids. */
void pass_emit_ids(struct pass_writer *w, const struct pass_place *at);
/* Of workers that are one of several. From ticket %hd_x, or 64-bit %hd_d4, that which the slot has:
 * the first block, how far apart they are, and 0; or the ids of the only one. To $hd_store. */
void pass_emit_part_ids(struct pass_writer *w, const bool *reads);
/* The same, and how many, from claim %hd_t (args.h); $hd_sync: there is no such claim. */
void pass_emit_claimed(struct pass_writer *w);
/* {x, y, z} of block %hd_x, %hd_r1 being inverse[0]. */
void pass_emit_multiply(struct pass_writer *w, const bool *reads);
/* ticket: where it is in shared memory; NULL: in %hd_d4. */
void pass_emit_wide_ids(
	struct pass_writer *w, const bool *reads, enum pass_order order, const char *ticket);
/* emit_order.c, column: the ids of block %hd_x; and how ids that are %hd_r0 blocks short of it go
 * on, to $hd_body. */
void pass_emit_columns(struct pass_writer *w);
void pass_emit_columns_wide(struct pass_writer *w);
void pass_emit_columns_carry(struct pass_writer *w);
/* emit_order.c, hilbert: where in the plane the block stands that row order has at %hd_x, %hd_y.
 * site makes the labels unique. */
void pass_emit_hilbert(struct pass_writer *w, const char *site);
/* emit_ids.c: %hd_d4 becomes the quotient by %hd_r5, %hd_d2 the remainder. */
void pass_emit_shift_division(struct pass_writer *w, const char *site);
void pass_emit_worker_head(struct pass_writer *w, const struct pass_place *at);
void pass_emit_worker_tail(struct pass_writer *w, const struct pass_place *at);
void pass_emit_guard_head(
	struct pass_writer *w, const struct pass_place *at, struct ptx_sym *overlay);
void pass_emit_guard_tail(struct pass_writer *w);
void pass_emit_exit(struct pass_writer *w);
void pass_emit_relay(struct pass_writer *w, bool guard);

/* Behind a body: those that are done meet those that are not; what runs on by itself has ended. */
void pass_emit_block_end(struct pass_writer *w, const struct pass_place *at);

/* The pieces of a worker that is one of several in a launch (emit_merge.c has what is around them).
 * Names that begin with "$hd_" and lead out of a piece are the caller's to place:
 *   declare   all threads, once; registers and shared memory. Of the registers all guests share
 *             %hd_s and %hd_t (WORKER_SHARED): one claim is under way at a time. Ahead of
 *             each take the caller sets %hd_s to its bit 4, inverted, in all threads
 *   enter     the leader, once: the slot, and joins; $hd_special: the launch is over already
 *   claim     the leader, into the slot; then $hd_ok or, with nothing to claim, $hd_none
 *   ahead     the leader, before the blocks of what was taken run: what the next claim will be. Not
 *             where blocks may wait for each other
 *   count     the leader, behind a barrier: the blocks that were run last
 *   leave     the leader, once, when all it ran is counted: the exit rule; then $hd_ret
 *   take      all threads, behind a barrier: what was claimed; the body is to follow, one block
 *   again     behind the body: the next block, or $hd_top */
#define WORKER_SHARED "%hd_s", "%hd_t"
void pass_part_declare(struct pass_writer *w, const struct pass_place *at);
/* Once all guests have been entered; ticket: what %hd_t is called there. */
void pass_part_begin(struct pass_writer *w, const char *ticket);
void pass_part_enter(struct pass_writer *w, const struct pass_place *at);
void pass_part_claim(struct pass_writer *w, const struct pass_place *at);
void pass_part_ahead(struct pass_writer *w);
void pass_part_count(struct pass_writer *w, const struct pass_place *at);
void pass_part_leave(struct pass_writer *w);
void pass_part_take(struct pass_writer *w, const struct pass_place *at);
void pass_part_again(struct pass_writer *w, const struct pass_place *at);

#endif
