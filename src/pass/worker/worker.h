/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Code sequences that implement the control block's protocol (control.h) around virtual blocks:
 * those of the worker, alone or as one of several in a launch, and those of the guard form. */
#ifndef HEDDLE_WORKER_H
#define HEDDLE_WORKER_H

#include "pass/virtual/emit.h"
#include "pass/virtual/virtual.h"

/* The ids of the claimed block and its grid, as operands for struct pass_place (virtual.h). */
#define PASS_CLAIMED_IDS                                                \
	{                                                               \
		"%hd_x", "%hd_y", "%hd_z", A_GRID_X, A_GRID_Y, A_GRID_Z \
	}

void pass_emit_regs(struct pass_writer *w);
/* Emits the first steps of a hardware block (emit_exit.c). If the block becomes the relay, which
 * copies the host's quotas to device memory, it jumps to the label `relay_to`. If `worker` is true,
 * the code counts the block in ctl_block.state. Afterwards %hd_r9 holds the CTL_NARROW bit that the
 * state had. */
void pass_emit_first_steps(struct pass_writer *w, const char *relay_to, bool worker);
/* Splits block number %hd_x into {x, y, z}, the ids of the first of %hd_k blocks. May jump to
 * $hd_wide_ids. */
void pass_emit_ids(struct pass_writer *w, const struct pass_place *at);
/* For a worker that is one of several in a launch. Computes the slot's contents from a ticket, and
 * continues at $hd_store:
 * - 32-bit ticket %hd_x: the first block, the distance between blocks, and 0
 * - 64-bit ticket %hd_d4, in the largest grids: the ids of the claim's only block */
void pass_emit_part_ids(struct pass_writer *w, const bool *reads);
/* For a worker that is one of several in a launch: computes the slot's contents and the number of
 * blocks from %hd_t, the number of a claim (CTL_BY_CLAIMS, args.h). Goes to $hd_sync if there is no
 * claim of this number. */
void pass_emit_claimed(struct pass_writer *w);
/* Computes {x, y, z} of block %hd_x. %hd_r1 must contain inverse[0]. */
void pass_emit_multiply(struct pass_writer *w, const bool *reads);
/* Computes ids from a 64-bit ticket. `ticket` is the ticket's address in shared memory; NULL: the
 * ticket is in %hd_d4. */
void pass_emit_wide_ids(
	struct pass_writer *w, const bool *reads, enum pass_order order, const char *ticket);
/* emit_order.c, column order: splits block number %hd_x into ids. pass_emit_columns_carry advances
 * the ids by %hd_r0 blocks and continues at $hd_body. */
void pass_emit_columns(struct pass_writer *w);
void pass_emit_columns_wide(struct pass_writer *w);
void pass_emit_columns_carry(struct pass_writer *w);
/* emit_order.c, Hilbert order: replaces the position %hd_x, %hd_y in row order by the position on
 * the curve. `site` makes the labels unique. */
void pass_emit_hilbert(struct pass_writer *w, const char *site);
/* emit_ids.c: divides %hd_d4 by %hd_r5. The quotient stays in %hd_d4; the remainder goes to
 * %hd_d2. */
void pass_emit_shift_division(struct pass_writer *w, const char *site);
void pass_emit_worker_head(struct pass_writer *w, const struct pass_place *at);
void pass_emit_worker_tail(struct pass_writer *w, const struct pass_place *at);
void pass_emit_guard_head(
	struct pass_writer *w, const struct pass_place *at, struct ptx_sym *overlay);
void pass_emit_guard_tail(struct pass_writer *w);
void pass_emit_exit(struct pass_writer *w);
void pass_emit_relay(struct pass_writer *w, bool guard);

/* Emits the end of a block, after its body. If the body's barriers are rounds (rounds.c), exited
 * threads execute rounds until all threads have exited. The code also waits for asynchronous
 * copies, if the body has any. */
void pass_emit_block_end(struct pass_writer *w, const struct pass_place *at);

/* The parts of a worker that is one of several in a launch (emit_merge.c has the code around them).
 * The caller places the labels "$hd_..." that a part jumps to but does not define.
 *     declare   all threads, once: registers and shared memory. All kernels share the registers
 *               %hd_s and %hd_t (WORKER_SHARED), since one claim is pending at a time. Before each
 *               `take`, the caller clears all bits of %hd_s but bit 4 and inverts that bit, in all
 *               threads, so that it selects the slot's other claim
 *     enter     the leader, once: initializes the slot and joins. Jumps to $hd_special if the
 *               launch has ended
 *     claim     the leader: claims blocks into the slot. Continues at $hd_ok, or at $hd_none if no
 *               block is left or the quota forbids a claim
 *     ahead     the leader, before the claimed blocks run: makes the next claim. Not used if blocks
 *               may wait for each other
 *     count     the leader, after a barrier: counts the blocks that ran last
 *     leave     the leader, once, when all its blocks are counted: the exit rule; then $hd_ret
 *     take      all threads, after a barrier: read the claim; the body of one block follows
 *     again     after the body: goes to the next block, or to $hd_top */
#define WORKER_SHARED "%hd_s", "%hd_t"
void pass_part_declare(struct pass_writer *w, const struct pass_place *at);
/* Emitted once, after all kernels have been entered. `ticket` is the caller's name for %hd_t. */
void pass_part_begin(struct pass_writer *w, const char *ticket);
void pass_part_enter(struct pass_writer *w, const struct pass_place *at);
void pass_part_claim(struct pass_writer *w, const struct pass_place *at);
void pass_part_ahead(struct pass_writer *w);
void pass_part_count(struct pass_writer *w, const struct pass_place *at);
void pass_part_leave(struct pass_writer *w);
void pass_part_take(struct pass_writer *w, const struct pass_place *at);
void pass_part_again(struct pass_writer *w, const struct pass_place *at);

#endif
