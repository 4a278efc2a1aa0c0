/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Emits the code that begins and ends a launch (control.h: relay, control word of the host, exit
 * rule), and the closer, a kernel that ends a launch of guard grids. */
#include "pass/virtual/emit.h"
#include "pass/worker/worker.h"

/* Emits the first steps of a hardware block. Block 0 may become the relay (a warp that copies the
 * host's quotas to device memory). Other blocks may have to wait until the relay has copied the
 * first quotas. */
void pass_emit_first_steps(struct pass_writer *w, const char *relay_to, bool worker)
{
	pass_put(w, "ld.param.u32 %hd_r1, " A_FLAGS ";\n"
		    "and.b32 %hd_r2, %hd_r1, 1;\n"
		    "setp.eq.u32 %hd_p1, %hd_r2, 0;\n"
		    "@%hd_p1 bra $hd_no_relay;\n"
		    "mov.u32 %hd_r2, %ctaid.x;\n"
		    "mov.u32 %hd_r3, %ctaid.y;\n"
		    "or.b32 %hd_r2, %hd_r2, %hd_r3;\n"
		    "setp.ne.u32 %hd_p1, %hd_r2, 0;\n"
		    "@%hd_p1 bra $hd_no_relay;\n"
		    "mov.u32 %hd_r3, 1;\n"
		    "atom.global.cas.b32 %hd_r2, [%hd_d0" B_RELAY ", 0, %hd_r3;\n"
		    "setp.ne.u32 %hd_p1, %hd_r2, 0;\n"
		    "@%hd_p1 bra $hd_no_relay;\n"
		    "mov.u32 %hd_k, " SLOT_RELAY ";\n"
		    "mov.u32 %hd_t, " CLAIM_RELAY ";\n");
	pass_emit(w, "bra %s;\n", relay_to);
	pass_put(w, "$hd_no_relay:\n"
		    "bfe.u32 %hd_r2, %hd_r1, 3, 1;\n");
	if (worker)
		pass_put(w, "or.b32 %hd_r2, %hd_r2, %hd_r9;\n");
	pass_put(w, "setp.eq.u32 %hd_p1, %hd_r2, 0;\n"
		    "@%hd_p1 bra $hd_no_word;\n"
		    "ld.param.u32 %hd_r2, " A_SEQ ";\n"
		    "ld.param.u64 %hd_d2, " A_TOTAL ";\n"
		    "setp.eq.u32 %hd_p2, %hd_r2, 0;\n"
		    "$hd_word:\n"
		    ".pragma \"nounroll\";\n"
		    "ld.volatile.global.u32 %hd_r3, [%hd_d0" B_SEQ ";\n"
		    "ld.volatile.global.u32 %hd_r5, [%hd_d0" B_BEGUN ";\n"
		    "sub.s32 %hd_r4, %hd_r3, %hd_r2;\n"
		    "setp.ne.u32 %hd_p1, %hd_r3, 0;\n"
		    "setp.ge.and.s32 %hd_p1, %hd_r4, 0, %hd_p1;\n"
		    "setp.ne.and.u32 %hd_p3, %hd_r5, 0, %hd_p2;\n"
		    "or.pred %hd_p1, %hd_p1, %hd_p3;\n"
		    "@%hd_p1 bra $hd_told;\n"
		    "ld.volatile.global.u64 %hd_d3, [%hd_d0" B_TICKET ";\n"
		    "setp.ge.u64 %hd_p1, %hd_d3, %hd_d2;\n"
		    "@%hd_p1 bra $hd_no_word;\n"
		    "nanosleep.u32 100;\n"
		    "bra $hd_word;\n"
		    "$hd_told:\n");
	/* The relay may already have applied a newer control word (a sequence number and its
	 * quotas) than the one that this launch waits for. With CTL_ONCE, the first worker on each
	 * SM (or block of a guard grid) then makes one claim without a check of the quota, so that
	 * the launch makes progress. %hd_r3 identifies the control word and the generation. */
	pass_put(w, "setp.ne.u32 %hd_p1, %hd_r2, 0;\n"
		    "setp.gt.and.s32 %hd_p1, %hd_r4, 0, %hd_p1;\n"
		    "and.b32 %hd_r1, %hd_r1, 16;\n"
		    "setp.ne.and.u32 %hd_p1, %hd_r1, 0, %hd_p1;\n"
		    "@!%hd_p1 bra $hd_no_word;\n" SM_ADDRESS "ld.param.u32 %hd_r3, " A_GEN ";\n"
		    "mad.lo.u32 %hd_r3, %hd_r3, " CHECK_ODD ", %hd_r2;\n"
		    "atom.global.exch.b32 %hd_r4, [%hd_d1" B_ONCE ", %hd_r3;\n"
		    "setp.ne.u32 %hd_p1, %hd_r4, %hd_r3;\n");
	pass_put(w, worker ? "mov.u32 %hd_t, " CLAIM_ONCE ";\n"
			     "@%hd_p1 bra $hd_special;\n"
			   : "@%hd_p1 bra $hd_ticket;\n");
	pass_put(w, "$hd_no_word:\n");
}

