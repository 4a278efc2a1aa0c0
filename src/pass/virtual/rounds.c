/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implements block barriers that not all threads reach, in a worker. On hardware a barrier does not
 * wait for exited threads. In a worker, threads that exit from a block stay alive, so they execute
 * the block's other barriers, too, until all threads of the block have exited.
 *
 * Each execution of a barrier is a round. Rounds are numbered from the worker's start. %hd_w holds
 * the number; it is the same in all threads at the same barrier. There are two counts of exited
 * threads, one for even and one for odd rounds. A thread that exits adds itself to the count of the
 * round that it reaches next. It then executes rounds until all threads have exited, that is, until
 * the sum of the two counts is %hd_g (threads times blocks so far).
 *
 * All exited threads see the same sum and leave after the same round, for these reasons:
 * - After round k, the count of k's parity holds all additions for rounds up to k. A thread that
 *   exits later adds for k + 1 at the earliest, and for k + 2 only after all threads reached k + 1.
 * - The other count may already include some additions for k + 1. So the sum uses the value that
 *   the other count had one round ago, which was exact.
 *
 * Reductions are computed in one of four words of shared memory; each round clears the word of the
 * previous round. So the emitted barriers have no result. A barrier with a result would be wrong
 * when lanes of a warp stand at different barriers: the hardware runs one barrier for all lanes and
 * writes its result in every lane. emit_tails.c has the exits. */
#include "pass/virtual/rounds.h"
#include "pass/virtual/emit.h"
#include "pass/virtual/virtual.h"

/* ---- whole warps ---- */
/* Makes the lanes of a warp reconverge before a barrier if they may arrive separately. Lanes may
 * arrive separately in kernels that spin, in kernels that have exit paths past barriers, and in
 * tasks (whole_warps). (Without this step, one of 7,500 random programs of that kind was wrong on
 * an H200.)
 *
 * In all other kernels ptxas proves that warps are whole, and bar.warp.sync would make ptxas treat
 * the whole kernel as divergent: the kernel md becomes 19 % slower, pf 20 %. Aligned barriers are
 * no substitute for bar.warp.sync: with `bar.sync` 12 of 10,000 programs were wrong. */
void pass_gather(struct pass_writer *w, const struct pass_place *at)
{
	if (at->whole_warps || at->facts->spins || at->facts->calls_spin || at->facts->tails.len)
		pass_put(w, at->facts->calls_spin ? UNSEEN_WARP : WHOLE_WARP);
}

void pass_own_barrier(struct pass_writer *w, const struct pass_place *at)
{
	pass_gather(w, at);
	pass_emit(w, "barrier.sync %u;\n", at->own_barrier);
}

void pass_among_barrier(struct pass_writer *w, const struct pass_place *at)
{
	if (!at->threads) {
		pass_own_barrier(w, at);
		return;
	}
	pass_gather(w, at);
	pass_emit(w, "barrier.sync %u, %u;\n", at->among_barrier, at->threads);
}

void pass_barrier_0(struct pass_writer *w, const struct pass_place *at)
{
	if (at->barrier)
		pass_emit(w, "barrier.sync %s, %s;\n", at->barrier, at->count);
	else if (at->threads)
		pass_emit(w, "barrier.sync %u, %u;\n", at->barrier_first, at->threads);
	else
		pass_emit(w, "barrier.sync %u;\n", at->barrier_first);
}

/* ---- barriers in the body ---- */
/* Computes the offset of the 32-bit word for the reduction two rounds ahead. That word is unused
 * after a round. Uses %hd_n. */
static const char find_word[] = "add.u32 %hd_n, %hd_w, 2;\n"
				"and.b32 %hd_n, %hd_n, 3;\n"
				"shl.b32 %hd_n, %hd_n, 2;\n";

/* Adds the address of the rounds' words to `reg`. Clobbers `scratch`. */
static void add_slot(
	struct pass_writer *w, const struct pass_place *at, const char *reg, const char *scratch)
{
	pass_emit(w, "mov.u32 %s, %s;\nadd.u32 %s, %s, %s;\n", scratch,
		at->slot ? at->slot : "hd_slot", reg, reg, scratch);
}

