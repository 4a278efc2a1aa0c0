/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Constants for emitted code: structure offsets, register names, the slot in shared memory, and
 * short code sequences that several emitters use. */
#ifndef HEDDLE_PASS_EMIT_H
#define HEDDLE_PASS_EMIT_H

/* Defines the offsets of fields in the control block and related structures, as text: A_..., B_...,
 * H_..., T_..., M_... (offsets.def). */
#include "offsets_gen.h"

/* How emitted code uses the registers that passes add. Their names begin with %hd_. Numbered
 * registers are scratch between code sequences, except for those in the table. The last two columns
 * say between which points of the code a register holds its value.
 *
 * | register       | holds                                    | from            | until          |
 * | hd_x, y, z     | ids of the claim, then of the block      | claim; $hd_next | the body's end |
 * | hd_k           | blocks of the claim, or SLOT_...         | claim; $hd_sync | $hd_sync       |
 * | hd_s           | 32 * block in its chunk + 16 * slot      | entering        | the end        |
 * |                | (merged: 32 * blocks left of the claim)  |                 |                |
 * | hd_t           | pending ticket, or CLAIM_...             | entering        | the end        |
 * | hd_bx .. hd_bz | the chunk's first block, if the body has | $hd_sync        | $hd_top        |
 * |                | no shared memory and no barriers         |                 |                |
 * |                | (merged: next block, blocks' distance)   |                 |                |
 * | hd_bk          | the chunk's length (same condition)      | $hd_sync        | $hd_top        |
 * | hd_pr          | the chunk lies in one row of the grid    | $hd_sync        | $hd_top        |
 * | hd_w, hd_g     | barriers so far; threads that must have  | entering        | the end        |
 * |                | exited at the block's end (rounds.c)     |                 |                |
 * | hd_here        | mask of lanes that have not exited       | the body's head | the body's end |
 * | hd_d0          | address of the control block             | BLOCK_ADDRESS   | sequence's end |
 * | hd_d1          | address for this SM's fields; or scratch | SM_ADDRESS      | sequence's end |
 * | hd_d2 .. d4    | total, host; 64-bit ticket (emit_ids.c)  | each sequence   | sequence's end |
 * | hd_r1          | this SM                                  | SM_ADDRESS      | sequence's end |
 * | hd_r4, hd_r6   | ticket and number of blocks of a claim   | claim           | pass_emit_ids  |
 * | hd_r9          | CTL_NARROW when the launch began         | joining         | first steps    |
 * | hd_n, ra, rb, h, pa, m | scratch inside the body          |                 |                |
 * | hd_pv          | result of a warp vote, inside the body   |                 |                |
 * | hd_p0          | this thread is not the leader            | NOT_LEADER      |                |
 * | other hd_r, hd_d, hd_p | scratch                          |                 |                |
 * | hd_mk, hd_ms   | of merged workers: see emit_merge.c      |                 |                |
 * | hd_tx .. hd_tz | the thread's id in its block             | the body's head | the body's end |
 * | hd_given       | address of its parameters (harness.c)    | the body's head | the body's end
 * | */

/* The slot, an array in shared memory for the worker's own data. It is declared first, so ptxas
 * places it before all of the kernel's variables. So among stores beyond the bounds of a kernel's
 * array, only those below the first array's start can reach the slot. They hit the end of the slot
 * first, which is unused. The size of 128 bytes preserves the distances between arrays and the
 * alignment of their addresses.
 *
 * A body may overwrite the slot. So the worker checks the values that decide which blocks
 * run or which counters change; a corrupt value ends the launch with an error (FAIL_IF_P1). These
 * have no check:
 * - most values, if the kernel has neither shared memory nor barriers
 * - S_TURN
 * - S_LAST, which only determines the size of a claim; S_LAST64, which also determines ids, has one
 *
 * Layout: two claims {x, y, z, blocks} of 16 bytes, each with a check word, and then the leader's
 * other data. */
#define SLOT_DECL       ".shared .align 16 .b8 hd_slot[128];\n"
#define PASS_SLOT_BYTES 128 /* bytes of static shared memory that emitted code adds */
/* the last ticket claimed; it determines the size of the next claim */
#define S_LAST "[hd_slot+32]"
/* 64-bit value for the largest grids, where it also determines the ids */
#define S_LAST64 "[hd_slot+32]"
/* completes "[REGISTER" to the address of a claim's check value; the register holds the claim's
 * address */
#define S_CHECK "+40]"
/* number of warps that are ready for the next claim; the last warp resets it to 0 */
#define S_TURN "[hd_slot+44]"
/* two words: 1 + the SM on which this worker is counted (0: it is not counted), and the
 * complement */
#define S_SM "[hd_slot+48]"
/* two words: blocks that the early claim requests, and the complement */
#define S_CLAIM "[hd_slot+64]"
/* two words: kind of the worker's first claim (CLAIM_*, or 0 for none), and the complement */
#define S_SPECIAL "[hd_slot+72]"