/* Decrements the count of workers. The worker that takes the count to 0 continues; all others
 * return. */
#define TAKE_OFF                                                \
	"atom.global.add.u64 %hd_d1, [%hd_d0" B_STATE ", -1;\n" \
	"mov.b64 {%hd_r1, %hd_r2}, %hd_d1;\n"                   \
	"and.b32 %hd_r8, %hd_r1, " STATE_NARROW ";\n"           \
	"and.b32 %hd_r1, %hd_r1, " STATE_COUNT ";\n"            \
	"setp.ne.u32 %hd_p1, %hd_r1, 1;\n"                      \
	"@%hd_p1 bra $hd_ret;\n"

/* Sets %hd_p1 if some blocks have not run yet. */
#define LOOK_BACK                                                 \
	"membar.gl;\n"                                            \
	"ld.volatile.global.u64 %hd_d2, [%hd_d0" B_TOTAL ";\n"    \
	"ld.volatile.global.u64 %hd_d3, [%hd_d0" B_FINISHED ";\n" \
	"ld.volatile.global.u64 %hd_d4, [%hd_d0" B_HOST ";\n"     \
	"setp.eq.u64 %hd_p1, %hd_d2, 0;\n"                        \
	"@%hd_p1 bra $hd_ret;\n"                                  \
	"setp.lt.u64 %hd_p1, %hd_d3, %hd_d2;\n"

/* Takes a worker off the count. The last worker continues to complete the launch, or jumps to
 * $hd_drained if blocks are unfinished. */
#define LEAVE                                                               \
	TAKE_OFF                                                            \
	"$hd_last:\n" LOOK_BACK "@%hd_p1 bra $hd_drained;\n"                \
	"$hd_complete:\n"                                                   \
	"mov.b64 %hd_d5, {%hd_r8, %hd_r2};\n"                               \
	"add.u32 %hd_r2, %hd_r2, 1;\n"                                      \
	"ld.volatile.global.u32 %hd_r3, [%hd_d0" B_NARROW ";\n"             \
	"shl.b32 %hd_r3, %hd_r3, 31;\n"                                     \
	"or.b32 %hd_r3, %hd_r3, 1;\n"                                       \
	"mov.b64 %hd_d6, {%hd_r3, %hd_r2};\n"                               \
	"atom.global.cas.b64 %hd_d7, [%hd_d0" B_STATE ", %hd_d5, %hd_d6;\n" \
	"setp.ne.u64 %hd_p1, %hd_d7, %hd_d5;\n"                             \
	"@%hd_p1 bra $hd_ret;\n"

/* The leader takes its worker off the SM's count and off the launch's count; %hd_d0 is the control
 * block's address. Another worker may complete the launch right after this and reset the SM's
 * counts. The fence orders the update of the SM's count before that reset. */
static const char gone[] =
	"$hd_gone:\n"
	"ld.shared.v2.u32 {%hd_r1, %hd_r2}, " S_SM ";\n"
	"xor.b32 %hd_r2, %hd_r1, %hd_r2;\n"
	"setp.ne.u32 %hd_p1, %hd_r2, -1;\n" FAIL_IF_P1 "setp.eq.u32 %hd_p1, %hd_r1, 0;\n"
	"@%hd_p1 bra $hd_uncounted;\n"
	"sub.u32 %hd_r1, %hd_r1, 1;\n"
	"mul.wide.u32 %hd_d1, %hd_r1, 4;\n"
	"add.u64 %hd_d1, %hd_d0, %hd_d1;\n"
	"mov.u32 %hd_r2, -1;\n"
	"red.global.add.u32 [%hd_d1" B_WORKERS ", %hd_r2;\n"
	"$hd_uncounted:\n"
	"membar.gl;\n"
	"mov.u64 %hd_d1, 1;\n"
	"red.global.add.u64 [%hd_d0" B_GONE ", %hd_d1;\n" LEAVE;

/* Completes a launch: resets the control block and opens the gate, the word on which the stream
 * behind the launch waits. In: the control block's address in %hd_d0, total in %hd_d2, the host
 * slot's address in %hd_d4, the next generation in %hd_r2. */
