/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Combines the code of several workers (worker.h) into one worker that runs blocks of several
 * kernels. Its parts in the order in which they run:
 *
 *     declare   for each kernel. The leader joins each launch, and finds the kernel that the worker
 *               is assigned to, if workers have kernels of their own
 *     $hd_pick  the leader chooses a kernel and claims blocks of it. If no blocks are left, or the
 *               quota requires the worker to exit, this worker is finished with the kernel, and the
 *               leader chooses another
 *     $hd_sync  barrier of all threads, which tells them the chosen kernel, or none. The leader
 *               counts the blocks that ran before, and leaves the launches with which this worker
 *               is finished
 *     run       the kernel's code, block by block, then back to $hd_pick */
#include "pass/fuse/emit_merge.h"
#include "pass/virtual/emit.h"

/* Registers of all threads. Only %hd_ms lives across the body.
 *     %hd_mk    the chosen kernel; the number of kernels means none
 *     %hd_ms    bit 31: which of the two words at hd_pick is used next. In the leader also:
 *               bits 0 to 7: the kernel whose blocks must be counted, or NOTHING
 *               bits 8 to 15: kernels with which this worker is finished
 *               bits 16 to 23: launches that the worker has left
 *               bits 24 to 26: the kernel to choose next
 *               bit 27: that kernel is decided, and an early claim may have been made for it
 *
 * The array hd_pick in shared memory holds:
 * - two words through which the leader tells the other threads its choice. Two words suffice: a
 *   thread that reads its word late can be overtaken by one claim but not by two, because the next
 *   barrier waits for it.
 * - P_KEPT: the kernel that the worker is assigned to, and the bitwise complement of its number
 * - P_BEGAN: the value of %globaltimer when the current blocks began */
#define P_KEPT  "[hd_pick+8]"
#define P_BEGAN "[hd_pick+16]"

#define NOTHING  255
#define OVER_BIT 8
#define LEFT_BIT 16
#define TURN_BIT 24
#define NEXT_BIT 27

/* Sets %hd_mp0 if this thread is not the leader. Blocks of the entry have one dimension, unless all
 * kernels have the same block shape. */
static void put_not_leader(struct kernels *x, struct pass_writer *w)
{
	const uint32_t *b = x->of[0].block;

	pass_put(w, "mov.u32 %hd_mr0, %tid.x;\n");
	if (x->as_is && (b[1] > 1 || b[2] > 1))
		pass_put(w, "mov.u32 %hd_mr1, %tid.y;\n"
			    "mov.u32 %hd_mr2, %tid.z;\n"
			    "or.b32 %hd_mr0, %hd_mr0, %hd_mr1;\n"
			    "or.b32 %hd_mr0, %hd_mr0, %hd_mr2;\n");
	pass_put(w, "setp.ne.u32 %hd_mp0, %hd_mr0, 0;\n");
}

/* Returns whether any of the kernels has blocks that may wait for each other. */
static bool is_rising(const struct kernels *x)
{
	bool rising = false;

	for (unsigned k = 0; k < x->n; k++)
		rising |= x->of[k].facts.rising_order;
	return rising;
}

/* Jumps to the label <label><k>, where k is the value of `reg`. */
static void put_switch(struct kernels *x, struct pass_writer *w, const char *reg, const char *label)
{
	for (unsigned k = 1; k < x->n; k++)
		pass_emit(w, "setp.eq.u32 %%hd_mp1, %s, %u;\n@%%hd_mp1 bra %s%u;\n", reg, k, label,
			k);
	pass_emit(w, "bra %s0;\n", label);
}

/* If the host program set the flag `bit` of the launch, %hd_mp2 becomes false and %hd_mr6 becomes
 * `bit`. Otherwise %hd_mp2 becomes true and %hd_mr6 becomes 0. */
