/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The worker around a virtual block (doc/protocol.md). Its parts in the order in which they run:
 *     enter     the leader joins the launch
 *     $hd_top   the leader claims blocks, or uses its early claim, and stores the claim in the slot
 *     $hd_sync  barrier; the worker exits if it has no claim. The leader counts the blocks that ran
 *               before, and with CTL_PULL_AHEAD claims the next chunk early
 *     $hd_next  computes the ids of the chunk's next block from the slot
 *     body
 *     $hd_end   jumps to $hd_next if the chunk has more blocks, else to $hd_top
 * There are two loops, each entered only at its head. So ptxas sees that whole warps run them
 * together, and keeps uniform values in uniform registers.
 *
 * Registers: few added values live across the body, namely %hd_s (32 * block within the chunk + 16
 * * slot) and the pending ticket %hd_t. All other values are loaded again.
 *
 * If the body has no shared memory and no barriers, each warp runs a chunk at its own pace. Then
 * the chunk's first block and length stay in registers, and the first warp that finishes may claim
 * and count instead of the leader (first_claims).
 *
 * Barriers: one barrier separates chunks, or two if blocks may wait for each other. The blocks of a
 * chunk are separated by a barrier only where shared memory or the body's own barriers require
 * it. */
#include "pass/virtual/emit.h"
#include "pass/virtual/rounds.h"
#include "pass/worker/worker.h"

_Static_assert(offsetof(struct ctl_tenant, quota) == offsetof(struct ctl_host, quota), "H_QUOTA");
_Static_assert(CTL_ONCE == 16, "pass_emit_first_steps");

static const char regs[] =
	".reg .pred %hd_p<4>;\n"
	".reg .b32 %hd_r<12>; .reg .b64 %hd_d<8>;\n"
	".reg .b32 %hd_s; .reg .b32 %hd_t;\n"
	".reg .b32 %hd_x; .reg .b32 %hd_y; .reg .b32 %hd_z; .reg .b32 %hd_k;\n"
	".reg .b32 %hd_bx; .reg .b32 %hd_by; .reg .b32 %hd_bz; .reg .b32 %hd_bk;\n"
	".reg .pred %hd_pr;\n";

void pass_emit_regs(struct pass_writer *w)
{
	pass_put(w, regs);
	pass_virtual_regs(w);
}

/* ---- entering ---- */
static const char enter[] = NOT_LEADER "mov.u32 %hd_s, 16;\n" /* the first claim goes to slot 0 */
				       "mov.u32 %hd_t, " CLAIM_NONE ";\n"
				       "@%hd_p0 bra $hd_begin;\n";

static const char clear_slot[] =
	"mov.u32 %hd_r0, 0;\n"
	"mov.u32 %hd_r1, -1;\n"
	"mov.u32 %hd_r2, " CHECK_BASE ";\n"
	"st.shared.v4.u32 [hd_slot], {%hd_r0, %hd_r0, %hd_r0, %hd_r0};\n"
	"st.shared.v4.u32 [hd_slot+16], {%hd_r0, %hd_r0, %hd_r0, %hd_r0};\n"
	"st.shared.v4.u32 [hd_slot+32], {%hd_r0, %hd_r0, %hd_r2, %hd_r0};\n"
	"st.shared.v4.u32 [hd_slot+48], {%hd_r0, %hd_r1, %hd_r2, %hd_r0};\n"
	"st.shared.v4.u32 [hd_slot+64], {%hd_r0, %hd_r1, %hd_r0, %hd_r1};\n";

static const char join[] =
	BLOCK_ADDRESS "atom.global.add.u64 %hd_d1, [%hd_d0" B_STATE ", 1;\n"
		      "mov.b64 {%hd_r1, %hd_r2}, %hd_d1;\n"
		      /* the bit CTL_NARROW, which pass_emit_first_steps reads */
		      "shr.u32 %hd_r9, %hd_r1, 31;\n"
		      "ld.param.u32 %hd_r3, " A_GEN ";\n"
		      "setp.ne.u32 %hd_p1, %hd_r2, %hd_r3;\n"
		      "mov.u32 %hd_t, " CLAIM_LEAVE ";\n"
		      "@%hd_p1 bra $hd_special;\n" /* the launch has already ended */
		      "ld.param.u64 %hd_d3, " A_HOST ";\n"
		      "ld.param.u64 %hd_d2, " A_TOTAL ";\n"
		      "st.volatile.global.u64 [%hd_d0" B_TOTAL ", %hd_d2;\n"
		      "st.volatile.global.u64 [%hd_d0" B_HOST ", %hd_d3;\n"
		      "ld.param.u32 %hd_r3, " A_ROUND ";\n"
		      "setp.ne.u32 %hd_p1, %hd_r3, 0;\n"
		      "@%hd_p1 red.global.max.u32 [%hd_d0" B_ROUNDS ", %hd_r3;\n";

/* ---- at the barrier ---- */
static const char find_slot[] = "and.b32 %hd_s, %hd_s, 16;\n"
				"xor.b32 %hd_s, %hd_s, 16;\n"
				"mov.u32 %hd_r0, hd_slot;\n"
				"add.u32 %hd_r0, %hd_r0, %hd_s;\n";