#define COMPLETE                                                                     \
	"mov.u64 %hd_d1, 0;\n"                                                       \
	"mov.u32 %hd_r3, 0;\n"                                                       \
	"st.volatile.global.u64 [%hd_d0" B_TICKET ", %hd_d1;\n"                      \
	"st.volatile.global.u64 [%hd_d0" B_FINISHED ", %hd_d1;\n"                    \
	"st.volatile.global.u64 [%hd_d0" B_TOTAL ", %hd_d1;\n"                       \
	"st.volatile.global.u64 [%hd_d0" B_HOST ", %hd_d1;\n"                        \
	"st.volatile.global.u32 [%hd_d0" B_RELAY ", %hd_r3;\n"                       \
	"st.volatile.global.u32 [%hd_d0" B_SEQ ", %hd_r3;\n"                         \
	"st.volatile.global.u32 [%hd_d0" B_DRAINED_SEQ ", %hd_r3;\n"                 \
	"st.volatile.global.u32 [%hd_d0" B_DRAINS ", %hd_r3;\n"                      \
	"st.volatile.global.u32 [%hd_d0" B_NARROW ", %hd_r3;\n"                      \
	"st.volatile.global.u32 [%hd_d0" B_BEGUN ", %hd_r3;\n"                       \
	"st.volatile.global.u32 [%hd_d0" B_ROUNDS ", %hd_r3;\n"                      \
	"mov.u32 %hd_r4, 255;\n"                                                     \
	"mov.u64 %hd_d5, %hd_d0;\n"                                                  \
	"mov.u32 %hd_r5, 0;\n"                                                       \
	"$hd_reset:\n"                                                               \
	".pragma \"nounroll\";\n"                                                    \
	"st.global.v4.u32 [%hd_d5" B_QUOTA ", {%hd_r4, %hd_r4, %hd_r4, %hd_r4};\n"   \
	"st.global.v4.u32 [%hd_d5" B_WORKERS ", {%hd_r3, %hd_r3, %hd_r3, %hd_r3};\n" \
	"add.u64 %hd_d5, %hd_d5, 16;\n"                                              \
	"add.u32 %hd_r5, %hd_r5, 1;\n"                                               \
	"setp.lt.u32 %hd_p1, %hd_r5, 64;\n"                                          \
	"@%hd_p1 bra $hd_reset;\n"                                                   \
	"membar.gl;\n"                                                               \
	"atom.global.add.u64 %hd_d1, [%hd_d0" B_STATE ", -1;\n"                      \
	"setp.eq.u64 %hd_p1, %hd_d4, 0;\n"                                           \
	"@%hd_p1 bra $hd_silent;\n"                                                  \
	"mov.u64 %hd_d5, %globaltimer;\n"                                            \
	"st.volatile.global.u64 [%hd_d4" H_TICKET ", %hd_d2;\n"                      \
	"st.volatile.global.u64 [%hd_d4" H_FINISHED ", %hd_d2;\n"                    \
	"st.volatile.global.u64 [%hd_d4" H_DONE_NS ", %hd_d5;\n"                     \
	"$hd_silent:\n"                                                              \
	"membar.sys;\n"                                                              \
	"@!%hd_p1 st.volatile.global.u32 [%hd_d4" H_DONE ", %hd_r2;\n"               \
	"st.volatile.global.u32 [%hd_d0" B_GATE ", %hd_r2;\n"                        \
	"bra $hd_ret;\n"

/* Reports that the launch has drained. In: the control block's address in %hd_d0, total in %hd_d2,
 * the host slot's address in %hd_d4, the generation in %hd_r2.
 *
 * The worker counts itself in again while it reports. Otherwise the launch could complete
 * meanwhile, and the report would go to a slot that may belong to another launch by then. If the
 * launch has completed, the worker reports nothing.
 *
 * The last worker to exit from here reports again if another worker has exited since it read the
 * counts B_GONE and B_TOLD:
 * - B_GONE counts workers that exited. One more worker has exited, so the report is out of date.
 * - B_TOLD counts workers that left this code. Another worker may have read an older state but
 *   stored its report later. */