static const char clear_word[] = "mov.u32 %hd_rb, " ROUND_BASE ";\n"
				 "st.volatile.shared.u32 [%hd_n" R_WORDS ", %hd_rb;\n";

/* If the sum of a reduction is greater than the number of threads that a block can have, the body
 * has corrupted the word that holds the sum. Then this code makes the address of the next store
 * invalid, so the launch ends with an error. The code uses no predicate, because each of its
 * instructions may get the barrier's own guard. */
static const char unless_broken[] = "set.gt.u32.u32 %hd_rb, %hd_ra, 1024;\n"
				    "or.b32 %hd_n, %hd_n, %hd_rb;\n";

/* Emits a barrier without a reduction, and increments the round number. */
static void emit_round(struct pass_writer *w, const struct pass_place *at)
{
	pass_gather(w, at);
	pass_barrier_0(w, at);
	pass_put(w, "add.u32 %hd_w, %hd_w, 1;\n");
	if (at->facts->barriers == PASS_BAR_ACTIVE_RED) {
		pass_put(w, find_word);
		add_slot(w, at, "%hd_n", "%hd_rb");
		pass_put(w, clear_word);
	}
}

void pass_round_barrier(
	struct pass_writer *w, const struct pass_place *at, const struct ptx_stmt *s)
{
	bool all = ptx_has_mod(s->mn, "and");
	struct ptx_opd *own;

	if (!ptx_has_mod(s->mn, "red")) {
		emit_round(w, at);
		return;
	}
	/* "All are true" is computed as "none is false". */
	pass_put(w, all ? "selp.u32 %hd_n, 0, 1, %hd_pa;\n" : "selp.u32 %hd_n, 1, 0, %hd_pa;\n");
	own = &pass_last(w)->opd[3];
	own->reg = s->opd[s->n - 1].reg;
	if (s->opd[s->n - 1].negated) {
		struct ptx_opd one = pass_last(w)->opd[1];

		pass_last(w)->opd[1] = pass_last(w)->opd[2];
		pass_last(w)->opd[2] = one;
	}
	pass_put(w, "and.b32 %hd_ra, %hd_w, 3;\n"
		    "shl.b32 %hd_ra, %hd_ra, 2;\n");
	add_slot(w, at, "%hd_ra", "%hd_rb");
	pass_put(w, "red.shared.add.u32 [%hd_ra" R_WORDS ", %hd_n;\n");
	pass_gather(w, at); /* %hd_n is no longer needed */
	pass_barrier_0(w, at);
	pass_put(w, "ld.volatile.shared.u32 %hd_ra, [%hd_ra" R_WORDS ";\n"
		    "add.u32 %hd_w, %hd_w, 1;\n"
		    "sub.u32 %hd_ra, %hd_ra, " ROUND_BASE ";\n");
	pass_put(w, find_word);
	add_slot(w, at, "%hd_n", "%hd_rb");
	pass_put(w, unless_broken);
	pass_put(w, clear_word);
	if (ptx_has_mod(s->mn, "popc"))
		pass_put(w, "mov.u32 %hd_n, %hd_ra;\n");
	else
		pass_put(w, all ? "setp.eq.u32 %hd_pa, %hd_ra, 0;\n"
				: "setp.ne.u32 %hd_pa, %hd_ra, 0;\n");
	pass_last(w)->opd[0] = s->opd[0];
}

/* Ends all threads that reach this round if a thread of the block failed before the round. All
 * threads read the same word of shared memory, so all of them end or none does (task_fail.c). */
void pass_round_failed(struct pass_writer *w, const struct pass_place *at)
{
	if (at->failure)
		pass_emit(w,
			"ld.volatile.shared.u32 %%hd_n, [%s" R_FAILED ";\n"
			"setp.lt.u32 %%hd_pv, %%hd_n, %%hd_w;\n"
			"@%%hd_pv bra %s;\n",
			at->slot, at->end->name);
}

