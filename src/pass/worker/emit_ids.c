/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes a block's ids from its ticket, and implements yield_every. The leader computes ids once
 * per claim. It divides in 32 bits, except in grids of CTL_TICKETS_32 blocks or more. Smaller
 * one-dimensional grids need no division. Only ids that the body reads are computed.
 *
 * In merged workers the leader computes the first block of a claim and the distance between the
 * claim's blocks. Each thread then computes its ids by multiplication (args.h: inverse, claims). */
#include "pass/virtual/emit.h"
#include "pass/worker/worker.h"

static const char split_rows[] = "div.u32 %hd_z, %hd_y, %hd_r4;\n"
				 "mul.lo.u32 %hd_r5, %hd_z, %hd_r4;\n"
				 "sub.u32 %hd_y, %hd_y, %hd_r5;\n";

/* Splits the block number in %hd_x into {x, y, z}. */
static void emit_divisions(struct pass_writer *w, const bool *reads)
{
	pass_put(w, "mov.u32 %hd_y, 0;\nmov.u32 %hd_z, 0;\n");
	if (!reads[0] && !reads[1] && !reads[2])
		return;
	pass_put(w, "ld.param.u64 %hd_d1, " A_TOTAL ";\n"
		    "setp.ge.u64 %hd_p1, %hd_d1, " TICKETS_32 ";\n"
		    "@%hd_p1 bra $hd_wide_ids;\n");
	pass_put(w, "ld.param.u32 %hd_r4, " A_GRID_Y ";\n"
		    "ld.param.u32 %hd_r5, " A_GRID_Z ";\n"
		    "mul.lo.u32 %hd_r5, %hd_r4, %hd_r5;\n"
		    "setp.eq.u32 %hd_p1, %hd_r5, 1;\n"
		    "@%hd_p1 bra $hd_store;\n"
		    "ld.param.u32 %hd_r5, " A_GRID_X ";\n"
		    "div.u32 %hd_y, %hd_x, %hd_r5;\n"
		    "mul.lo.u32 %hd_r5, %hd_y, %hd_r5;\n"
		    "sub.u32 %hd_x, %hd_x, %hd_r5;\n"
		    "$hd_rows:\n");
	if (reads[1] || reads[2])
		pass_put(w, split_rows);
}

/* Sets all quotas to 0 if the claim of %hd_r6 blocks from ticket %hd_r4 on reaches a multiple of
 * yield_every. */
static const char yield[] = "ld.param.u32 %hd_r5, " A_YIELD ";\n"
			    "setp.eq.u32 %hd_p1, %hd_r5, 0;\n"
			    "@%hd_p1 bra $hd_no_yield;\n"
			    "div.u32 %hd_r7, %hd_r4, %hd_r5;\n"
			    "add.u32 %hd_r8, %hd_r4, %hd_r6;\n"
			    "div.u32 %hd_r8, %hd_r8, %hd_r5;\n"
			    "setp.eq.u32 %hd_p1, %hd_r7, %hd_r8;\n"
			    "@%hd_p1 bra $hd_no_yield;\n"
			    "mov.u32 %hd_r5, 0;\n"
			    "mov.u64 %hd_d1, %hd_d0;\n"
			    "$hd_yield:\n"
			    ".pragma \"nounroll\";\n"
			    "mov.u32 %hd_r7, 0;\n"
			    "st.volatile.global.u32 [%hd_d1" B_QUOTA ", %hd_r7;\n"
			    "add.u64 %hd_d1, %hd_d1, 4;\n"
			    "add.u32 %hd_r5, %hd_r5, 1;\n"
			    "setp.lt.u32 %hd_p1, %hd_r5, 256;\n"
			    "@%hd_p1 bra $hd_yield;\n"
			    "$hd_no_yield:\n";

void pass_emit_part_ids(struct pass_writer *w, const bool *reads)
{
	pass_put(w, yield);
	pass_put(w, "mov.u32 %hd_y, 1;\nmov.u32 %hd_z, 0;\n");
	if (!reads[0] && !reads[1] && !reads[2]) {
		pass_put(w, "bra $hd_store;\n");
		return;
	}
	pass_put(w, "ld.param.u64 %hd_d1, " A_TOTAL ";\n"
		    "setp.lt.u64 %hd_p1, %hd_d1, " TICKETS_32 ";\n"
		    "@%hd_p1 bra $hd_store;\n"
		    "bra $hd_wide_ids;\n"
		    "$hd_rows:\n");
	if (reads[1] || reads[2])
		pass_put(w, split_rows);
	pass_put(w, "bra $hd_store;\n");
}

/* Computes the blocks of claim %hd_t (args.h: claims, apart, even). Sets %hd_r7 and %hd_r8 to s and
 * c of ctl_args.apart, %hd_r6 to 2^s, and %hd_r10 to 2^s - 1. */
