/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Words of emitted code: offsets, registers, the slot, and short pieces that are in several. */
#ifndef HEDDLE_PASS_EMIT_H
#define HEDDLE_PASS_EMIT_H

/* Offsets of the control block and of what is with it, as text: A_..., B_..., H_..., T_..., M_...
 * (offsets.def). */
#include "offsets_gen.h"

/* Who holds what. Every register of ours begins with %hd_; of those that are numbered nothing lasts
 * from one piece to the next but what stands here.
 *
 * | register       | holds                                   | from            | until          |
 * | hd_x, y, z     | ids of the claim, then of the block     | claim; $hd_next | the body's end |
 * | hd_k           | blocks of the claim, or SLOT_...        | claim; $hd_sync | $hd_sync       |
 * | hd_s           | 32 * block in its chunk + 16 * slot     | entering        | the end        |
 * |                | (merged: 32 * blocks left of it)        |                 |                |
 * | hd_t           | ticket under way, or CLAIM_...          | entering        | the end        |
 * | hd_bx .. hd_bz | the chunk's first block (without shared | $hd_sync        | $hd_top        |
 * |                | memory and barriers in the body)        |                 |                |
 * |                | merged: the next, and how far apart     |                 |                |
 * | hd_bk          | the chunk's length (else: read again)   | $hd_sync        | $hd_top        |
 * | hd_pr          | the chunk lies in one row of the grid   | $hd_sync        | $hd_top        |
 * | hd_w, hd_g     | rounds so far; threads to be done by    | entering        | the end        |
 * |                | the block's end (rounds.c)              |                 |                |
 * | hd_here        | lanes of the warp that have stayed      | the body's head | the body's end |
 * | hd_d0          | the control block                       | BLOCK_ADDRESS   | the piece's end |
 * | hd_d1          | this SM's words in it; or scratch       | SM_ADDRESS      |                |
 * | hd_d2 .. d4    | total, host; 64-bit ticket (emit_ids.c) | each its piece  |                |
 * | hd_r1          | this SM                                 | SM_ADDRESS      |                |
 * | hd_r4, hd_r6   | ticket and blocks that are claimed      | claim           | pass_emit_ids  |
 * | hd_r9          | whether the launch began narrow         | joining         | first steps    |
 * | hd_n, ra, rb, h, pa, m | scratch inside the body         |                 |                |
 * | hd_pv          | a vote of the warp, inside the body     |                 |                |
 * | hd_p0          | this thread is not the leader           | NOT_LEADER      |                |
 * | other hd_r, hd_d, hd_p | scratch                         |                 |                |
 * | hd_mk, hd_ms   | of merged workers: emit_merge.c         |                 |                |
 * |                | (which have one hd_s and hd_t: worker.h)|                 |                |
 * | hd_tx .. hd_tz | where the thread is in its block        | the body's head | the body's end |
 * | hd_given       | where its parameters are (harness.c)    | the body's head | the body's end |
 */

/* The slot in shared memory, declared first, so that the assembler puts it ahead of all that the
 * kernel has: only a store below the first of its arrays comes here, at first to the end of the
 * slot, where nothing is. 128 bytes: the distances between arrays, and what their addresses can be
 * divided by, stay as they were.
 *
 * Behind the first body anything may stand here. What is used is looked at: a word that nobody of
 * ours wrote ends the launch in an error (FAIL_IF_P1). Kernels without shared memory of their own
 * are spared that.
 *
 * Two claims {x, y, z, blocks} of 16 bytes, each with a check word, and the leader's notes. */
#define SLOT_DECL       ".shared .align 16 .b8 hd_slot[128];\n"
#define PASS_SLOT_BYTES 128 /* of static shared memory, all that the emitted code takes */
#define S_LAST          "[hd_slot+32]" /* ticket claimed last; says only how much to claim */
#define S_LAST64        "[hd_slot+32]" /* the same for the largest grids */
#define S_CHECK         "+40]"         /* of a claim, behind a register that holds its address */
#define S_TURN          "[hd_slot+44]" /* warps that have come for the next claim; the last sets it to 0 */
#define S_SM            "[hd_slot+48]" /* SM that it counts on + 1, 0: none; and its complement */
#define S_CLAIM         "[hd_slot+64]" /* blocks asked for with the claim made ahead; complement */
#define S_SPECIAL       "[hd_slot+72]" /* what the first claim is: CLAIM_*, 0: nothing; complement */

