/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The master kernel around the bodies of tasks (ctl/task.h). A column is the part of the task table
 * that belongs to one master block; a row is an entry of the column, for one task. A record
 * describes one running block of a task.
 *
 *     enter       a block takes a column, or leaves; the words in shared memory begin at 0
 *     scheduler   warp 0 runs a loop, with a lane for each row, executor and record:
 *       $hd_s_top    frees barrier and shared memory of records whose warps have all ended
 *       $hd_s_pick   chooses a row that has not begun yet, round robin
 *       $hd_s_block  prepares the row's next block: record, barrier number, shared memory
 *       $hd_s_place  gives the block's warps to free executors. Only one block at a time is placed
 *                    in part, since two blocks at barriers could wait for each other's warps
 *       $hd_s_poll   polls the host if nothing can be placed, with one read of one line
 *     executor    a warp: one lane polls the warp's entry of `go`, all lanes run the body, and the
 *                 last lane counts the warp as finished
 *
 * All that a task's block wrote is visible to the host before the row's `out` byte, which tells the
 * host that the task has ended: bar.warp.sync orders a warp's lanes, counters with acq_rel order
 * warps and blocks, and the last lane executes a system fence. The scheduler passes work to
 * executors by plain stores, bar.warp.sync and a release store of `go`. Executors do not read a
 * record after they counted in it, nor a row after its `out` byte is set. */
#include "pass/task/emit_task.h"
#include "pass/task/emit_schedule.h"
#include "pass/virtual/emit.h"

/* ---- entering ---- */
static const char enter[] = "mov.u32 %hd_t, %tid.x;\n"
			    "mov.u32 %hd_lane, %laneid;\n"
			    "mov.u32 %hd_s, hd_own;\n"
			    "shl.b32 %hd_w, %hd_lane, 2;\n"
			    "add.u32 %hd_w, %hd_w, %hd_s;\n"
			    "mov.u32 %hd_a, %smid;\n"
			    "ld.param.u32 %hd_b, " K_FREE_SM ";\n"
			    "setp.ge.u32 %hd_p0, %hd_a, %hd_b;\n"
			    "@%hd_p0 ret;\n"
			    "setp.gt.u32 %hd_p0, %hd_t, 31;\n"
			    "@%hd_p0 bra $hd_entered;\n"
			    "mov.u32 %hd_a, 0;\n"
			    "st.shared.u32 [%hd_w" Q_GO ", %hd_a;\n"
			    "st.shared.u32 [%hd_w" Q_GO_32 ", %hd_a;\n"
			    "st.shared.u32 [%hd_w" Q_LEFT ", %hd_a;\n"
			    "st.shared.u32 [%hd_w" Q_BLOCKS ", %hd_a;\n"
			    "setp.ne.u32 %hd_p0, %hd_lane, 0;\n"
			    "@%hd_p0 bra $hd_entered;\n"
			    "ld.param.u64 %hd_d0, " K_TICKET ";\n"
			    "atom.global.add.u32 %hd_a, [%hd_d0], 1;\n"
			    "ld.param.u32 %hd_b, " K_N_COLUMNS ";\n"
			    "setp.lt.u32 %hd_p0, %hd_a, %hd_b;\n"
			    "ld.param.u64 %hd_d0, " K_LIST ";\n"
			    "mad.wide.u32 %hd_d0, %hd_a, 4, %hd_d0;\n"
			    "mov.u32 %hd_a, -1;\n"
			    "@%hd_p0 ld.relaxed.sys.global.u32 %hd_a, [%hd_d0];\n"
			    "st.shared.u32 [%hd_s" Q_INDEX ", %hd_a;\n"
			    "$hd_entered:\n" WHOLE_WARP "barrier.sync 0;\n"
			    "ld.shared.u32 %hd_b, [%hd_s" Q_INDEX ";\n"
			    "setp.eq.u32 %hd_p0, %hd_b, -1;\n"
			    "@%hd_p0 ret;\n"
			    "setp.gt.u32 %hd_p0, %hd_t, 31;\n"
			    "vote.sync.any.pred %hd_p0, %hd_p0, -1;\n"
			    "@%hd_p0 bra $hd_executor;\n";