static const char claimed[] = "mov.u32 %hd_k, " SLOT_LEAVE ";\n"
			      "ld.param.u32 %hd_r4, " A_CLAIMS ";\n"
			      "setp.ge.u32 %hd_p1, %hd_t, %hd_r4;\n"
			      "@%hd_p1 bra $hd_sync;\n"
			      "st.shared.u32 " S_LAST ", %hd_t;\n"
			      "ld.param.u32 %hd_r5, " A_APART ";\n"
			      "and.b32 %hd_r7, %hd_r5, 255;\n"
			      "bfe.u32 %hd_r8, %hd_r5, 8, 8;\n"
			      "shl.b32 %hd_r6, 1, %hd_r7;\n"
			      "sub.u32 %hd_r10, %hd_r6, 1;\n"
			      "mov.u32 %hd_z, 0;\n"
			      "ld.param.u32 %hd_r9, " A_EVEN ";\n"
			      "setp.ge.u32 %hd_p1, %hd_t, %hd_r9;\n"
			      "@%hd_p1 bra $hd_later;\n";

/* Computes a claim of the full size. The last group of such claims may have fewer than 2^s
 * claims. */
static const char claimed_even[] = "and.b32 %hd_r11, %hd_t, %hd_r10;\n"
				   "sub.u32 %hd_r10, %hd_t, %hd_r11;\n"
				   "sub.u32 %hd_r9, %hd_r9, %hd_r10;\n"
				   "min.u32 %hd_y, %hd_r6, %hd_r9;\n"
				   "ld.param.u32 %hd_k, " A_CHUNK ";\n"
				   "mad.lo.u32 %hd_x, %hd_r10, %hd_k, %hd_r11;\n"
				   "bra $hd_store;\n";

static const char claimed_later[] = "$hd_later:\n"
				    "sub.u32 %hd_r11, %hd_t, %hd_r9;\n"
				    /* index of the claim's size */
				    "shr.u32 %hd_y, %hd_r11, %hd_r7;\n"
				    "bfe.u32 %hd_r5, %hd_r5, 16, 8;\n"
				    "setp.ge.u32 %hd_p1, %hd_y, %hd_r5;\n"
				    "@%hd_p1 bra $hd_single;\n"
				    "and.b32 %hd_r11, %hd_r11, %hd_r10;\n"
				    "sub.u32 %hd_k, %hd_r8, %hd_y;\n"
				    "shl.b32 %hd_k, 1, %hd_k;\n" /* twice the claim's size */
				    "shl.b32 %hd_r10, %hd_k, %hd_r7;\n"
				    "shr.u32 %hd_k, %hd_k, 1;\n"
				    "sub.u32 %hd_r11, %hd_r11, %hd_r10;\n"
				    "ld.param.u32 %hd_x, " A_CHUNK ";\n"
				    "mad.lo.u32 %hd_x, %hd_r9, %hd_x, %hd_r11;\n"
				    "shl.b32 %hd_r9, %hd_r6, %hd_r8;\n"
				    "add.u32 %hd_x, %hd_x, %hd_r9;\n"
				    "mov.u32 %hd_y, %hd_r6;\n"
				    "bra $hd_store;\n"
				    "$hd_single:\n"
				    "ld.param.u32 %hd_x, " A_TOTAL ";\n"
				    "sub.u32 %hd_x, %hd_x, %hd_r4;\n"
				    "add.u32 %hd_x, %hd_x, %hd_t;\n"
				    "mov.u32 %hd_y, 1;\n"
				    "mov.u32 %hd_k, 1;\n";

void pass_emit_claimed(struct pass_writer *w)
{
	pass_put(w, claimed);
	pass_put(w, claimed_even);
	pass_put(w, claimed_later);
}

/* Divides %hd_x by the row length: %hd_y gets the quotient and %hd_x the remainder. The code after
 * this string divides %hd_y by the number of rows in the same way, with the remainder in %hd_y and
 * the quotient in %hd_z. The inverse with which the code multiplies is too small by at most 1, so
 * the quotient is too small by at most 1 before it is corrected. */
static const char divide_x[] = "ld.param.u32 %hd_r2, " A_GRID_X ";\n"
			       "mul.hi.u32 %hd_y, %hd_x, %hd_r1;\n"
			       "mul.lo.u32 %hd_r1, %hd_y, %hd_r2;\n"
			       "sub.u32 %hd_x, %hd_x, %hd_r1;\n"
			       "setp.ge.u32 %hd_p1, %hd_x, %hd_r2;\n"
			       "@%hd_p1 sub.u32 %hd_x, %hd_x, %hd_r2;\n";