/* Computes the slot's address in a worker that runs several kernels. The code around the kernels
 * has already updated %hd_s. */
static const char find_slot_again[] = "mov.u32 %hd_r0, hd_slot;\n"
				      "add.u32 %hd_r0, %hd_r0, %hd_s;\n";

static const char keep_slot[] = "ld.shared.v4.u32 {%hd_bx, %hd_by, %hd_bz, %hd_bk}, [%hd_r0];\n"
				"mov.u32 %hd_k, %hd_bk;\n";
static const char see_row[] = "ld.param.u32 %hd_r1, " A_GRID_X ";\n"
			      "add.u32 %hd_r0, %hd_bx, %hd_bk;\n"
			      /* true if all blocks of the chunk are in one row of the grid */
			      "setp.le.u32 %hd_pr, %hd_r0, %hd_r1;\n";

static const char unless_leaving[] = "setp.lt.s32 %hd_p1, %hd_k, 1;\n"
				     "@%hd_p1 bra $hd_leave;\n";

static const char claim_at[] = "ld.shared.v4.u32 {%hd_r2, %hd_r3, %hd_r4, %hd_r5}, [%hd_r1];\n";

/* Compares the claim that was just read with its check value. %hd_p1: the body has overwritten the
 * claim. */
#define COMPARE_CLAIM                                         \
	"xor.b32 %hd_r2, %hd_r2, %hd_r3;\n"                   \
	"xor.b32 %hd_r2, %hd_r2, %hd_r4;\n"                   \
	"mad.lo.u32 %hd_r2, %hd_r2, " CHECK_ODD ", %hd_r5;\n" \
	"add.u32 %hd_r2, %hd_r2, " CHECK_BASE ";\n"           \
	"ld.shared.u32 %hd_r3, [%hd_r1" S_CHECK ";\n"         \
	"setp.ne.u32 %hd_p1, %hd_r2, %hd_r3;\n"
static const char check_claim[] = COMPARE_CLAIM FAIL_IF_P1;

/* Makes the same check as check_claim, but reports a corrupt claim by an invalid store. ptxas does
 * not branch around a store, so the following code does not wait for the loaded words. */
static const char check_claim_aside[] =
	COMPARE_CLAIM "@%hd_p1 st.shared.u32 [hd_slot+8388000], %hd_r2;\n";

/* Returns whether the chunk's first block and length stay in registers. */
static bool keeps_slot(const struct pass_place *at)
{
	return !at->facts->uses_shared && !at->facts->has_barriers;
}

/* Returns whether the first warp that finishes a chunk claims the next one. It must not do so if
 * blocks may wait for each other: the claimed block would start only after the worker's other warps
 * have finished the present block, and the present block may wait for the claimed one. Workers with
 * early claims and merged workers use other code. */
static bool first_claims(const struct pass_place *at)
{
	return keeps_slot(at) && !at->pull_ahead && !at->facts->rising_order && !at->merged;
}

static void emit_take_slot(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, find_slot);
	pass_put(w, keeps_slot(at) ? keep_slot : "ld.shared.u32 %hd_k, [%hd_r0+12];\n");
	if (keeps_slot(at) && at->order != PASS_ORDER_COLUMN)
		pass_put(w, see_row);
	pass_put(w, unless_leaving);
}

/* Adds the blocks that ran last to the count of finished blocks. Their claim is in the previous
 * slot, or in a merged worker in the current slot. */
static void count_finished(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, at->merged ? "and.b32 %hd_r1, %hd_s, 16;\n" : "xor.b32 %hd_r1, %hd_s, 16;\n");
	pass_put(w, "mov.u32 %hd_r2, hd_slot;\n"
		    "add.u32 %hd_r1, %hd_r1, %hd_r2;\n");
	if (keeps_slot(at)) {
		pass_put(w, "ld.shared.u32 %hd_r5, [%hd_r1+12];\n");
	} else {
		pass_put(w, claim_at);
		pass_put(w, at->merged ? check_claim_aside : check_claim);
	}
	pass_put(w, "cvt.u64.u32 %hd_d1, %hd_r5;\n"
		    "setp.ne.u32 %hd_p1, %hd_r5, 0;\n"
		    "@%hd_p1 red.global.add.u64 [%hd_d0" B_FINISHED ", %hd_d1;\n");
}

/* ---- claiming ---- */
/* Adds the worker to the count of its SM. The worker stays counted until it exits. Uses %hd_r1 to
 * %hd_r3, %hd_d1. */
static const char count_in[] = SM_ADDRESS "mov.u32 %hd_r2, 1;\n"
					  "red.global.add.u32 [%hd_d1" B_WORKERS ", %hd_r2;\n"
					  "add.u32 %hd_r2, %hd_r1, 1;\n"
					  "not.b32 %hd_r3, %hd_r2;\n"
					  "st.shared.v2.u32 " S_SM ", {%hd_r2, %hd_r3};\n";

/* In one atomic operation, takes the worker off its SM's count and tests whether the count, before
 * that, was above the quota. If several workers of an SM do this at once, as many workers exit as
 * the count is above the quota. */