static void put_flag(struct pass_writer *w, unsigned bit)
{
	pass_emit(w,
		"ld.param.u32 %%hd_mr6, " M_FLAGS ";\nand.b32 %%hd_mr6, %%hd_mr6, %u;\n"
		"setp.eq.u32 %%hd_mp2, %%hd_mr6, 0;\n",
		bit);
}

/* ---- entering ---- */

/* Assigns a kernel to the worker: the first kernel whose ctl_merge.upto is above the worker's
 * number %hd_mr2. If there is no such kernel, the number belongs to a kernel that has a launch of
 * its own. The workers of that launch serve the kernel, so this worker counts as finished with all
 * kernels. */
static void put_kind(struct kernels *x, struct pass_writer *w)
{
	pass_put(w, "ld.param.u32 %hd_mr3, " M_SHIFT ";\n"
		    "add.u32 %hd_mr2, %hd_mr2, %hd_mr3;\n"
		    "ld.param.u32 %hd_mr3, " M_OF ";\n"
		    "rem.u32 %hd_mr2, %hd_mr2, %hd_mr3;\n"
		    "mov.u32 %hd_mk, 0;\n");
	for (unsigned k = 0; k < x->n; k++)
		pass_emit(w,
			"ld.param.u32 %%hd_mr3, [hd_merge+%u];\n"
			"setp.ge.u32 %%hd_mp1, %%hd_mr2, %%hd_mr3;\n"
			"selp.u32 %%hd_mr3, 1, 0, %%hd_mp1;\n"
			"add.u32 %%hd_mk, %%hd_mk, %%hd_mr3;\n",
			(unsigned)(M_UPTO + 4 * k));
	pass_emit(w,
		"setp.ge.u32 %%hd_mp1, %%hd_mk, %u;\n"
		"@%%hd_mp1 or.b32 %%hd_ms, %%hd_ms, %u;\n",
		x->n, ((1u << x->n) - 1) << OVER_BIT);
}

/* Chooses the kernel with which the worker starts. The choice is derived from the worker's number
 * times the golden ratio, so that workers start with different kernels, also successive workers of
 * one SM.
 *
 * In the orders that assign a kernel to each worker (ctl/merge.h), also computes the worker's
 * number %hd_mr2, from which put_kind chooses that kernel:
 * - CTL_APART: the number of the SM
 * - CTL_PARTITION: the block's number times ctl_merge.stride, modulo the number of blocks
 * - CTL_MIXED: the number of workers that started on this SM before */
static void put_keep(struct kernels *x, struct pass_writer *w)
{
	pass_emit(w,
		"mov.u32 %%hd_mr2, %%ctaid.x;\n"
		"mul.lo.u32 %%hd_mr2, %%hd_mr2, 0x9e3779b9;\n"
		"mul.hi.u32 %%hd_mr2, %%hd_mr2, %u;\n"
		"bfi.b32 %%hd_ms, %%hd_mr2, %%hd_ms, %d, 3;\n"
		"ld.param.u32 %%hd_mr4, " M_ORDER ";\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mr4, %d;\n"
		"@%%hd_mp1 bra $hd_begun;\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mr4, %d;\n"
		"@%%hd_mp1 bra $hd_begun;\n"
		"mov.u32 %%hd_mr2, %%smid;\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mr4, %d;\n"
		"@%%hd_mp1 bra $hd_kind;\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mr4, %d;\n"
		"@%%hd_mp1 bra $hd_spread;\n",
		x->n, TURN_BIT, CTL_STEAL, CTL_STEAL_SHARED, CTL_APART, CTL_PARTITION);
	pass_put(w, "ld.param.u64 %hd_md0, " M_TURNS ";\n"
		    "min.u32 %hd_mr2, %hd_mr2, 255;\n"
		    "mul.wide.u32 %hd_md1, %hd_mr2, 4;\n"
		    "add.u64 %hd_md0, %hd_md0, %hd_md1;\n"
		    "atom.global.add.u32 %hd_mr2, [%hd_md0" T_ON_SM ", 1;\n"
		    "bra $hd_kind;\n"
		    "$hd_spread:\n"
		    "mov.u32 %hd_mr2, %ctaid.x;\n"
		    "mov.u32 %hd_mr3, %nctaid.x;\n"
		    "ld.param.u32 %hd_mr4, " M_STRIDE ";\n"
		    "rem.u32 %hd_mr4, %hd_mr4, %hd_mr3;\n"
		    "mul.wide.u32 %hd_md0, %hd_mr2, %hd_mr4;\n"
		    "cvt.u64.u32 %hd_md1, %hd_mr3;\n"
		    "rem.u64 %hd_md0, %hd_md0, %hd_md1;\n"
		    "cvt.u32.u64 %hd_mr2, %hd_md0;\n"
		    "$hd_kind:\n");
	put_kind(x, w);
	pass_put(w, "not.b32 %hd_mr3, %hd_mk;\n"
		    "st.shared.v2.u32 " P_KEPT ", {%hd_mk, %hd_mr3};\n"
		    "$hd_begun:\n");
}