/* Tells the host that this block has started, and in which launch. */
static const char arrive[] = "setp.ne.u32 %hd_p0, %hd_lane, 0;\n"
			     "ld.param.u32 %hd_a, " K_LAUNCH ";\n"
			     "shl.b32 %hd_a, %hd_a, 1;\n"
			     "@!%hd_p0 st.relaxed.sys.global.u32 [%hd_column" C_LAUNCH ", %hd_a;\n";

/* ---- executors ---- */

/* Sets %hd_w so that [%hd_w + Q_GO] is the word in which the warp receives its command. */
static const char await[] =
	"$hd_executor:\n"
	"shr.u32 %hd_w, %hd_t, 5;\n"
	"shl.b32 %hd_w, %hd_w, 2;\n"
	"add.u32 %hd_w, %hd_w, %hd_s;\n"
	"$hd_e_next:\n"
	"setp.ne.u32 %hd_p0, %hd_lane, 0;\n"
	"@%hd_p0 bra $hd_e_met;\n"
	"$hd_e_wait:\n"
	"ld.acquire.cta.shared.u32 %hd_a, [%hd_w" Q_GO ";\n"
	"setp.ne.u32 %hd_p0, %hd_a, 0;\n"
	"@%hd_p0 bra $hd_e_met;\n"
	"nanosleep.u32 100;\n"
	"bra $hd_e_wait;\n"
	"$hd_e_met:\n" WHOLE_WARP "ld.volatile.shared.u32 %hd_a, [%hd_w" Q_GO ";\n"
	"setp.eq.u32 %hd_p0, %hd_a, -1;\n"
	"@%hd_p0 ret;\n"
	"bfe.u32 %hd_a, %hd_a, 8, 8;\n"
	"shl.b32 %hd_a, %hd_a, 6;\n"
	"add.u32 %hd_a, %hd_a, %hd_s;\n";

static const char done[] = "$hd_e_done:\n" WHOLE_WARP "mov.u32 %hd_a, %laneid;\n"
			   "setp.ne.u32 %hd_p0, %hd_a, 0;\n"
			   "@%hd_p0 bra $hd_e_free;\n"
			   "ld.volatile.shared.u32 %hd_a, [%hd_w" Q_GO ";\n"
			   "bfe.u32 %hd_a, %hd_a, 8, 8;\n"
			   "shl.b32 %hd_b, %hd_a, 6;\n"
			   "add.u32 %hd_b, %hd_b, %hd_s;\n";
/* %hd_e: address for the row's entries; %hd_c: address for the record's */
static const char count[] = "atom.acq_rel.cta.shared.add.u32 %hd_a, [%hd_c" Q_LEFT ", -1;\n"
			    "setp.ne.u32 %hd_p0, %hd_a, 1;\n"
			    "@%hd_p0 bra $hd_e_counted;\n"
			    "atom.acq_rel.cta.shared.add.u32 %hd_a, [%hd_e" Q_BLOCKS ", -1;\n"
			    "setp.ne.u32 %hd_p0, %hd_a, 1;\n"
			    "@%hd_p0 bra $hd_e_counted;\n"
			    "ld.shared.u32 %hd_a, [%hd_e" Q_GEN ";\n"
			    "ld.shared.u64 %hd_d0, [%hd_s" Q_COLUMN ";\n"
			    "sub.u32 %hd_e, %hd_e, %hd_s;\n"
			    "shr.u32 %hd_e, %hd_e, 2;\n"
			    "cvt.u64.u32 %hd_d1, %hd_e;\n"
			    "add.u64 %hd_d0, %hd_d0, %hd_d1;\n";
static const char tell[] = "fence.acq_rel.sys;\n"
			   "st.relaxed.sys.global.u8 [%hd_d0" C_OUT ", %hd_a;\n";
static const char counted[] = "$hd_e_counted:\n"
			      "mov.u32 %hd_a, 0;\n"
			      "st.release.cta.shared.u32 [%hd_w" Q_GO ", %hd_a;\n"
			      "$hd_e_free:\n" WHOLE_WARP;