/* Ends the launch with an error if %hd_p1 is true: accesses an address far outside a block's shared
 * memory, which faults. A `trap`, or an exit that stores something, would make ptxas use more
 * registers (sm_90: 15 for kernels/mm.cu). */
#define FAIL_IF_P1 "@%hd_p1 red.shared.add.u32 [hd_slot+8388000], 1;\n"

/* The check value of a claim is (x ^ y ^ z) * CHECK_ODD + blocks + CHECK_BASE. once[] uses
 * CHECK_ODD, too, to mix the generation and the sequence number of the control word. */
#define CHECK_ODD  "0x9e3779b1"
#define CHECK_BASE "0x5e3da1c7"

/* Data of barriers that not all threads reach. Each execution of such a barrier is a round, and
 * rounds are numbered (rounds.c). There are two counts of exited threads, one for even and one for
 * odd rounds, and four 32-bit words for reductions. All of these values count up from ROUND_BASE.
 *
 * Each string completes "[REGISTER" to an address. The register holds the address of hd_slot, plus
 * 4 for each count or word that precedes the wanted one. */
#define R_COUNT      "+80]"
#define R_WORDS      "+88]"
#define R_FAILED     "+112]" /* only for tasks: the first round that some threads did not reach */
#define ROUND_BASE   "0x5a17c0de"
#define ROUND_BASE_2 "0xb42f81bc"

/* Special values of the block count in a slot: */
#define SLOT_LEAVE "0"
#define SLOT_RELAY "-1"
/* Special values of the leader's claim register, which are no tickets: */
#define CLAIM_NONE  "-2" /* nothing claimed yet */
#define CLAIM_LEAVE "-1"
#define CLAIM_RELAY "-3"
#define CLAIM_ONCE  "-4" /* the first claim ignores the quota */
/* The two parts of the lower half of ctl_block.state: the flag CTL_NARROW, and the number of
 * workers. */
#define STATE_NARROW "0x80000000"
#define STATE_COUNT  "0x7fffffff"
/* Grids of at least this many blocks use 64-bit tickets, and their workers make no early claims. */
#define TICKETS_32 "0xf0000000"

/* Sets %hd_p0 if this thread is not the leader. */
#define NOT_LEADER                         \
	"mov.u32 %hd_r0, %tid.x;\n"        \
	"mov.u32 %hd_r1, %tid.y;\n"        \
	"mov.u32 %hd_r2, %tid.z;\n"        \
	"or.b32 %hd_r0, %hd_r0, %hd_r1;\n" \
	"or.b32 %hd_r0, %hd_r0, %hd_r2;\n" \
	"setp.ne.u32 %hd_p0, %hd_r0, 0;\n"
#define BLOCK_ADDRESS "ld.param.u64 %hd_d0, " A_BLOCK ";\n"
/* Emitted before barriers that whole warps reach, both the kernel's barriers and those that passes
 * add. If ptxas cannot prove that the warp is whole at such a barrier, it makes the lanes
 * reconverge with WARPSYNC.COLLECTIVE.ALL. On an H200 a lane that leaves a loop of atomics after
 * the other lanes passes that instruction alone, and so gets one barrier ahead. ptxas compiles
 * bar.warp.sync to WARPSYNC with a mask instead, which does wait for all lanes. */
#define WHOLE_WARP "bar.warp.sync -1;\n"
/* Does the same as WHOLE_WARP, with a mask that ptxas cannot know: ctl_args.never, which is 0,
 * minus 1. After a call of a function that spins, ptxas wrongly assumes a whole warp and removes
 * WHOLE_WARP. Uses %hd_n. */
#define UNSEEN_WARP \
	"ld.param.u32 %hd_n, " A_NEVER ";\nsub.u32 %hd_n, %hd_n, 1;\nbar.warp.sync %hd_n;\n"

/* Loads the control block's address again, after a worker's first barrier. If ptxas knew that the
 * address is the same each time, it would keep the address and an offset in registers throughout
 * every body. So the code adds bit 3 of %hd_s to the address. This bit is always 0, but ptxas
 * cannot derive that. Uses %hd_r0. */
#define BLOCK_AGAIN                   \
	BLOCK_ADDRESS                 \
	"and.b32 %hd_r0, %hd_s, 8;\n" \
	"mad.wide.u32 %hd_d0, %hd_r0, 1, %hd_d0;\n"
/* Sets %hd_r1 to %smid, at most 255, and %hd_d1 to the control block's address plus 4 * %hd_r1.
 * Adding the offset of quota[] or workers[] to %hd_d1 gives this SM's element. */
#define SM_ADDRESS                          \
	"mov.u32 %hd_r1, %smid;\n"          \
	"min.u32 %hd_r1, %hd_r1, 255;\n"    \
	"mul.wide.u32 %hd_d1, %hd_r1, 4;\n" \
	"add.u64 %hd_d1, %hd_d0, %hd_d1;\n"

#endif