static void put_head(struct kernels *x, struct pass_writer *w)
{
	pass_put(w, ".shared .align 16 .b8 hd_pick[32];\n"
		    ".reg .b32 %hd_mk; .reg .b32 %hd_ms; .reg .b32 %hd_mr<8>;\n"
		    ".reg .b64 %hd_md<4>; .reg .pred %hd_mp<4>;\n"
		    ".reg .b32 %hd_n;\n");
	for (unsigned k = 0; k < x->n; k++)
		kernels_put_piece(x, w, k, MERGE_DECLARE);
	pass_emit(w, "mov.u32 %%hd_ms, %d;\n", NOTHING);
	put_not_leader(x, w);
	pass_put(w, "@%hd_mp0 bra $hd_all;\n");
	for (unsigned k = 0; k < x->n; k++) {
		kernels_put_piece(x, w, k, MERGE_ENTER);
		pass_emit(w,
			"bra $hd_in%u;\n%s:\nor.b32 %%hd_ms, %%hd_ms, %u;\n"
			"$hd_in%u:\n",
			k, x->of[k].to[MERGE_LATE]->name, 1u << (OVER_BIT + k), k);
	}
	put_keep(x, w);
	pass_put(w, "$hd_all:\n");
	pass_part_begin(w, x->of[0].ticket);
	pass_put(w, WHOLE_WARP);
}

/* ---- choosing the next kernel ---- */
/* Sets %hd_mr4 to 1 if this worker is finished with kernel `reg`, otherwise to 0. */
static void put_over(struct pass_writer *w, const char *reg)
{
	pass_emit(w,
		"add.u32 %%hd_mr4, %s, %d;\n"
		"shr.u32 %%hd_mr4, %%hd_ms, %%hd_mr4;\n"
		"and.b32 %%hd_mr4, %%hd_mr4, 1;\n",
		reg, OVER_BIT);
}

/* Chooses the next kernel from the counter that all workers share (CTL_STEAL_SHARED; KernelMerge,
 * figure 3a), puts it into %hd_mk, and goes to $hd_now_found. If this worker is finished with that
 * kernel, the worker increments the counter again, at most as many times as there are kernels. The
 * limit is needed because other workers increment the counter, too, so this worker might get the
 * same kernel each time. At the limit, the worker takes the next kernel with which it is not
 * finished. */
static void put_draw(struct kernels *x, struct pass_writer *w)
{
	pass_emit(w,
		"ld.param.u32 %%hd_mr4, " M_ORDER ";\n"
		"setp.ne.u32 %%hd_mp1, %%hd_mr4, %d;\n"
		"@%%hd_mp1 bra $hd_now_own;\n"
		"ld.param.u64 %%hd_md0, " M_TURNS ";\n"
		"mov.u32 %%hd_mr7, %u;\n"
		"$hd_draw:\n"
		".pragma \"nounroll\";\n"
		"atom.global.inc.u32 %%hd_mk, [%%hd_md0" T_NEXT ", %u;\n",
		CTL_STEAL_SHARED, x->n, x->n - 1);
	put_over(w, "%hd_mk");
	pass_put(w, "setp.eq.u32 %hd_mp1, %hd_mr4, 0;\n"
		    "@%hd_mp1 bra $hd_now_found;\n"
		    "sub.u32 %hd_mr7, %hd_mr7, 1;\n"
		    "setp.ne.u32 %hd_mp1, %hd_mr7, 0;\n"
		    "@%hd_mp1 bra $hd_draw;\n"
		    "bra $hd_now_seek;\n"
		    "$hd_now_own:\n");
}