/* An access far outside of a block's shared memory. A `trap`, or a way out that stores anything,
 * makes the assembler take more registers (sm_90: 15 for kernels/mm.cu). */
#define FAIL_IF_P1 "@%hd_p1 red.shared.add.u32 [hd_slot+8388000], 1;\n"

/* A claim's check word: (x ^ y ^ z) * CHECK_ODD + blocks + CHECK_BASE. (CHECK_ODD also mixes
 * generation and word, for once[].) */
#define CHECK_ODD  "0x9e3779b1"
#define CHECK_BASE "0x5e3da1c7"

/* Rounds (rounds.c), behind a register that holds hd_slot's address and the word's place: two
 * counts of threads that are done, by a round's parity, and four words of reductions. All count
 * from ROUND_BASE on. */
#define R_COUNT      "+80]"
#define R_WORDS      "+88]"
#define R_FAILED     "+112]" /* of tasks: the first round that not all came to */
#define ROUND_BASE   "0x5a17c0de"
#define ROUND_BASE_2 "0xb42f81bc"

/* What a slot's block count says besides: */
#define SLOT_LEAVE "0"
#define SLOT_RELAY "-1"
/* What the leader's claim register says instead of a ticket: */
#define CLAIM_NONE  "-2" /* nothing claimed yet */
#define CLAIM_LEAVE "-1"
#define CLAIM_RELAY "-3"
#define CLAIM_ONCE  "-4" /* the first claim asks no quota */
/* In the count of struct ctl_block's state: CTL_NARROW, and what is left. */
#define STATE_NARROW "0x80000000"
#define STATE_COUNT  "0x7fffffff"
/* Grids from this size on use 64-bit tickets, claimed one after another. */
#define TICKETS_32 "0xf0000000"

/* %hd_p0: this thread is not the leader. */
#define NOT_LEADER                         \
	"mov.u32 %hd_r0, %tid.x;\n"        \
	"mov.u32 %hd_r1, %tid.y;\n"        \
	"mov.u32 %hd_r2, %tid.z;\n"        \
	"or.b32 %hd_r0, %hd_r0, %hd_r1;\n" \
	"or.b32 %hd_r0, %hd_r0, %hd_r2;\n" \
	"setp.ne.u32 %hd_p0, %hd_r0, 0;\n"
#define BLOCK_ADDRESS "ld.param.u64 %hd_d0, " A_BLOCK ";\n"
/* Ahead of barriers of ours and of the kernel's to which whole warps come. Where the assembler
 * cannot tell that they do, it gathers their lanes (WARPSYNC.COLLECTIVE.ALL), and on an H200 a lane
 * that comes out of a loop of atomics behind the others goes past that alone, a barrier ahead of
 * those that wait for it there. What this makes of it (the same instruction with a mask) waits. */
#define WHOLE_WARP "bar.warp.sync -1;\n"
/* The same with a mask that it cannot know, 0 less 1: behind a call of what spins it takes warps
 * for whole, wrongly, and leaves the other out. Uses %hd_n. */
#define UNSEEN_WARP \
	"ld.param.u32 %hd_n, " A_NEVER ";\nsub.u32 %hd_n, %hd_n, 1;\nbar.warp.sync %hd_n;\n"

/* Behind the first barrier of a worker: the assembler must not know that it is the same value each
 * time, or it keeps address and offset in registers, through every body. Bit 3 of %hd_s is 0, which
 * it does not find out. Uses %hd_r0. */
#define BLOCK_AGAIN                   \
	BLOCK_ADDRESS                 \
	"and.b32 %hd_r0, %hd_s, 8;\n" \
	"mad.wide.u32 %hd_d0, %hd_r0, 1, %hd_d0;\n"
/* %hd_d1 = &block->quota[%smid] less the array's offset; %hd_r1 = %smid. */
#define SM_ADDRESS                          \
	"mov.u32 %hd_r1, %smid;\n"          \
	"min.u32 %hd_r1, %hd_r1, 255;\n"    \
	"mul.wide.u32 %hd_d1, %hd_r1, 4;\n" \
	"add.u64 %hd_d1, %hd_d0, %hd_d1;\n"

#endif