/* In: %hd_e, the row; %hd_a, the row's generation; %hd_d2, the time when the task ended. */
static const char told[] = "mov.u64 %hd_d3, %globaltimer;\n"
			   "ld.param.u64 %hd_d0, " K_STAMPS ";\n"
			   "ld.shared.u32 %hd_b, [%hd_s" Q_INDEX ";\n"
			   "shl.b32 %hd_b, %hd_b, 5;\n"
			   "add.u32 %hd_b, %hd_b, %hd_e;\n"
			   "mad.wide.u32 %hd_d0, %hd_b, 64, %hd_d0;\n"
			   "mad.lo.u32 %hd_f, %hd_e, 24, %hd_s;\n";

static void put_told(struct pass_writer *w)
{
	pass_put(w, told);
	for (unsigned i = 0; i < 3; i++)
		pass_emit(w,
			"ld.shared.u64 %%hd_d1, [%%hd_f+%u];\n"
			"st.relaxed.sys.global.u64 [%%hd_d0+%u], %%hd_d1;\n",
			N_KEPT + 8 * i, 8 * i);
	pass_put(w, "st.relaxed.sys.global.u64 [%hd_d0+24], %hd_d2;\n"
		    "st.relaxed.sys.global.u64 [%hd_d0+32], %hd_d3;\n"
		    "cvt.u64.u32 %hd_d1, %hd_a;\n"
		    "fence.acq_rel.sys;\n"
		    "st.relaxed.sys.global.u64 [%hd_d0+40], %hd_d1;\n");
	_Static_assert(offsetof(struct task_stamps, ended) == 24 &&
			       offsetof(struct task_stamps, gen) == 40 &&
			       sizeof(struct task_stamps) == 64,
		"as written here");
}

static const char or_back[] = "mov.u32 %hd_a, %tid.x;\n"
			      "setp.lt.u32 %hd_p0, %hd_a, 32;\n"
			      "@%hd_p0 bra $hd_s_back;\n"
			      "mov.u32 %hd_lane, %laneid;\n";

static void put_executor(struct kernels *x, struct pass_writer *w, const struct pass_pool *pool)
{
	pass_put(w, await);
	/* row of the record's task */
	pass_emit(w, "ld.shared.u32 %%hd_a, [%%hd_a+%d];\n", N_RECORD);
	if (pool->stamps)
		task_put_stamp(w, "", "%hd_a", offsetof(struct task_stamps, begun));
	pass_emit(w,
		"shl.b32 %%hd_a, %%hd_a, 6;\n"
		"add.u32 %%hd_a, %%hd_a, %%hd_s;\n"
		"ld.shared.u16 %%hd_b, [%%hd_a+%d];\n",
		N_ROW);
	for (unsigned k = 0; k < x->n; k++)
		pass_emit(w, "setp.eq.u32 %%hd_p0, %%hd_b, %u;\n@%%hd_p0 bra $hd_kind%u;\n", k, k);
	pass_put(w, "bra $hd_e_done;\n");
	for (unsigned k = 0; k < x->n; k++) {
		pass_emit(w, "$hd_kind%u:\n" WHOLE_WARP, k);
		kernels_put_piece(x, w, k, 0);
		pass_put(w, "bra $hd_e_done;\n");
	}
	pass_put(w, done);
	pass_emit(w, "ld.shared.u32 %%hd_e, [%%hd_b+%d];\n", N_RECORD);
	pass_put(w, "shl.b32 %hd_e, %hd_e, 2;\n"
		    "add.u32 %hd_e, %hd_e, %hd_s;\n"
		    "shl.b32 %hd_c, %hd_a, 2;\n"
		    "add.u32 %hd_c, %hd_c, %hd_s;\n");
	pass_put(w, count);
	if (pool->stamps)
		pass_put(w, "mov.u64 %hd_d2, %globaltimer;\n");
	pass_put(w, tell);
	if (pool->stamps)
		put_told(w);
	pass_put(w, counted);
	if (pool->wide)
		pass_put(w, or_back);
	pass_put(w, "bra $hd_e_next;\n");
}

void pass_emit_tasks(struct kernels *x, struct pass_writer *w, const struct pass_pool *pool)
{
	_Static_assert(offsetof(struct task_record, row) == 0, "put_executor");
	_Static_assert(offsetof(struct task_desc, kind) == 0, "put_executor");
	task_put_registers(w);
	pass_put(w, enter);
	task_put_setup(w);
	pass_put(w, arrive);
	task_put_scheduler(w, pool);
	put_executor(x, w, pool);
}