#define TRY_OUT                                                     \
	"atom.global.add.u32 %%hd_r3, [%%hd_d1" B_WORKERS ", -1;\n" \
	"setp.gt.u32 %%hd_p1, %%hd_r3, %%hd_r2;\n"                  \
	"@%%hd_p1 bra $hd_out_%s;\n"

/* Jumps to $hd_no_<site> if the quota requires the worker to exit:
 * - If the quota is 0, the worker is still in its SM's count at the jump.
 * - If the quota is not 0, the worker is off the count at the jump.
 *
 * A worker that was taken off the count but need not exit adds itself to the count again. If
 * another worker has entered between these two steps, the sum may exceed the quota. So the worker
 * tests once more here, and then at its next claim. A loop here would make ptxas treat the whole
 * worker as divergent. Uses %hd_r1 to %hd_r5. */
static void emit_quota(struct pass_writer *w, const struct pass_place *at, const char *site)
{
	pass_put(w, SM_ADDRESS "ld.volatile.global.u32 %hd_r2, [%hd_d1" B_QUOTA ";\n"
			       "ld.volatile.global.u32 %hd_r3, [%hd_d1" B_WORKERS ";\n"
			       "setp.eq.u32 %hd_p1, %hd_r2, 0;\n");
	pass_emit(w, "@%%hd_p1 bra $hd_no_%s;\n", site);
	pass_put(w, "setp.le.u32 %hd_p1, %hd_r3, %hd_r2;\n");
	pass_emit(w, "@%%hd_p1 bra $hd_may_%s;\n", site);
	pass_put(w, "ld.shared.v2.u32 {%hd_r4, %hd_r5}, " S_SM ";\n");
	if (!keeps_slot(at))
		pass_put(w, "xor.b32 %hd_r5, %hd_r4, %hd_r5;\n"
			    "setp.ne.u32 %hd_p1, %hd_r5, -1;\n" FAIL_IF_P1);
	pass_put(w, "setp.eq.u32 %hd_p1, %hd_r4, 0;\n");
	pass_emit(w, "@%%hd_p1 bra $hd_may_%s;\n", site);
	pass_put(w, "sub.u32 %hd_r4, %hd_r4, 1;\n"
		    "mul.wide.u32 %hd_d1, %hd_r4, 4;\n"
		    "add.u64 %hd_d1, %hd_d0, %hd_d1;\n");
	pass_emit(w, TRY_OUT, site);
	pass_put(w, "atom.global.add.u32 %hd_r3, [%hd_d1" B_WORKERS ", 1;\n"
		    "setp.lt.u32 %hd_p1, %hd_r3, %hd_r2;\n");
	pass_emit(w, "@%%hd_p1 bra $hd_may_%s;\n", site);
	pass_emit(w, TRY_OUT, site);
	pass_put(w, "mov.u32 %hd_r3, 1;\n"
		    "red.global.add.u32 [%hd_d1" B_WORKERS ", %hd_r3;\n");
	pass_emit(w, "bra $hd_may_%s;\n$hd_out_%s:\n", site, site);
	pass_put(w, "mov.u32 %hd_r4, 0;\n"
		    "mov.u32 %hd_r5, -1;\n"
		    "st.shared.v2.u32 " S_SM ", {%hd_r4, %hd_r5};\n");
	pass_emit(w, "bra $hd_no_%s;\n$hd_may_%s:\n", site, site);
}

/* Sets %hd_r6 to the number of blocks to claim. Sets %hd_r5 to the number of blocks from the
 * worker's last ticket to the end of the grid, shifted right by ctl_args.shrink. */
static const char claim_size[] = "ld.shared.u32 %hd_r4, " S_LAST ";\n"
				 "ld.param.u32 %hd_r5, " A_TOTAL ";\n"
				 "sub.u32 %hd_r5, %hd_r5, %hd_r4;\n"
				 "ld.param.u32 %hd_r4, " A_SHRINK ";\n"
				 "shr.u32 %hd_r5, %hd_r5, %hd_r4;\n"
				 "ld.param.u32 %hd_r6, " A_CHUNK ";\n"
				 "min.u32 %hd_r6, %hd_r6, %hd_r5;\n"
				 "max.u32 %hd_r6, %hd_r6, 1;\n";

static const char if_wide[] = "ld.param.u64 %hd_d1, " A_TOTAL ";\n"
			      "setp.ge.u64 %hd_p1, %hd_d1, " TICKETS_32 ";\n"
			      "@%hd_p1 bra $hd_wide;\n";

static const char claim_ticket[] = "not.b32 %hd_r5, %hd_r6;\n"
				   "st.shared.v2.u32 " S_CLAIM ", {%hd_r6, %hd_r5};\n"
				   "atom.global.add.u32 %hd_t, [%hd_d0" B_TICKET ", %hd_r6;\n";