/* ---- setup before the body ---- */
void pass_rounds_declare(struct pass_writer *w, const struct pass_place *at)
{
	if (!pass_has_rounds(at))
		return;
	pass_put(w, ".reg .b32 %hd_w; .reg .b32 %hd_g;\n"
		    "mov.u32 %hd_w, 0;\nmov.u32 %hd_g, " ROUND_BASE_2 ";\n");
}

/* The leader executes this code before the worker's first barrier. */
void pass_rounds_clear(struct pass_writer *w, const struct pass_place *at)
{
	if (pass_has_rounds(at))
		pass_put(w, "mov.u32 %hd_r0, " ROUND_BASE ";\n"
			    "st.shared.v4.u32 [hd_slot+80], {%hd_r0, %hd_r0, %hd_r0, %hd_r0};\n"
			    "st.shared.v2.u32 [hd_slot+96], {%hd_r0, %hd_r0};\n");
}

/* Adds the number of the block's threads to %hd_g. */
static void expect_all(struct pass_writer *w, const struct pass_place *at)
{
	if (at->count)
		pass_emit(w, "add.u32 %%hd_g, %%hd_g, %s;\n", at->count);
	else if (at->threads)
		pass_emit(w, "add.u32 %%hd_g, %%hd_g, %u;\n", at->threads);
	else
		pass_put(w, "mov.u32 %hd_r0, %ntid.x;\n"
			    "mov.u32 %hd_r1, %ntid.y;\n"
			    "mul.lo.u32 %hd_r0, %hd_r0, %hd_r1;\n"
			    "mov.u32 %hd_r1, %ntid.z;\n"
			    "mad.lo.u32 %hd_g, %hd_r0, %hd_r1, %hd_g;\n");
}

/* Sets %hd_r0 to the offset of the count for the next round's parity. count_me below sets %hd_r1 to
 * the value of the other parity's count, and adds this thread to the count at %hd_r0. */
static const char find_count[] = "and.b32 %hd_r0, %hd_w, 1;\n"
				 "shl.b32 %hd_r0, %hd_r0, 2;\n";
static const char count_me[] = "xor.b32 %hd_r1, %hd_r0, 4;\n"
			       "ld.volatile.shared.u32 %hd_r1, [%hd_r1" R_COUNT ";\n"
			       "mov.u32 %hd_r2, 1;\n"
			       "red.shared.add.u32 [%hd_r0" R_COUNT ", %hd_r2;\n";

/* Sets %hd_r3 to the number of threads that have not exited. If it exceeds 1,024, the largest
 * possible block size, the body has corrupted a count. */
static const char until_all_done[] = "ld.volatile.shared.u32 %hd_r2, [%hd_r0" R_COUNT ";\n"
				     "add.u32 %hd_r3, %hd_r2, %hd_r1;\n"
				     "mov.u32 %hd_r1, %hd_r2;\n"
				     "xor.b32 %hd_r0, %hd_r0, 4;\n"
				     "sub.u32 %hd_r3, %hd_g, %hd_r3;\n"
				     "setp.gt.u32 %hd_p1, %hd_r3, 1024;\n";

void pass_round_answer(struct pass_writer *w, const struct pass_place *at)
{
	unsigned site = w->m->fresh++;

	if (at->facts->cp_async)
		pass_put(w, "cp.async.wait_all;\n");
	if (at->failure)
		pass_emit(w,
			"setp.ne.u32 %%hd_p1, %s, 0;\n"
			"@%%hd_p1 red.shared.min.u32 [%s" R_FAILED ", %%hd_w;\n",
			at->failure, at->slot);
	expect_all(w, at);
	pass_put(w, find_count);
	add_slot(w, at, "%hd_r0", "%hd_r1");
	pass_put(w, count_me);
	pass_emit(w, "$hd_answer%u:\n.pragma \"nounroll\";\n", site);
	emit_round(w, at);
	pass_put(w, until_all_done);
	if (at->slot)
		pass_emit(w, "@%%hd_p1 red.shared.add.u32 [%s+8388000], 1;\n", at->slot);
	else
		pass_put(w, FAIL_IF_P1);
	pass_put(w, "setp.ne.u32 %hd_p1, %hd_r3, 0;\n");
	pass_emit(w, "@%%hd_p1 bra $hd_answer%u;\n", site);
}
