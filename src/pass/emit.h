/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Offsets of the control block as text, for emitted code. Checked against the structures in
 * emit_worker.c. */
#ifndef HEDDLE_PASS_EMIT_H
#define HEDDLE_PASS_EMIT_H

/* struct ctl_args */
#define A_BLOCK  "[hd_args]"
#define A_HOST   "[hd_args+8]"
#define A_TOTAL  "[hd_args+16]"
#define A_GRID_X "[hd_args+24]"
#define A_GRID_Y "[hd_args+28]"
#define A_GRID_Z "[hd_args+32]"
#define A_GEN    "[hd_args+36]"
#define A_CHUNK  "[hd_args+40]"
#define A_FLAGS  "[hd_args+44]"
#define A_SHRINK "[hd_args+48]"
#define A_YIELD  "[hd_args+52]"
#define A_TENANT "[hd_args+56]"
#define A_SEQ    "[hd_args+64]"
#define A_ROUND  "[hd_args+68]"
#define A_NEVER  "[hd_args+72]"

/* struct ctl_block, behind a register that holds its address */
#define B_TICKET      "+0]"
#define B_FINISHED    "+128]"
#define B_STATE       "+256]"
#define B_TOTAL       "+264]"
#define B_HOST        "+272]"
#define B_GONE        "+280]"
#define B_RELAY       "+288]"
#define B_SEQ         "+292]"
#define B_GATE        "+296]"
#define B_DRAINS      "+300]"
#define B_PASSED      "+304]"
#define B_DRAINED_SEQ "+308]"
#define B_NARROW      "+312]"
#define B_BEGUN       "+316]"
#define B_ROUNDS      "+320]"
#define B_QUOTA       "+384]"
#define B_RANKS       "+1408]"
#define B_ONCE        "+2432]"

/* struct ctl_host */
#define H_SEQ         "+0]" /* and word */
#define H_QUOTA       "+128]"
#define H_ARRIVED     "+384]"
#define H_DONE        "+388]"
#define H_DRAINED_SEQ "+392]"
#define H_DRAINS      "+396]"
#define H_TICKET      "+400]"
#define H_FINISHED    "+408]"
#define H_ARRIVED_NS  "+416]"
#define H_SEEN_NS     "+424]"
#define H_DRAINED_NS  "+432]"
#define H_DONE_NS     "+440]"
#define H_PRESENT     "+448]"
#define H_BEGAN       "+452]"
#define H_ROUNDS      "+456]"

/* struct ctl_tenant: its quotas stand where those of struct ctl_host do */
#define T_SEQ "+0]" /* and word */

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
#define SLOT_DECL ".shared .align 16 .b8 hd_slot[128];\n"
#define S_LAST    "[hd_slot+32]" /* ticket claimed last; says only how much to claim */
#define S_LAST64  "[hd_slot+32]" /* the same for the largest grids */
#define S_CHECK   "+40]"         /* of a claim, behind a register that holds its address */
#define S_TURN    "[hd_slot+44]" /* warps that have come for the next claim; the last sets it to 0 */
#define S_RANK    "[hd_slot+48]" /* SM << 8 | rank + 1, 0: none; and its complement */
#define S_CLAIM   "[hd_slot+64]" /* blocks asked for with the claim made ahead; complement */
#define S_SPECIAL "[hd_slot+72]" /* what the first claim is: CLAIM_*, 0: nothing; complement */

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