#define DRAINED                                                           \
	"$hd_drained:\n"                                                  \
	".pragma \"nounroll\";\n"                                         \
	"atom.global.add.u64 %hd_d1, [%hd_d0" B_STATE ", 1;\n"            \
	"mov.b64 {%hd_r1, %hd_r3}, %hd_d1;\n"                             \
	"mov.u64 %hd_d7, -1;\n"                                           \
	"mov.u32 %hd_r5, 0;\n"                                            \
	"setp.ne.u32 %hd_p1, %hd_r3, %hd_r2;\n"                           \
	"@%hd_p1 bra $hd_off;\n"                                          \
	"membar.gl;\n"                                                    \
	"ld.volatile.global.u64 %hd_d7, [%hd_d0" B_GONE ";\n"             \
	"ld.volatile.global.u32 %hd_r5, [%hd_d0" B_TOLD ";\n"             \
	"membar.gl;\n"                                                    \
	"ld.volatile.global.u64 %hd_d3, [%hd_d0" B_FINISHED ";\n"         \
	"ld.volatile.global.u32 %hd_r4, [%hd_d0" B_SEQ ";\n"              \
	"setp.ge.u64 %hd_p1, %hd_d3, %hd_d2;\n"                           \
	"@%hd_p1 bra $hd_off;\n"                                          \
	"mov.u32 %hd_r3, 1;\n"                                            \
	"atom.global.add.u32 %hd_r3, [%hd_d0" B_DRAINS ", %hd_r3;\n"      \
	"add.u32 %hd_r3, %hd_r3, 1;\n"                                    \
	"setp.eq.u64 %hd_p1, %hd_d4, 0;\n"                                \
	"atom.global.max.u32 %hd_r6, [%hd_d0" B_DRAINED_SEQ ", %hd_r4;\n" \
	"@%hd_p1 bra $hd_off;\n"                                          \
	"max.u32 %hd_r4, %hd_r4, %hd_r6;\n"                               \
	"st.volatile.global.u64 [%hd_d4" H_FINISHED ", %hd_d3;\n"         \
	"ld.volatile.global.u64 %hd_d3, [%hd_d0" B_TICKET ";\n"           \
	"ld.volatile.global.u32 %hd_r6, [%hd_d0" B_ROUNDS ";\n"           \
	"st.volatile.global.u32 [%hd_d4" H_DRAINED_SEQ ", %hd_r4;\n"      \
	"st.volatile.global.u64 [%hd_d4" H_TICKET ", %hd_d3;\n"           \
	"st.volatile.global.u32 [%hd_d4" H_ROUNDS ", %hd_r6;\n"           \
	"mov.u64 %hd_d3, %globaltimer;\n"                                 \
	"st.volatile.global.u64 [%hd_d4" H_DRAINED_NS ", %hd_d3;\n"       \
	"membar.sys;\n"                                                   \
	"st.volatile.global.u32 [%hd_d4" H_DRAINS ", %hd_r3;\n"           \
	"$hd_off:\n"                                                      \
	"mov.u32 %hd_r3, 1;\n"                                            \
	"red.global.add.u32 [%hd_d0" B_TOLD ", %hd_r3;\n"                 \
	"membar.sys;\n" TAKE_OFF LOOK_BACK "@!%hd_p1 bra $hd_complete;\n" \
	"ld.volatile.global.u64 %hd_d1, [%hd_d0" B_GONE ";\n"             \
	"ld.volatile.global.u32 %hd_r1, [%hd_d0" B_TOLD ";\n"             \
	"sub.u32 %hd_r1, %hd_r1, 1;\n"                                    \
	"setp.ne.u32 %hd_p1, %hd_r1, %hd_r5;\n"                           \
	"setp.ne.or.u64 %hd_p1, %hd_d1, %hd_d7, %hd_p1;\n"                \
	"@%hd_p1 bra $hd_drained;\n"                                      \
	"bra $hd_ret;\n"

void pass_emit_exit(struct pass_writer *w)
{
	pass_put(w, gone);
	pass_put(w, COMPLETE);
	pass_put(w, DRAINED);
}

/* ---- the relay: the first warp of the hardware block that became the relay ----
 *
 * All lanes of the relay run this code together. Lanes synchronize with vote and shfl, because a
 * bar.warp.sync in this code would make ptxas treat every warp of the kernel as divergent. Each
 * lane executes its fence before the vote, and the store that publishes the quotas comes after the
 * vote. So that store comes after the fences of all lanes. */
/* Registers of the relay. A control word is a sequence number and the quotas that the host stored
 * before it.
 * - %hd_r6: lane; %hd_r7: number of lanes; %hd_r8: mask of these lanes
 * - %hd_r9: sequence number of the control word that was applied last
 * - %hd_r10: number of polls
 * - %hd_r11: sequence number of the tenant's control word at the start
 * - %hd_p3: all quotas are 0
 * - %hd_d3: address of the host slot
 * - %hd_d6: number of workers that had exited before the relay started
 * - %hd_d7: address from which quotas are copied */