static const char if_ahead[] = "mov.u32 %hd_t, " CLAIM_NONE ";\n"
			       "ld.param.u32 %hd_r1, " A_FLAGS ";\n"
			       "and.b32 %hd_r1, %hd_r1, 2;\n"
			       "setp.eq.u32 %hd_p1, %hd_r1, 0;\n"
			       "@%hd_p1 bra $hd_next;\n"
			       "ld.param.u64 %hd_d1, " A_TOTAL ";\n"
			       "setp.ge.u64 %hd_p1, %hd_d1, " TICKETS_32 ";\n"
			       "@%hd_p1 bra $hd_next;\n";

static void emit_pull_ahead(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, if_ahead);
	pass_put(w, claim_size);
	pass_put(w, "setp.eq.u32 %hd_p1, %hd_r5, 0;\n" /* near the end of the grid */
		    "@%hd_p1 bra $hd_next;\n"
		    "mov.u32 %hd_t, " CLAIM_LEAVE ";\n");
	emit_quota(w, at, "ahead"); /* this preserves %hd_r6 */
	pass_put(w, claim_ticket);
	pass_put(w, "$hd_no_ahead:\n");
}

/* Sets the ids to 0, so that they have a value on all paths. Otherwise their old values would stay
 * live through the previous block's body. */
#define NO_IDS "mov.u32 %hd_x, 0;\nmov.u32 %hd_y, 0;\nmov.u32 %hd_z, 0;\n"

static const char take[] = "$hd_take:\n" BLOCK_AGAIN "setp.eq.s32 %hd_p1, %hd_t, " CLAIM_RELAY ";\n"
			   "selp.s32 %hd_k, " SLOT_RELAY ", " SLOT_LEAVE ", %hd_p1;\n";

static const char take_ticket[] = NO_IDS "ld.param.u32 %hd_r5, " A_TOTAL ";\n"
					 "setp.ge.u32 %hd_p1, %hd_t, %hd_r5;\n"
					 "@%hd_p1 bra $hd_store;\n"
					 "mov.u32 %hd_r4, %hd_t;\n"
					 "st.shared.u32 " S_LAST ", %hd_t;\n"
					 "ld.shared.v2.u32 {%hd_r6, %hd_r7}, " S_CLAIM ";\n"
					 "sub.u32 %hd_r5, %hd_r5, %hd_t;\n";

/* Checks the size of the claim. Bodies of other threads may have overwritten it since the leader
 * stored it. */
static const char check_size[] = "xor.b32 %hd_r7, %hd_r6, %hd_r7;\n"
				 "setp.ne.u32 %hd_p1, %hd_r7, -1;\n" FAIL_IF_P1;

static const char taken[] = "min.u32 %hd_r6, %hd_r6, %hd_r5;\n"
			    "mov.u32 %hd_k, %hd_r6;\n"
			    "mov.u32 %hd_x, %hd_t;\n"
			    "$hd_claimed:\n";

/* Makes claims in grids of nearly 2^32 blocks or more (TICKETS_32), with all numbers in 64 bits.
 * The division shifts bit by bit, because this needs few registers (emit_ids.c). */
static const char claim_wide[] =
	"ld.shared.u64 %hd_d2, " S_LAST64 ";\n"
	"ld.param.u64 %hd_d3, " A_TOTAL ";\n"
	"sub.u64 %hd_d2, %hd_d3, %hd_d2;\n"
	"ld.param.u32 %hd_r4, " A_SHRINK ";\n"
	"shr.u64 %hd_d2, %hd_d2, %hd_r4;\n"
	"ld.param.u32 %hd_r6, " A_CHUNK ";\n"
	"cvt.u64.u32 %hd_d4, %hd_r6;\n"
	"min.u64 %hd_d2, %hd_d2, %hd_d4;\n"
	"max.u64 %hd_d2, %hd_d2, 1;\n"
	"atom.global.add.u64 %hd_d4, [%hd_d0" B_TICKET ", %hd_d2;\n"
	"mov.u32 %hd_k, " SLOT_LEAVE ";\n" NO_IDS "setp.ge.u64 %hd_p1, %hd_d4, %hd_d3;\n"
	"@%hd_p1 bra $hd_store;\n"
	"st.shared.u64 " S_LAST64 ", %hd_d4;\n"
	"sub.u64 %hd_d3, %hd_d3, %hd_d4;\n"
	"min.u64 %hd_d2, %hd_d2, %hd_d3;\n"
	"cvt.u32.u64 %hd_r6, %hd_d2;\n"
	"mov.u32 %hd_k, %hd_r6;\n";

static const char store_slot[] = "$hd_store:\n"
				 "and.b32 %hd_r0, %hd_s, 16;\n"
				 "xor.b32 %hd_r0, %hd_r0, 16;\n"
				 "mov.u32 %hd_r1, hd_slot;\n"
				 "add.u32 %hd_r0, %hd_r0, %hd_r1;\n"
				 "st.shared.v4.u32 [%hd_r0], {%hd_x, %hd_y, %hd_z, %hd_k};\n";

static const char store_check[] = "xor.b32 %hd_r1, %hd_x, %hd_y;\n"
				  "xor.b32 %hd_r1, %hd_r1, %hd_z;\n"
				  "mad.lo.u32 %hd_r1, %hd_r1, " CHECK_ODD ", %hd_k;\n"
				  "add.u32 %hd_r1, %hd_r1, " CHECK_BASE ";\n"
				  "st.shared.u32 [%hd_r0" S_CHECK ", %hd_r1;\n";

