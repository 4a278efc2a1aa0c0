/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* From a ticket to the block's ids, done by the leader once a claim; and what yield_every asks
 * for. Divisions by 32 bits, none for grids of one dimension. Only ids that the body reads are
 * computed. */
#include "pass/emit.h"
#include "pass/worker.h"

/* Block number %hd_x becomes {x, y, z}. */
static void divide(struct pass_writer *w, const bool *reads)
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
		pass_put(w, "div.u32 %hd_z, %hd_y, %hd_r4;\n"
			    "mul.lo.u32 %hd_r5, %hd_z, %hd_r4;\n"
			    "sub.u32 %hd_y, %hd_y, %hd_r5;\n");
}

/* If claiming %hd_r6 blocks from ticket %hd_r4 reached a multiple of yield_every. */
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

void pass_emit_ids(struct pass_writer *w, const bool *reads)
{
	pass_put(w, yield);
	divide(w, reads);
}

/* Ticket %hd_d4; leaves column and row number where the short way has them. */
static const char divide_wide[] = "ld.param.u32 %hd_r5, " A_GRID_X ";\n"
				  "cvt.u64.u32 %hd_d3, %hd_r5;\n"
				  "mov.u64 %hd_d2, 0;\n"
				  "mov.u32 %hd_r5, 64;\n"
				  "$hd_shift:\n"
				  ".pragma \"nounroll\";\n"
				  "shl.b64 %hd_d2, %hd_d2, 1;\n"
				  "shr.u64 %hd_d5, %hd_d4, 63;\n"
				  "or.b64 %hd_d2, %hd_d2, %hd_d5;\n"
				  "shl.b64 %hd_d4, %hd_d4, 1;\n"
				  "setp.lt.u64 %hd_p1, %hd_d2, %hd_d3;\n"
				  "@%hd_p1 bra $hd_shifted;\n"
				  "sub.u64 %hd_d2, %hd_d2, %hd_d3;\n"
				  "or.b64 %hd_d4, %hd_d4, 1;\n"
				  "$hd_shifted:\n"
				  "sub.u32 %hd_r5, %hd_r5, 1;\n"
				  "setp.ne.u32 %hd_p1, %hd_r5, 0;\n"
				  "@%hd_p1 bra $hd_shift;\n"
				  "cvt.u32.u64 %hd_x, %hd_d2;\n"
				  "cvt.u32.u64 %hd_y, %hd_d4;\n"
				  "ld.param.u32 %hd_r4, " A_GRID_Y ";\n"
				  "mov.u32 %hd_z, 0;\n"
				  "bra $hd_rows;\n";

/* Its lower half is in %hd_r4. */
static const char still_the_ticket[] =
	"cvt.u32.u64 %hd_r5, %hd_d4;\n"
	"setp.ne.u32 %hd_p1, %hd_r4, %hd_r5;\n" FAIL_IF_P1 "ld.param.u64 %hd_d3, " A_TOTAL ";\n"
	"setp.ge.u64 %hd_p1, %hd_d4, %hd_d3;\n" FAIL_IF_P1;

void pass_emit_wide_ids(struct pass_writer *w, const bool *reads, const char *ticket)
{
	if (!reads[0] && !reads[1] && !reads[2])
		return;
	pass_put(w, "$hd_wide_ids:\n");
	if (ticket) {
		pass_emit(w, "ld.shared.u64 %%hd_d4, %s;\n", ticket);
		pass_put(w, still_the_ticket);
	}
	pass_put(w, divide_wide);
}