static const char relay_begin[] =
	"mov.u32 %hd_r0, %tid.z;\n"
	"mov.u32 %hd_r1, %ntid.y;\n"
	"mov.u32 %hd_r2, %tid.y;\n"
	"mad.lo.u32 %hd_r0, %hd_r0, %hd_r1, %hd_r2;\n"
	"mov.u32 %hd_r2, %ntid.x;\n"
	"mov.u32 %hd_r3, %tid.x;\n"
	"mad.lo.u32 %hd_r6, %hd_r0, %hd_r2, %hd_r3;\n"
	"setp.gt.u32 %hd_p1, %hd_r6, 31;\n"
	"@%hd_p1 bra $hd_ret;\n"
	"mov.u32 %hd_r0, %ntid.z;\n"
	"mul.lo.u32 %hd_r1, %hd_r1, %hd_r2;\n"
	"mul.lo.u32 %hd_r7, %hd_r0, %hd_r1;\n"
	"min.u32 %hd_r7, %hd_r7, 32;\n"
	"mov.u32 %hd_r0, 32;\n"
	"sub.u32 %hd_r0, %hd_r0, %hd_r7;\n"
	"mov.u32 %hd_r8, -1;\n"
	"shr.u32 %hd_r8, %hd_r8, %hd_r0;\n"
	"ld.param.u64 %hd_d3, " A_HOST ";\n"
	"mov.u32 %hd_r9, 0;\n" /* no update has number 0, so the first poll applies one */
	"mov.u32 %hd_r10, 0;\n"
	"ld.volatile.global.u64 %hd_d6, [%hd_d0" B_GONE ";\n"
	/* initialized, because ptxas would keep an uninitialized register live */
	"mov.u64 %hd_d5, 0;\n"
	"setp.ne.u32 %hd_p3, %hd_r9, %hd_r9;\n"
	"setp.ne.u32 %hd_p0, %hd_r6, 0;\n"
	"ld.volatile.global.u64 %hd_d1, [%hd_d3" H_SEQ ";\n"
	"mov.u32 %hd_r11, 0;\n"
	"mov.u32 %hd_r5, 0;\n"
	"ld.param.u64 %hd_d7, " A_TENANT ";\n"
	"setp.eq.u64 %hd_p1, %hd_d7, 0;\n"
	"@%hd_p1 bra $hd_alone;\n"
	"ld.volatile.global.u64 %hd_d2, [%hd_d7" T_SEQ ";\n"
	"mov.b64 {%hd_r11, %hd_r5}, %hd_d2;\n"
	"$hd_alone:\n"
	"cvt.u32.u64 %hd_r0, %hd_d1;\n"
	"setp.ne.u32 %hd_p1, %hd_r0, 0;\n"
	"selp.u32 %hd_r11, 0, %hd_r11, %hd_p1;\n"
	"shfl.sync.idx.b32 %hd_r11, %hd_r11, 0, 31, %hd_r8;\n"
	"@%hd_p0 bra $hd_arrived;\n";

/* If neither the launch nor its tenant has a control word yet, no worker needs to wait for one. */
static const char relay_free[] = "or.b32 %hd_r0, %hd_r0, %hd_r11;\n"
				 "setp.ne.u32 %hd_p1, %hd_r0, 0;\n"
				 "mov.u32 %hd_r1, 1;\n"
				 "@!%hd_p1 st.volatile.global.u32 [%hd_d0" B_BEGUN ", %hd_r1;\n";

/* The first relay of a generation reports that the launch has arrived. A later relay of the same
 * generation must not. The relay finds out from the host slot whether it is the first, because
 * blocks other than the relay write to the control block meanwhile. */
static const char relay_arrive[] = "mov.u64 %hd_d1, %globaltimer;\n"
				   "ld.volatile.global.u32 %hd_r0, [%hd_d3" H_ARRIVED ";\n"
				   "ld.param.u32 %hd_r1, " A_GEN ";\n"
				   "add.u32 %hd_r1, %hd_r1, 1;\n"
				   "setp.eq.u32 %hd_p1, %hd_r0, %hd_r1;\n"
				   "@%hd_p1 bra $hd_arrived;\n"
				   "st.volatile.global.u32 [%hd_d3" H_BEGAN ", %hd_r11;\n"
				   "st.volatile.global.u64 [%hd_d3" H_ARRIVED_NS ", %hd_d1;\n"
				   "membar.sys;\n"
				   "st.volatile.global.u32 [%hd_d3" H_ARRIVED ", %hd_r1;\n"
				   "$hd_arrived:\n";

/* Applies the tenant's control word at the start if the launch has none of its own. The tenant's
 * control word is read only once. */
static const char relay_obey[] = "mov.u32 %hd_r0, 0;\n"
				 "setp.ne.u32 %hd_p1, %hd_r11, 0;\n"
				 "@%hd_p1 bra $hd_apply;\n";

/* Polls the host slot, and copies the quotas of a new control word to device memory. If all SMs
 * have the same quota, the control word itself holds that quota, and the quotas of the SMs need not
 * be read. This saves time if the block has only one thread: on an H200 such a block needs 80 us to
 * read the quotas that 32 lanes read at once. %hd_p2: quotas differ; otherwise %hd_r10 holds the
 * quota four times. */