/* Sets %hd_mk to the kernel that this worker serves next:
 * - If the worker is finished with all kernels, goes to $hd_<at>_none instead.
 * - If the worker is assigned to a kernel and not finished with it, this is that kernel. If it is
 *   finished with it, this is the next kernel with which it is not finished, but only with
 *   CTL_HELP; without CTL_HELP, goes to $hd_<at>_none.
 * - If workers have no kernels of their own, this is the first kernel with which the worker is not
 *   finished, beginning with the one whose turn it is. */
static void put_seek(struct kernels *x, struct pass_writer *w, const char *at, bool draws)
{
	unsigned all = (1u << x->n) - 1;

	pass_emit(w,
		"mov.u32 %%hd_mk, %u;\n"
		"and.b32 %%hd_mr5, %%hd_ms, %u;\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mr5, %u;\n"
		"@%%hd_mp1 bra $hd_%s_none;\n",
		x->n, all << OVER_BIT, all << OVER_BIT, at);
	if (draws)
		put_draw(x, w);
	pass_emit(w,
		"ld.param.u32 %%hd_mr4, " M_ORDER ";\n"
		"setp.ne.u32 %%hd_mp1, %%hd_mr4, %d;\n"
		"@%%hd_mp1 bra $hd_%s_keep;\n"
		"bfe.u32 %%hd_mk, %%hd_ms, %d, 3;\n"
		"bra $hd_%s_seek;\n"
		"$hd_%s_keep:\n"
		"ld.shared.v2.u32 {%%hd_mr2, %%hd_mr3}, " P_KEPT ";\n"
		"xor.b32 %%hd_mr3, %%hd_mr2, %%hd_mr3;\n"
		"setp.ne.u32 %%hd_mp1, %%hd_mr3, -1;\n"
		"@%%hd_mp1 red.shared.add.u32 [hd_pick+8388000], 1;\n",
		CTL_STEAL, at, TURN_BIT, at, at);
	put_flag(w, CTL_HELP);
	put_over(w, "%hd_mr2");
	pass_emit(w,
		"setp.ne.and.u32 %%hd_mp1, %%hd_mr4, 0, %%hd_mp2;\n"
		"@%%hd_mp1 bra $hd_%s_none;\n"
		"mov.u32 %%hd_mk, %%hd_mr2;\n"
		"$hd_%s_seek:\n"
		".pragma \"nounroll\";\n",
		at, at);
	put_over(w, "%hd_mk");
	pass_emit(w,
		"setp.eq.u32 %%hd_mp1, %%hd_mr4, 0;\n"
		"@%%hd_mp1 bra $hd_%s_found;\n"
		"add.u32 %%hd_mk, %%hd_mk, 1;\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mk, %u;\n"
		"@%%hd_mp1 mov.u32 %%hd_mk, 0;\n"
		"bra $hd_%s_seek;\n"
		"$hd_%s_found:\n",
		at, x->n, at, at);
}