/* ---- computing the ids of the chunk's next block ---- */
static const char first_kept[] = "mov.u32 %hd_x, %hd_bx;\n"
				 "mov.u32 %hd_y, %hd_by;\n"
				 "mov.u32 %hd_z, %hd_bz;\n";

static const char find_claim[] = "and.b32 %hd_r0, %hd_s, 16;\n"
				 "mov.u32 %hd_r1, hd_slot;\n"
				 "add.u32 %hd_r1, %hd_r0, %hd_r1;\n";

static const char first_of_claim[] = "mov.u32 %hd_x, %hd_r2;\n"
				     "mov.u32 %hd_y, %hd_r3;\n"
				     "mov.u32 %hd_z, %hd_r4;\n";

/* Loads the ids of the chunk's first block. */
static void emit_first(struct pass_writer *w, const struct pass_place *at)
{
	if (keeps_slot(at)) {
		pass_put(w, first_kept);
		return;
	}
	pass_put(w, find_claim);
	pass_put(w, claim_at);
	pass_put(w, first_of_claim);
	pass_put(w, at->merged ? check_claim_aside : check_claim);
}

/* Advances the ids by %hd_r0 blocks in row order, starting from the chunk's first block. Continues
 * at $hd_<to>. */
static void emit_carry(struct pass_writer *w, const struct pass_place *at, const char *to)
{
	const bool *reads = at->facts->callees.at[0].reads + PASS_CTAID;

	pass_put(w, "add.u32 %hd_x, %hd_x, %hd_r0;\n");
	if (keeps_slot(at))
		pass_emit(w, "@%%hd_pr bra $hd_%s;\n", to);
	pass_put(w, "ld.param.u32 %hd_r1, " A_GRID_X ";\n"
		    "$hd_carry:\n"
		    ".pragma \"nounroll\";\n"
		    "setp.lt.u32 %hd_p1, %hd_x, %hd_r1;\n");
	pass_emit(w, "@%%hd_p1 bra $hd_%s;\n", to);
	pass_put(w, "sub.u32 %hd_x, %hd_x, %hd_r1;\n");
	if (reads[1] || reads[2])
		pass_put(w, "add.u32 %hd_y, %hd_y, 1;\n"
			    "ld.param.u32 %hd_r2, " A_GRID_Y ";\n"
			    "setp.ge.u32 %hd_p1, %hd_y, %hd_r2;\n"
			    "@%hd_p1 mov.u32 %hd_y, 0;\n"
			    "@%hd_p1 add.u32 %hd_z, %hd_z, 1;\n");
	pass_emit(w, "bra $hd_carry;\n$hd_%s:\n", to);
}

static void emit_next(struct pass_writer *w, const struct pass_place *at)
{
	const bool *reads = at->facts->callees.at[0].reads + PASS_CTAID;

	pass_put(w, "$hd_next:\n");
	emit_first(w, at);
	if (!reads[0] && !reads[1] && !reads[2])
		return;
	/* If the chunk has a single block, the leader has already computed its position on the
	 * curve (pass_emit_ids). */
	if (at->order == PASS_ORDER_HILBERT) {
		pass_emit(w, "setp.eq.u32 %%hd_p1, %s, 1;\n", keeps_slot(at) ? "%hd_bk" : "%hd_r5");
		pass_put(w, "@%hd_p1 bra $hd_body;\n");
	}
	pass_put(w, "shr.u32 %hd_r0, %hd_s, 5;\n");
	switch (at->order) {
	case PASS_ORDER_COLUMN:
		pass_emit_columns_carry(w);
		break;
	case PASS_ORDER_HILBERT:
		emit_carry(w, at, "place");
		pass_emit_hilbert(w, "next");
		break;
	default:
		emit_carry(w, at, "body");
		return;
	}
	pass_put(w, "$hd_body:\n");
}

/* Returns whether a barrier must separate two blocks of a chunk. A body whose barriers are rounds
 * already ends with a barrier (rounds.c). */
static bool parts_blocks(const struct pass_place *at)
{
	return at->facts->uses_shared && !pass_has_rounds(at);
}

static void emit_claim(struct pass_writer *w, const struct pass_place *at)
{
	const bool *reads = at->facts->callees.at[0].reads + PASS_CTAID;

	pass_put(w, BLOCK_AGAIN);
	if (first_claims(at))
		count_finished(w, at);
	pass_put(w, "mov.u32 %hd_t, " CLAIM_LEAVE ";\n");
	emit_quota(w, at, "now");
	pass_put(w, if_wide);
	pass_put(w, claim_size);
	if (at->facts->rising_order)
		pass_put(w, "mov.u32 %hd_r6, 1;\n");
	pass_put(w, claim_ticket);
	pass_put(w, "$hd_no_now:\n");
	pass_put(w, take);
	pass_put(w, take_ticket);
	if (!keeps_slot(at))
		pass_put(w, check_size);
	pass_put(w, taken);
	pass_emit_ids(w, at);
	pass_put(w, store_slot);
	if (!keeps_slot(at))
		pass_put(w, store_check);
	pass_put(w, "bra $hd_sync;\n"
		    "$hd_wide:\n");
	pass_put(w, claim_wide);
	pass_put(w, "cvt.u32.u64 %hd_r4, %hd_d4;\nbra $hd_claimed;\n");
	pass_emit_wide_ids(w, reads, at->order, S_LAST64);
}