static const char divide_y[] = "@%hd_p1 add.u32 %hd_y, %hd_y, 1;\n"
			       "ld.param.u32 %hd_r1, " A_INVERSE_Y ";\n"
			       "ld.param.u32 %hd_r2, " A_GRID_Y ";\n"
			       "mul.hi.u32 %hd_z, %hd_y, %hd_r1;\n"
			       "mul.lo.u32 %hd_r1, %hd_z, %hd_r2;\n"
			       "sub.u32 %hd_y, %hd_y, %hd_r1;\n"
			       "setp.ge.u32 %hd_p1, %hd_y, %hd_r2;\n"
			       "@%hd_p1 sub.u32 %hd_y, %hd_y, %hd_r2;\n"
			       "@%hd_p1 add.u32 %hd_z, %hd_z, 1;\n";

void pass_emit_multiply(struct pass_writer *w, const bool *reads)
{
	pass_put(w, divide_x);
	if (reads[1] || reads[2])
		pass_put(w, divide_y);
}

void pass_emit_ids(struct pass_writer *w, const struct pass_place *at)
{
	pass_put(w, yield);
	if (at->order == PASS_ORDER_COLUMN)
		pass_emit_columns(w);
	else
		emit_divisions(w, at->facts->callees.at[0].reads + PASS_CTAID);
	if (at->order != PASS_ORDER_HILBERT)
		return;
	/* If the claim has several blocks, their positions on the curve are not consecutive. Then
	 * each thread computes the position of each block from the block's ids in row order. */
	pass_put(w, "setp.ne.u32 %hd_p1, %hd_k, 1;\n"
		    "@%hd_p1 bra $hd_store;\n");
	pass_emit_hilbert(w, "claim");
}

void pass_emit_shift_division(struct pass_writer *w, const char *site)
{
	pass_put(w, "cvt.u64.u32 %hd_d3, %hd_r5;\n"
		    "mov.u64 %hd_d2, 0;\n"
		    "mov.u32 %hd_r5, 64;\n");
	pass_emit(w, "$hd_shift%s:\n", site);
	pass_put(w, ".pragma \"nounroll\";\n"
		    "shl.b64 %hd_d2, %hd_d2, 1;\n"
		    "shr.u64 %hd_d5, %hd_d4, 63;\n"
		    "or.b64 %hd_d2, %hd_d2, %hd_d5;\n"
		    "shl.b64 %hd_d4, %hd_d4, 1;\n"
		    "setp.lt.u64 %hd_p1, %hd_d2, %hd_d3;\n");
	pass_emit(w, "@%%hd_p1 bra $hd_shifted%s;\n", site);
	pass_put(w, "sub.u64 %hd_d2, %hd_d2, %hd_d3;\n"
		    "or.b64 %hd_d4, %hd_d4, 1;\n");
	pass_emit(w, "$hd_shifted%s:\n", site);
	pass_put(w, "sub.u32 %hd_r5, %hd_r5, 1;\n"
		    "setp.ne.u32 %hd_p1, %hd_r5, 0;\n");
	pass_emit(w, "@%%hd_p1 bra $hd_shift%s;\n", site);
}

/* Follows the 64-bit division of ticket %hd_d4: moves remainder and quotient to the registers in
 * which the 32-bit code leaves column and row. */
static const char divided_wide[] = "cvt.u32.u64 %hd_x, %hd_d2;\n"
				   "cvt.u32.u64 %hd_y, %hd_d4;\n"
				   "ld.param.u32 %hd_r4, " A_GRID_Y ";\n"
				   "mov.u32 %hd_z, 0;\n"
				   "bra $hd_rows;\n";

/* Checks that the 64-bit ticket in the slot is valid. %hd_r4 holds the lower half of the ticket
 * that was claimed. */
static const char still_the_ticket[] =
	"cvt.u32.u64 %hd_r5, %hd_d4;\n"
	"setp.ne.u32 %hd_p1, %hd_r4, %hd_r5;\n" FAIL_IF_P1 "ld.param.u64 %hd_d3, " A_TOTAL ";\n"
	"setp.ge.u64 %hd_p1, %hd_d4, %hd_d3;\n" FAIL_IF_P1;

void pass_emit_wide_ids(
	struct pass_writer *w, const bool *reads, enum pass_order order, const char *ticket)
{
	if (!reads[0] && !reads[1] && !reads[2])
		return;
	pass_put(w, "$hd_wide_ids:\n");
	if (ticket) {
		pass_emit(w, "ld.shared.u64 %%hd_d4, %s;\n", ticket);
		pass_put(w, still_the_ticket);
	}
	if (order == PASS_ORDER_COLUMN) {
		pass_emit_columns_wide(w);
		return;
	}
	pass_put(w, "ld.param.u32 %hd_r5, " A_GRID_X ";\n");
	pass_emit_shift_division(w, "");
	pass_put(w, divided_wide);
}