static void put_choice(struct kernels *x, struct pass_writer *w)
{
	pass_emit(w, "%s:\n", x->of[0].to[MERGE_TOP]->name);
	/* If other blocks may wait for this block, all threads of this block must finish it before
	 * the worker claims another block. */
	if (is_rising(x))
		kernels_put_barrier(x, w);
	put_not_leader(x, w);
	pass_emit(w,
		"@%%hd_mp0 bra $hd_sync;\n"
		"$hd_choose:\n"
		"bfe.u32 %%hd_mk, %%hd_ms, %d, 3;\n"
		"and.b32 %%hd_mr4, %%hd_ms, %u;\n"
		"xor.b32 %%hd_ms, %%hd_ms, %%hd_mr4;\n"
		"setp.ne.u32 %%hd_mp1, %%hd_mr4, 0;\n"
		"@%%hd_mp1 bra $hd_now_found;\n",
		TURN_BIT, 1u << NEXT_BIT);
	put_seek(x, w, "now", true);
	put_switch(x, w, "%hd_mk", "$hd_claim");
	for (unsigned k = 0; k < x->n; k++) {
		pass_emit(w, "$hd_claim%u:\n", k);
		kernels_put_piece(x, w, k, MERGE_CLAIM);
		pass_emit(w,
			"%s:\nor.b32 %%hd_ms, %%hd_ms, %u;\nbra $hd_choose;\n"
			"%s:\nmov.u32 %%hd_mk, %u;\n"
			"mov.u32 %%hd_mr4, %u;\nbra $hd_chosen;\n",
			x->of[k].to[MERGE_NONE]->name, 1u << (OVER_BIT + k),
			x->of[k].to[MERGE_OK]->name, k, (k + 1) % x->n);
	}
}

/* Makes the worker's next claim before the blocks that are already chosen run, so that the claim's
 * memory access overlaps with their execution. */
static void put_ahead(struct kernels *x, struct pass_writer *w)
{
	if (is_rising(x))
		return;
	pass_emit(w,
		"ld.param.u32 %%hd_mr4, " M_ORDER ";\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mr4, %d;\n@%%hd_mp1 bra $hd_go;\n"
		"mov.u32 %%hd_mr1, %%hd_mk;\n",
		CTL_STEAL_SHARED);
	put_seek(x, w, "next", false);
	pass_emit(w,
		"bfi.b32 %%hd_ms, %%hd_mk, %%hd_ms, %d, 3;\n"
		"or.b32 %%hd_ms, %%hd_ms, %u;\n",
		TURN_BIT, 1u << NEXT_BIT);
	put_switch(x, w, "%hd_mk", "$hd_ahead");
	for (unsigned k = 0; k < x->n; k++) {
		pass_emit(w, "$hd_ahead%u:\n", k);
		kernels_put_piece(x, w, k, MERGE_AHEAD);
		if (k + 1 < x->n)
			pass_put(w, "bra $hd_next_none;\n");
	}
	pass_put(w, "$hd_next_none:\nmov.u32 %hd_mk, %hd_mr1;\n");
}

/* Sets %hd_mr0 to the address of the word of hd_pick that bit 31 of %hd_ms selects. */
static const char find_word[] = "shr.u32 %hd_mr0, %hd_ms, 31;\n"
				"shl.b32 %hd_mr0, %hd_mr0, 2;\n"
				"mov.u32 %hd_mr1, hd_pick;\n"
				"add.u32 %hd_mr0, %hd_mr0, %hd_mr1;\n";

/* ---- at the barrier ---- */

/* Records when blocks of kernel %hd_mr2 ran, after they have ended. The kernel's end is the maximum
 * over all workers. */
static void put_times(struct pass_writer *w)
{
	put_flag(w, CTL_TIMES);
	pass_emit(w,
		"@%%hd_mp2 bra $hd_untimed;\n"
		"ld.param.u64 %%hd_md0, " M_TURNS ";\n"
		"mul.wide.u32 %%hd_md1, %%hd_mr2, %zu;\n"
		"add.u64 %%hd_md0, %%hd_md0, %%hd_md1;\n"
		"ld.shared.u64 %%hd_md1, " P_BEGAN ";\n"
		"mov.u64 %%hd_md2, %%globaltimer;\n"
		"red.global.min.u64 [%%hd_md0+%d], %%hd_md1;\n"
		"red.global.max.u64 [%%hd_md0+%d], %%hd_md2;\n"
		"sub.u64 %%hd_md2, %%hd_md2, %%hd_md1;\n"
		"red.global.add.u64 [%%hd_md0+%d], %%hd_md2;\n"
		"$hd_untimed:\n",
		sizeof(struct ctl_times), T_OF, T_OF + 8, T_OF + 16);
}