static const char relay_apply[] =
	"$hd_poll:\n"
	".pragma \"nounroll\";\n"
	"ld.volatile.global.u64 %hd_d1, [%hd_d3" H_SEQ ";\n"
	"mov.b64 {%hd_r0, %hd_r5}, %hd_d1;\n"
	"shfl.sync.idx.b32 %hd_r0, %hd_r0, 0, 31, %hd_r8;\n"
	"setp.eq.u32 %hd_p1, %hd_r0, %hd_r9;\n"
	"@%hd_p1 bra $hd_look;\n"
	"mov.u64 %hd_d7, %hd_d3;\n"
	"$hd_apply:\n"
	"shfl.sync.idx.b32 %hd_r5, %hd_r5, 0, 31, %hd_r8;\n"
	"mov.u32 %hd_r9, %hd_r0;\n"
	"setp.eq.u32 %hd_p2, %hd_r5, 0;\n"
	"sub.u32 %hd_r10, %hd_r5, 1;\n"
	"mul.lo.u32 %hd_r10, %hd_r10, 0x01010101;\n"
	"@%hd_p2 membar.sys;\n"
	"mov.u32 %hd_r5, 0;\n"   /* becomes the OR of all quotas */
	"mov.u32 %hd_r11, -1;\n" /* becomes the AND of all quotas */
	"mov.u32 %hd_r4, %hd_r6;\n"
	"$hd_copy:\n"
	".pragma \"nounroll\";\n"
	"setp.gt.u32 %hd_p1, %hd_r4, 63;\n"
	"@%hd_p1 bra $hd_copied;\n"
	"mul.wide.u32 %hd_d1, %hd_r4, 4;\n"
	"add.u64 %hd_d1, %hd_d7, %hd_d1;\n"
	"mov.u32 %hd_r0, %hd_r10;\n"
	/* one load reads four quotas of one byte each */
	"@%hd_p2 ld.volatile.global.u32 %hd_r0, [%hd_d1" H_QUOTA ";\n"
	"or.b32 %hd_r5, %hd_r5, %hd_r0;\n"
	"and.b32 %hd_r11, %hd_r11, %hd_r0;\n"
	"mul.wide.u32 %hd_d1, %hd_r4, 16;\n"
	"add.u64 %hd_d1, %hd_d0, %hd_d1;\n"
	"and.b32 %hd_r1, %hd_r0, 255;\n"
	"bfe.u32 %hd_r2, %hd_r0, 8, 8;\n"
	"bfe.u32 %hd_r3, %hd_r0, 16, 8;\n"
	"shr.u32 %hd_r0, %hd_r0, 24;\n"
	"st.volatile.global.v4.u32 [%hd_d1" B_QUOTA ", {%hd_r1, %hd_r2, %hd_r3, %hd_r0};\n"
	"add.u32 %hd_r4, %hd_r4, %hd_r7;\n"
	"bra $hd_copy;\n"
	"$hd_copied:\n"
	"membar.gl;\n"
	"setp.ne.u32 %hd_p1, %hd_r5, 0;\n"
	"vote.sync.any.pred %hd_p1, %hd_p1, %hd_r8;\n"
	"not.pred %hd_p3, %hd_p1;\n"
	"setp.ne.u32 %hd_p1, %hd_r11, -1;\n"
	"vote.sync.any.pred %hd_p1, %hd_p1, %hd_r8;\n"
	"mov.u32 %hd_r10, 0;\n"
	"setp.ne.u32 %hd_p0, %hd_r6, 0;\n"
	"@%hd_p0 bra $hd_look;\n"
	"selp.u32 %hd_r0, 1, 0, %hd_p1;\n"
	"st.volatile.global.u32 [%hd_d0" B_NARROW ", %hd_r0;\n"
	"st.volatile.global.u32 [%hd_d0" B_SEQ ", %hd_r9;\n"
	"mov.u32 %hd_r0, 1;\n"
	"st.volatile.global.u32 [%hd_d0" B_BEGUN ", %hd_r0;\n"
	"mov.u64 %hd_d1, %globaltimer;\n"
	"st.volatile.global.u64 [%hd_d3" H_SEEN_NS ", %hd_d1;\n"
	"$hd_look:\n";

#define PATIENCE "4096" /* number of polls after which a lone relay exits: some milliseconds */

/* Lane 0 reads the launch's progress and decides whether the relay exits (relay_decide): %hd_r5
 * becomes 0 to stay, 1 to exit, 2 to exit as the only block left. Lane 0 reports progress on the
 * first poll after a new control word, on every 64th poll, and before the relay exits. Sets %hd_d1
 * to the ticket counter, %hd_d2 to total, and %hd_d5 to ctl_block.state. */