/* Emits the code of the first claim, out of line because it runs only once. */
static void emit_first_claim(struct pass_writer *w)
{
	pass_put(w, "$hd_first:\n"
		    "xor.b32 %hd_r1, %hd_t, %hd_r1;\n"
		    "setp.ne.u32 %hd_p1, %hd_r1, -1;\n" FAIL_IF_P1
		    "setp.ne.s32 %hd_p1, %hd_t, " CLAIM_ONCE ";\n"
		    "@%hd_p1 bra $hd_take;\n" BLOCK_AGAIN "mov.u32 %hd_r1, 0;\n"
		    "st.shared.u32 " S_SPECIAL ", %hd_r1;\n");
	pass_put(w, count_in);
	pass_put(w, "bra $hd_may_now;\n");
}

/* One lane of each warp increments a counter in shared memory. The warp that gets 0 makes the next
 * claim. */
static const char if_first[] = "and.b32 %hd_s, %hd_s, 16;\n"
			       "mov.u32 %hd_r0, %laneid;\n"
			       "setp.ne.u32 %hd_p0, %hd_r0, 0;\n"
			       "@%hd_p0 bra $hd_sync;\n"
			       "mov.u32 %hd_r0, %ntid.x;\n"
			       "mov.u32 %hd_r1, %ntid.y;\n"
			       "mul.lo.u32 %hd_r0, %hd_r0, %hd_r1;\n"
			       "mov.u32 %hd_r1, %ntid.z;\n"
			       "mul.lo.u32 %hd_r0, %hd_r0, %hd_r1;\n"
			       "sub.u32 %hd_r0, %hd_r0, 1;\n"
			       "shr.u32 %hd_r0, %hd_r0, 5;\n"
			       "atom.shared.inc.u32 %hd_r0, " S_TURN ", %hd_r0;\n"
			       "setp.ne.u32 %hd_p1, %hd_r0, 0;\n"
			       "@%hd_p1 bra $hd_sync;\n";

void pass_emit_worker_head(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, SLOT_DECL);
	pass_emit_regs(w);
	pass_rounds_declare(w, at);
	pass_put(w, enter);
	pass_put(w, clear_slot);
	pass_rounds_clear(w, at);
	pass_put(w, join);
	pass_emit_first_steps(w, "$hd_special", true);
	pass_put(w, count_in);
	pass_put(w, "mov.u32 %hd_t, " CLAIM_NONE ";\n"
		    "bra $hd_begin;\n"
		    "$hd_special:\n"
		    "not.b32 %hd_r1, %hd_t;\n"
		    "st.shared.v2.u32 " S_SPECIAL ", {%hd_t, %hd_r1};\n"
		    "mov.u32 %hd_t, " CLAIM_NONE ";\n");
	pass_put(w, "$hd_begin:\n" WHOLE_WARP); /* from here on, warps are whole */
	if (first_claims(at))
		pass_own_barrier(w, at);
	pass_put(w, "$hd_top:\n");
	/* If other blocks may wait for this block, all threads of this block must finish it before
	 * the worker claims another block. */
	if (at->facts->rising_order)
		pass_own_barrier(w, at);
	pass_put(w, first_claims(at) ? if_first : NOT_LEADER "@%hd_p0 bra $hd_sync;\n");
	if (at->pull_ahead)
		pass_put(w, "setp.ne.u32 %hd_p1, %hd_t, " CLAIM_NONE ";\n"
			    "@%hd_p1 bra $hd_take;\n");
	pass_put(w, "ld.shared.v2.u32 {%hd_t, %hd_r1}, " S_SPECIAL ";\n"
		    "setp.ne.u32 %hd_p1, %hd_t, 0;\n"
		    "@%hd_p1 bra $hd_first;\n");
	emit_claim(w, at);
	emit_first_claim(w);
	pass_put(w, "$hd_sync:\n");
	pass_own_barrier(w, at);
	emit_take_slot(w, at);
	if (!first_claims(at)) {
		pass_put(w, NOT_LEADER "@%hd_p0 bra $hd_next;\n" BLOCK_AGAIN);
		count_finished(w, at);
	}
	if (at->pull_ahead)
		emit_pull_ahead(w, at);
	emit_next(w, at);
}

/* Loads the number of blocks of the chunk into %hd_bk. If the body has overwritten the number, the
 * next check of the claim detects it. */
static const char length_of_slot[] = "and.b32 %hd_r0, %hd_s, 16;\n"
				     "mov.u32 %hd_r1, hd_slot;\n"
				     "add.u32 %hd_r0, %hd_r0, %hd_r1;\n"
				     "ld.shared.u32 %hd_bk, [%hd_r0+12];\n";