/* Increments or decrements the number of workers that have blocks of kernel `reg`. %hd_mr4 gets the
 * new number after an increment. */
static void put_count_worker(struct pass_writer *w, const char *reg, bool more)
{
	put_flag(w, CTL_COUNT);
	pass_emit(w,
		"@%%hd_mp2 bra $hd_uncounted%d;\n"
		"ld.param.u64 %%hd_md0, " M_TURNS ";\n"
		"mul.wide.u32 %%hd_md1, %s, %zu;\n"
		"add.u64 %%hd_md0, %%hd_md0, %%hd_md1;\n",
		more, reg, sizeof(struct ctl_times));
	if (more)
		pass_emit(w,
			"atom.global.add.u32 %%hd_mr4, [%%hd_md0+%d], 1;\n"
			"add.u32 %%hd_mr4, %%hd_mr4, 1;\n"
			"red.global.max.u32 [%%hd_md0+%d], %%hd_mr4;\n",
			T_OF + 24, T_OF + 28);
	else
		pass_emit(w, "red.global.add.u32 [%%hd_md0+%d], -1;\n", T_OF + 24);
	pass_emit(w, "$hd_uncounted%d:\n", more);
}

static void put_counts(struct kernels *x, struct pass_writer *w)
{
	pass_emit(w,
		"and.b32 %%hd_mr2, %%hd_ms, 255;\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mr2, %d;\n"
		"@%%hd_mp1 bra $hd_untimed;\n",
		NOTHING);
	put_count_worker(w, "%hd_mr2", false);
	put_switch(x, w, "%hd_mr2", "$hd_count");
	for (unsigned k = 0; k < x->n; k++) {
		pass_emit(w, "$hd_count%u:\n", k);
		kernels_put_piece(x, w, k, MERGE_COUNT);
		pass_put(w, k + 1 < x->n ? "bra $hd_counted;\n" : "$hd_counted:\n");
	}
	put_times(w);
}

/* Leaves the launches with which this worker is finished, after their blocks are counted. If no
 * kernel was chosen, leaves all launches. */
static void put_leaves(struct kernels *x, struct pass_writer *w)
{
	unsigned all = (1u << x->n) - 1;

	pass_emit(w,
		"setp.eq.u32 %%hd_mp3, %%hd_mk, %u;\n"
		"shr.u32 %%hd_mr4, %%hd_ms, %d;\n"
		"selp.u32 %%hd_mr4, %u, %%hd_mr4, %%hd_mp3;\n"
		"shr.u32 %%hd_mr5, %%hd_ms, %d;\n"
		"not.b32 %%hd_mr5, %%hd_mr5;\n"
		"and.b32 %%hd_mr4, %%hd_mr4, %%hd_mr5;\n"
		"and.b32 %%hd_mr4, %%hd_mr4, %u;\n"
		"and.b32 %%hd_ms, %%hd_ms, 0xffffff00;\n"
		"selp.u32 %%hd_mr5, %d, %%hd_mk, %%hd_mp3;\n"
		"or.b32 %%hd_ms, %%hd_ms, %%hd_mr5;\n"
		"shl.b32 %%hd_mr5, %%hd_mr4, %d;\n"
		"or.b32 %%hd_ms, %%hd_ms, %%hd_mr5;\n"
		"setp.eq.u32 %%hd_mp1, %%hd_mr4, 0;\n"
		"@%%hd_mp1 bra $hd_stay;\n",
		x->n, OVER_BIT, all, LEFT_BIT, all, NOTHING, LEFT_BIT);
	for (unsigned k = 0; k < x->n; k++) {
		pass_emit(w,
			"and.b32 %%hd_mr5, %%hd_mr4, %u;\n"
			"setp.eq.u32 %%hd_mp1, %%hd_mr5, 0;\n"
			"@%%hd_mp1 bra %s;\n",
			1u << k, x->of[k].to[MERGE_LEFT]->name);
		kernels_put_piece(x, w, k, MERGE_LEAVE);
		pass_emit(w, "%s:\n", x->of[k].to[MERGE_LEFT]->name);
	}
	pass_put(w, "$hd_stay:\n");
	put_flag(w, CTL_TIMES);
	pass_put(w, "@%hd_mp2 bra $hd_begins;\n"
		    "mov.u64 %hd_md0, %globaltimer;\n"
		    "st.shared.u64 " P_BEGAN ", %hd_md0;\n"
		    "$hd_begins:\n");
}