static const char relay_look[] = "mov.u32 %hd_r5, 0;\n"
				 "setp.ne.u32 %hd_p0, %hd_r6, 0;\n"
				 "@%hd_p0 bra $hd_decided;\n"
				 "ld.volatile.global.u64 %hd_d1, [%hd_d0" B_TICKET ";\n"
				 "ld.volatile.global.u64 %hd_d5, [%hd_d0" B_STATE ";\n"
				 "ld.param.u64 %hd_d2, " A_TOTAL ";\n";

static const char relay_all_claimed[] = "setp.ge.u64 %hd_p1, %hd_d1, %hd_d2;\n";

/* For a guard grid: sets %hd_p1 to true if each block has either taken a ticket or exited without
 * one, so that no block of this launch has still to enter. */
static const char relay_all_passed[] = "ld.volatile.global.u32 %hd_r0, [%hd_d0" B_PASSED ";\n"
				       "cvt.u64.u32 %hd_d4, %hd_r0;\n"
				       "add.u64 %hd_d4, %hd_d4, %hd_d1;\n"
				       "setp.ge.u64 %hd_p1, %hd_d4, %hd_d2;\n";

static const char relay_leaves[] = "or.pred %hd_p1, %hd_p1, %hd_p3;\n"
				   "selp.u32 %hd_r5, 1, 0, %hd_p1;\n";

/* Sets %hd_r5 to 2 if the relay (the block that reads the control word) is the only block left in
 * the count of present blocks. The relay may conclude this only if a worker has exited since the
 * relay started, or if the relay has read the same control word more than PATIENCE times. Before
 * that, workers may not have entered yet. */
static const char relay_is_alone[] = "ld.volatile.global.u64 %hd_d4, [%hd_d0" B_GONE ";\n"
				     "cvt.u32.u64 %hd_r0, %hd_d5;\n"
				     "and.b32 %hd_r0, %hd_r0, " STATE_COUNT ";\n"
				     "setp.ne.u64 %hd_p1, %hd_d4, %hd_d6;\n"
				     "setp.gt.or.u32 %hd_p1, %hd_r10, " PATIENCE ", %hd_p1;\n"
				     "setp.eq.and.u32 %hd_p1, %hd_r0, 1, %hd_p1;\n"
				     "selp.u32 %hd_r5, 2, %hd_r5, %hd_p1;\n";

static const char relay_decide[] = "and.b32 %hd_r0, %hd_r10, 63;\n"
				   "add.u32 %hd_r10, %hd_r10, 1;\n"
				   "setp.ne.u32 %hd_p1, %hd_r0, 0;\n"
				   "setp.eq.and.u32 %hd_p1, %hd_r5, 0, %hd_p1;\n"
				   "@%hd_p1 bra $hd_decided;\n"
				   "ld.volatile.global.u64 %hd_d4, [%hd_d0" B_FINISHED ";\n"
				   "cvt.u32.u64 %hd_r0, %hd_d5;\n"
				   "and.b32 %hd_r0, %hd_r0, " STATE_COUNT ";\n"
				   "st.volatile.global.u64 [%hd_d3" H_TICKET ", %hd_d1;\n"
				   "st.volatile.global.u64 [%hd_d3" H_FINISHED ", %hd_d4;\n"
				   "st.volatile.global.u32 [%hd_d3" H_PRESENT ", %hd_r0;\n"
				   "$hd_decided:\n"
				   "shfl.sync.idx.b32 %hd_r5, %hd_r5, 0, 31, %hd_r8;\n"
				   "setp.eq.u32 %hd_p1, %hd_r5, 0;\n"
				   "@%hd_p1 bra $hd_poll;\n";

static const char relay_end[] = "mov.u32 %hd_r4, %hd_r5;\n"
				"mov.u32 %hd_r5, 0;\n"
				"@%hd_p0 bra $hd_looked;\n"
				"mov.u32 %hd_r0, 0;\n"
				"st.volatile.global.u32 [%hd_d0" B_RELAY ", %hd_r0;\n"
				"membar.sys;\n";

/* If the relay is the only block left, takes it off the launch's count with one compare-and-swap,
 * which fails if a worker has entered meanwhile. On success the relay follows the exit rule as the
 * last block. On failure this block tries to become the relay again. */
static const char relay_off[] = "setp.ne.u32 %hd_p1, %hd_r4, 2;\n"
				"@%hd_p1 bra $hd_with_others;\n"
				"sub.u64 %hd_d1, %hd_d5, 1;\n"
				"atom.global.cas.b64 %hd_d2, [%hd_d0" B_STATE ", %hd_d5, %hd_d1;\n"
				"setp.eq.u64 %hd_p1, %hd_d2, %hd_d5;\n"
				"@%hd_p1 bra $hd_looked;\n"
				"mov.u32 %hd_r4, 1;\n"
				"bra $hd_stay;\n"
				"$hd_with_others:\n";