static const char if_more[] = "add.u32 %hd_s, %hd_s, 32;\n"
			      "shr.u32 %hd_r0, %hd_s, 5;\n"
			      "setp.ge.u32 %hd_p1, %hd_r0, %hd_bk;\n"
			      "@%hd_p1 bra $hd_top;\n";

void pass_emit_block_end(struct pass_writer *w, const struct pass_place *at)
{
	if (pass_has_rounds(at)) {
		pass_round_answer(w, at);
		pass_put(w, "$hd_joined:\n");
	} else if (at->facts->cp_async) {
		pass_put(w, "cp.async.wait_all;\n");
	}
}

static void end_block(struct pass_writer *w, const struct pass_place *at)
{
	pass_emit_block_end(w, at);
	if (at->facts->gathers && !pass_has_rounds(at) && !parts_blocks(at))
		pass_put(w, WHOLE_WARP);
}

/* Emits the step from the end of a block to the next block. */
static void emit_again(struct pass_writer *w, const struct pass_place *at)
{
	end_block(w, at);
	if (!keeps_slot(at))
		pass_put(w, length_of_slot);
	pass_put(w, if_more);
	if (parts_blocks(at))
		pass_among_barrier(w, at);
	pass_put(w, "bra $hd_next;\n");
}

void pass_emit_worker_tail(struct pass_writer *w, const struct pass_place *at)
{
	emit_again(w, at);
	pass_put(w, "$hd_leave:\n");
	if (!keeps_slot(at)) {
		pass_put(w, find_claim);
		pass_put(w, claim_at);
		pass_put(w, check_claim);
	}
	pass_put(w, "setp.eq.u32 %hd_p1, %hd_k, " SLOT_RELAY ";\n"
		    "@%hd_p1 bra $hd_relay;\n" NOT_LEADER "@%hd_p0 bra $hd_ret;\n" BLOCK_AGAIN);
	count_finished(w, at);
	pass_emit_exit(w);
	pass_emit_relay(w, false);
	pass_put(w, "$hd_ret:\nret;\n");
}

/* ---- a worker that is one of several in an entry ---- */
void pass_part_declare(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, SLOT_DECL);
	pass_emit_regs(w);
	pass_rounds_declare(w, at);
	pass_put(w, "mov.u32 %hd_s, 16;\n"); /* the first claim goes to slot 0 */
}

void pass_part_begin(struct pass_writer *w, const char *ticket)
{
	pass_emit(w, "mov.u32 %s, " CLAIM_NONE ";\n", ticket);
}

void pass_part_enter(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, clear_slot);
	pass_rounds_clear(w, at);
	pass_put(w, join);
	pass_put(w, count_in);
}

_Static_assert(CTL_UNSTEERED == 32 && CTL_BY_CLAIMS == 64, "flags of merged launches");
static const char if_steered[] = "ld.param.u32 %hd_r1, " A_FLAGS ";\n"
				 "and.b32 %hd_r1, %hd_r1, 32;\n"
				 "setp.ne.u32 %hd_p1, %hd_r1, 0;\n"
				 "@%hd_p1 bra $hd_may_now;\n";

#define IF_BY_CLAIMS                          \
	"ld.param.u32 %hd_r1, " A_FLAGS ";\n" \
	"and.b32 %hd_r1, %hd_r1, 64;\n"       \
	"setp.ne.u32 %hd_p1, %hd_r1, 0;\n"

/* Makes the next claim early, except near the end of the grid, where each remaining block must go
 * to the first worker that is free. The exception applies to the last claims, about twice as many
 * as there are workers. */
static const char ahead[] = IF_BY_CLAIMS "@!%hd_p1 bra $hd_no_ahead;\n"
					 "ld.shared.u32 %hd_r4, " S_LAST ";\n"
					 "ld.param.u32 %hd_r5, " A_CLAIMS ";\n"
					 "sub.u32 %hd_r5, %hd_r5, %hd_r4;\n"
					 "ld.param.u32 %hd_r6, " A_APART ";\n"
					 "and.b32 %hd_r6, %hd_r6, 255;\n"
					 "shl.b32 %hd_r6, 2, %hd_r6;\n"
					 "setp.le.u32 %hd_p1, %hd_r5, %hd_r6;\n"
					 "@%hd_p1 bra $hd_no_ahead;\n" BLOCK_AGAIN
					 "atom.global.add.u32 %hd_t, [%hd_d0" B_TICKET ", 1;\n"
					 "$hd_no_ahead:\n";

void pass_part_ahead(struct pass_writer *w)
{
	pass_put(w, ahead);
}

/* Emits a claim of blocks. Each ticket is a block number. */
static void claim_blocks(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, if_steered);
	emit_quota(w, at, "now");
	pass_put(w, if_wide);
	pass_put(w, claim_size);
	if (at->facts->rising_order)
		pass_put(w, "mov.u32 %hd_r6, 1;\n");
	pass_put(w, claim_ticket);
	pass_put(w, "$hd_no_now:\n"
		    "mov.u32 %hd_k, " SLOT_LEAVE ";\n");
	pass_put(w, take_ticket);
	if (!keeps_slot(at))
		pass_put(w, check_size);
	pass_put(w, taken);
	pass_emit_part_ids(w, at->facts->callees.at[0].reads + PASS_CTAID);
}