static void put_sync(struct kernels *x, struct pass_writer *w)
{
	pass_emit(w,
		"$hd_now_none:\nbfe.u32 %%hd_mr4, %%hd_ms, %d, 3;\n$hd_chosen:\n"
		"bfi.b32 %%hd_ms, %%hd_mr4, %%hd_ms, %d, 3;\n",
		TURN_BIT, TURN_BIT);
	pass_put(w, find_word);
	/* The leader arrives here, and at $hd_go, from loops of atomics. So the warp must
	 * reconverge before the barrier (emit.h: WHOLE_WARP). */
	pass_put(w, "st.shared.u32 [%hd_mr0], %hd_mk;\n"
		    "$hd_sync:\n" WHOLE_WARP);
	kernels_put_barrier(x, w);
	pass_put(w, find_word);
	pass_put(w, "ld.shared.u32 %hd_mk, [%hd_mr0];\n"
		    "xor.b32 %hd_ms, %hd_ms, 0x80000000;\n");
	put_not_leader(x, w);
	pass_put(w, "@%hd_mp0 bra $hd_go;\n");
	put_counts(x, w);
	put_leaves(x, w);
	pass_emit(w, "setp.ge.u32 %%hd_mp1, %%hd_mk, %u;\n@%%hd_mp1 bra $hd_go;\n", x->n);
	put_count_worker(w, "%hd_mk", true);
	put_ahead(x, w);
	/* A value that is not below the number of kernels means "none", or was overwritten by a
	 * body. The worker ends in both cases. */
	pass_put(w, "$hd_go:\n" WHOLE_WARP);
	pass_emit(w,
		"setp.ge.u32 %%hd_mp1, %%hd_mk, %u;\n@%%hd_mp1 bra $hd_end;\n"
		"and.b32 %s, %s, 16;\nxor.b32 %s, %s, 16;\n",
		x->n, x->of[0].slot, x->of[0].slot, x->of[0].slot, x->of[0].slot);
}

/* Emits the code that runs kernel k. Warps that the kernel's block does not have skip that code.
 * Each warp decides by a vote whether it skips, because a vote shows ptxas that the warp is
 * whole. */
static void put_run(struct kernels *x, struct pass_writer *w, unsigned k)
{
	pass_emit(w, "$hd_run%u:\n", k);
	if (x->of[k].at.threads)
		pass_emit(w,
			"mov.u32 %%hd_mr0, %%tid.x;\n"
			"setp.ge.u32 %%hd_mp1, %%hd_mr0, %u;\n"
			"vote.sync.any.pred %%hd_mp1, %%hd_mp1, -1;\n"
			"@%%hd_mp1 bra %s;\n",
			x->of[k].threads, x->of[k].to[MERGE_TOP]->name);
	kernels_put_piece(x, w, k, MERGE_RUN);
}

void pass_emit_merged(struct kernels *x, struct pass_writer *w)
{
	put_head(x, w);
	put_choice(x, w);
	put_sync(x, w);
	put_switch(x, w, "%hd_mk", "$hd_run");
	for (unsigned k = 0; k < x->n; k++)
		put_run(x, w, k);
	pass_put(w, "$hd_end:\nret;\n");
}