/* If the host has written a new control word since the last poll, no one would apply that word
 * after this relay exits. So this block takes the role of the relay again, unless another block has
 * taken the role. */
static const char relay_again[] = "ld.volatile.global.u32 %hd_r0, [%hd_d3" H_SEQ ";\n"
				  "setp.eq.u32 %hd_p1, %hd_r0, %hd_r9;\n"
				  "@%hd_p1 bra $hd_looked;\n"
				  "$hd_stay:\n"
				  "mov.u32 %hd_r1, 1;\n"
				  "atom.global.cas.b32 %hd_r0, [%hd_d0" B_RELAY ", 0, %hd_r1;\n"
				  "setp.eq.u32 %hd_p1, %hd_r0, 0;\n"
				  "selp.u32 %hd_r5, 1, 0, %hd_p1;\n"
				  "$hd_looked:\n"
				  "shfl.sync.idx.b32 %hd_r5, %hd_r5, 0, 31, %hd_r8;\n"
				  "setp.ne.u32 %hd_p1, %hd_r5, 0;\n"
				  "@%hd_p1 bra $hd_poll;\n"
				  "@%hd_p0 bra $hd_ret;\n";

static const char relay_gone[] = "setp.ne.u32 %hd_p1, %hd_r4, 2;\n"
				 "@%hd_p1 bra $hd_gone;\n"
				 "mov.b64 {%hd_r1, %hd_r2}, %hd_d5;\n"
				 "and.b32 %hd_r8, %hd_r1, " STATE_NARROW ";\n"
				 "bra $hd_last;\n";

void pass_emit_relay(struct pass_writer *w, bool guard)
{
	pass_put(w, "$hd_relay:\n");
	pass_put(w, guard ? BLOCK_ADDRESS : BLOCK_AGAIN);
	pass_put(w, relay_begin);
	pass_put(w, relay_free);
	pass_put(w, relay_arrive);
	pass_put(w, relay_obey);
	pass_put(w, relay_apply);
	pass_put(w, relay_look);
	pass_put(w, guard ? relay_all_passed : relay_all_claimed);
	pass_put(w, relay_leaves);
	if (!guard)
		pass_put(w, relay_is_alone);
	pass_put(w, relay_decide);
	pass_put(w, relay_end);
	if (!guard)
		pass_put(w, relay_off);
	pass_put(w, relay_again);
	pass_put(w, guard ? "bra $hd_ret;\n" : relay_gone);
}

/* ---- the closer ---- */
#define CLOSER_HEAD                                                       \
	".version 6.0\n.target sm_70\n.address_size 64\n"                 \
	".visible .entry hd_closer(.param .align 8 .b8 hd_args[80])\n{\n" \
	".reg .pred %hd_p<4>; .reg .b32 %hd_r<12>; .reg .b64 %hd_d<8>;\n"

/* The closer counts itself as a worker, so that it can end the launch or report that the launch has
 * drained. Any other workers that are counted at this time are late workers of the previous launch.
 * Whichever of these and the closer exits last completes the launch. */
#define CLOSE                                                     \
	BLOCK_ADDRESS                                             \
	"ld.param.u64 %hd_d4, " A_HOST ";\n"                      \
	"ld.param.u64 %hd_d2, " A_TOTAL ";\n"                     \
	"ld.param.u32 %hd_r3, " A_ROUND ";\n"                     \
	"red.global.max.u32 [%hd_d0" B_ROUNDS ", %hd_r3;\n"       \
	"ld.volatile.global.u64 %hd_d3, [%hd_d0" B_TICKET ";\n"   \
	"mov.u32 %hd_r2, 0;\n"                                    \
	"st.volatile.global.u32 [%hd_d0" B_PASSED ", %hd_r2;\n"   \
	"min.u64 %hd_d3, %hd_d3, %hd_d2;\n"                       \
	"st.volatile.global.u64 [%hd_d0" B_FINISHED ", %hd_d3;\n" \
	"setp.lt.u64 %hd_p1, %hd_d3, %hd_d2;\n"                   \
	"ld.param.u32 %hd_r2, " A_GEN ";\n"                       \
	"@%hd_p1 bra $hd_drained;\n"                              \
	"atom.global.add.u64 %hd_d1, [%hd_d0" B_STATE ", 1;\n"    \
	"st.volatile.global.u64 [%hd_d0" B_HOST ", %hd_d4;\n"     \
	"st.volatile.global.u64 [%hd_d0" B_TOTAL ", %hd_d2;\n"    \
	"membar.gl;\n"

const char *pass_closer_ptx(void)
{
	return CLOSER_HEAD CLOSE LEAVE COMPLETE DRAINED "$hd_ret:\nret;\n}\n";
}