/* In the largest grids (64-bit tickets) a claim has one block, and the slot holds the block's
 * ids. */
static const char claim_wide_block[] =
	"$hd_wide:\n"
	"atom.global.add.u64 %hd_d4, [%hd_d0" B_TICKET ", 1;\n"
	"mov.u32 %hd_k, " SLOT_LEAVE ";\n" NO_IDS "ld.param.u64 %hd_d3, " A_TOTAL ";\n"
	"setp.ge.u64 %hd_p1, %hd_d4, %hd_d3;\n"
	"@%hd_p1 bra $hd_store;\n"
	"st.shared.u64 " S_LAST64 ", %hd_d4;\n"
	"mov.u32 %hd_r6, 1;\n"
	"mov.u32 %hd_k, 1;\n"
	"cvt.u32.u64 %hd_r4, %hd_d4;\n"
	"bra $hd_claimed;\n";

void pass_part_claim(struct pass_writer *w, const struct pass_place *at)
{
	if (!at->facts->rising_order)
		pass_put(w, "setp.ne.u32 %hd_p1, %hd_t, " CLAIM_NONE ";\n"
			    "@%hd_p1 bra $hd_take;\n");
	pass_put(w, BLOCK_AGAIN);
	if (!at->facts->rising_order)
		pass_put(w, IF_BY_CLAIMS "@%hd_p1 bra $hd_one;\n");
	pass_put(w, "mov.u32 %hd_t, " CLAIM_LEAVE ";\n");
	claim_blocks(w, at);
	pass_put(w, claim_wide_block);
	pass_emit_wide_ids(
		w, at->facts->callees.at[0].reads + PASS_CTAID, PASS_ORDER_ROW, S_LAST64);
	if (!at->facts->rising_order) {
		pass_put(w, "$hd_one:\n"
			    "atom.global.add.u32 %hd_t, [%hd_d0" B_TICKET ", 1;\n"
			    "$hd_take:\n");
		pass_emit_claimed(w);
	}
	pass_put(w, store_slot);
	if (!keeps_slot(at))
		pass_put(w, store_check);
	pass_put(w, "$hd_sync:\n"
		    "mov.u32 %hd_t, " CLAIM_NONE ";\n"
		    "setp.lt.s32 %hd_p1, %hd_k, 1;\n"
		    "@%hd_p1 bra $hd_none;\n"
		    "bra $hd_ok;\n");
}

void pass_part_count(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, BLOCK_AGAIN);
	count_finished(w, at);
}

void pass_part_leave(struct pass_writer *w)
{
	pass_put(w, BLOCK_AGAIN);
	pass_emit_exit(w);
}

/* Adds to %hd_s the number of blocks that are left of the claim after this one. */
static const char note_left[] = "sub.u32 %hd_r1, %hd_k, 1;\n"
				"shl.b32 %hd_r1, %hd_r1, 5;\n"
				"or.b32 %hd_s, %hd_s, %hd_r1;\n";

static const char number_in_claim[] = "shr.u32 %hd_r0, %hd_s, 5;\n"
				      "sub.u32 %hd_r0, %hd_r5, %hd_r0;\n"
				      "sub.u32 %hd_r0, %hd_r0, 1;\n";

void pass_part_take(struct pass_writer *w, const struct pass_place *at)
{
	const bool *reads = at->facts->callees.at[0].reads + PASS_CTAID;

	pass_put(w, find_slot_again);
	pass_put(w, keeps_slot(at) ? keep_slot : "ld.shared.u32 %hd_k, [%hd_r0+12];\n");
	pass_put(w, note_left);
	pass_put(w, "$hd_next:\n");
	emit_first(w, at);
	if (!reads[0] && !reads[1] && !reads[2])
		return;
	pass_put(w, "ld.param.u32 %hd_r1, " A_INVERSE_X ";\n"
		    "setp.eq.u32 %hd_p1, %hd_r1, 0;\n"
		    "@%hd_p1 bra $hd_body;\n");
	if (!keeps_slot(at)) {
		pass_put(w, number_in_claim);
		pass_put(w, "mad.lo.u32 %hd_x, %hd_r0, %hd_y, %hd_x;\n");
	}
	pass_emit_multiply(w, reads);
	pass_put(w, "$hd_body:\n");
}

void pass_part_again(struct pass_writer *w, const struct pass_place *at)
{
	end_block(w, at);
	pass_put(w, "setp.lt.u32 %hd_p1, %hd_s, 32;\n"
		    "@%hd_p1 bra $hd_top;\n"
		    "sub.u32 %hd_s, %hd_s, 32;\n");
	if (keeps_slot(at))
		pass_put(w, "add.u32 %hd_bx, %hd_bx, %hd_by;\n");
	if (parts_blocks(at))
		pass_among_barrier(w, at);
	pass_put(w, "bra $hd_next;\n");
}
