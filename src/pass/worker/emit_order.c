/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes a block's ids from its ticket in other orders than row order (pass.h).
 *
 *     column   as in row order, with x and y exchanged.
 *
 *     hilbert  Sixteen rows of the grid form a band. Within a band, tickets follow a Hilbert curve
 *              from one tile of 16 x 16 blocks to the next, then go down the columns that are left.
 *              Every second band runs from right to left, so that it begins where the previous one
 *              ended. Rows at the end that do not fill a band stay in row order.
 *              A band has the same tickets in row order and in Hilbert order. So the ids in row
 *              order are computed first, and then moved within their band, which takes no division.
 *
 * Each id is computed from the ticket alone, in 32 bits (64 in the largest grids). */
#include "pass/virtual/emit.h"
#include "pass/worker/worker.h"

/* ---- column order ---- */
static const char split_columns[] = "div.u32 %hd_z, %hd_r4, %hd_r5;\n"
				    "mul.lo.u32 %hd_r5, %hd_z, %hd_r5;\n"
				    "sub.u32 %hd_x, %hd_r4, %hd_r5;\n";

void pass_emit_columns(struct pass_writer *w)
{
	pass_put(w, "mov.u32 %hd_y, 0;\nmov.u32 %hd_z, 0;\n"
		    "ld.param.u64 %hd_d1, " A_TOTAL ";\n"
		    "setp.ge.u64 %hd_p1, %hd_d1, " TICKETS_32 ";\n"
		    "@%hd_p1 bra $hd_wide_ids;\n"
		    "ld.param.u32 %hd_r5, " A_GRID_Y ";\n"
		    "ld.param.u32 %hd_r4, " A_GRID_Z ";\n"
		    "mul.lo.u32 %hd_r4, %hd_r5, %hd_r4;\n"
		    "setp.eq.u32 %hd_p1, %hd_r4, 1;\n"
		    "@%hd_p1 bra $hd_store;\n"
		    "div.u32 %hd_r4, %hd_x, %hd_r5;\n"
		    "mul.lo.u32 %hd_r5, %hd_r4, %hd_r5;\n"
		    "sub.u32 %hd_y, %hd_x, %hd_r5;\n"
		    "ld.param.u32 %hd_r5, " A_GRID_X ";\n");
	pass_put(w, split_columns);
}

/* Computes the ids from the 64-bit ticket %hd_d4. The two divisions are in 64 bits, because the
 * grid may have more than 2^32 columns in all planes together. */
void pass_emit_columns_wide(struct pass_writer *w)
{
	pass_put(w, "ld.param.u32 %hd_r5, " A_GRID_Y ";\n");
	pass_emit_shift_division(w, "");
	pass_put(w, "cvt.u32.u64 %hd_y, %hd_d2;\n"
		    "ld.param.u32 %hd_r5, " A_GRID_X ";\n");
	pass_emit_shift_division(w, "_x");
	pass_put(w, "cvt.u32.u64 %hd_x, %hd_d2;\n"
		    "cvt.u32.u64 %hd_z, %hd_d4;\n"
		    "bra $hd_store;\n");
}

/* A grid of one row is a special case, without the loop over columns: each column of such a grid is
 * one block, so the loop would iterate once for each block. */
static const char carry_in_row[] = "ld.param.u32 %hd_r1, " A_GRID_Y ";\n"
				   "ld.param.u32 %hd_r2, " A_GRID_X ";\n"
				   "setp.ne.u32 %hd_p1, %hd_r1, 1;\n"
				   "@%hd_p1 bra $hd_columns;\n"
				   "add.u32 %hd_x, %hd_x, %hd_r0;\n"
				   "$hd_carry_x:\n"
				   ".pragma \"nounroll\";\n"
				   "setp.lt.u32 %hd_p1, %hd_x, %hd_r2;\n"
				   "@%hd_p1 bra $hd_body;\n"
				   "sub.u32 %hd_x, %hd_x, %hd_r2;\n"
				   "add.u32 %hd_z, %hd_z, 1;\n"
				   "bra $hd_carry_x;\n"
				   "$hd_columns:\n";
static const char carry[] = "add.u32 %hd_y, %hd_y, %hd_r0;\n"
			    "$hd_carry:\n"
			    ".pragma \"nounroll\";\n"
			    "setp.lt.u32 %hd_p1, %hd_y, %hd_r1;\n"
			    "@%hd_p1 bra $hd_body;\n"
			    "sub.u32 %hd_y, %hd_y, %hd_r1;\n"
			    "add.u32 %hd_x, %hd_x, 1;\n"
			    "setp.ge.u32 %hd_p1, %hd_x, %hd_r2;\n"
			    "@%hd_p1 mov.u32 %hd_x, 0;\n"
			    "@%hd_p1 add.u32 %hd_z, %hd_z, 1;\n"
			    "bra $hd_carry;\n";

void pass_emit_columns_carry(struct pass_writer *w)
{
	pass_put(w, carry_in_row);
	pass_put(w, carry);
}

/* ---- hilbert order ---- */
/* Sets %hd_x (below) to the block's number in its band, %hd_r1 to the number of blocks in a row,
 * and %hd_r3 to the band's first row. Sets %hd_p1 if the block stays in row order: its band is not
 * full, or a row has 2^28 blocks or more, which would need numbers of more than 32 bits. */
static const char find_band[] = "ld.param.u32 %hd_r1, " A_GRID_X ";\n"
				"ld.param.u32 %hd_r2, " A_GRID_Y ";\n"
				"and.b32 %hd_r3, %hd_y, -16;\n"
				"sub.u32 %hd_r2, %hd_r2, %hd_r3;\n"
				"setp.lt.u32 %hd_p1, %hd_r2, 16;\n"
				"setp.gt.or.u32 %hd_p1, %hd_r1, 268435455, %hd_p1;\n";
static const char number_in_band[] = "sub.u32 %hd_r4, %hd_y, %hd_r3;\n"
				     "mad.lo.u32 %hd_x, %hd_r4, %hd_r1, %hd_x;\n";

/* Splits the block's number within its tile. The number has 8 bits, in four pairs: one pair for
 * each halving of the tile. %hd_r6 gets the upper bits (a) of all pairs, %hd_r5 the lower bits
 * (b). */
static const char split_pairs[] = "and.b32 %hd_r5, %hd_x, 255;\n"
				  "shl.b32 %hd_r6, %hd_r5, 15;\n"
				  "or.b32 %hd_r5, %hd_r5, %hd_r6;\n"
				  "and.b32 %hd_r5, %hd_r5, 0x00550055;\n"
				  "shr.u32 %hd_r6, %hd_r5, 1;\n"
				  "or.b32 %hd_r5, %hd_r5, %hd_r6;\n"
				  "and.b32 %hd_r5, %hd_r5, 0x00330033;\n"
				  "shr.u32 %hd_r6, %hd_r5, 2;\n"
				  "or.b32 %hd_r5, %hd_r5, %hd_r6;\n"
				  "and.b32 %hd_r5, %hd_r5, 0x000f000f;\n"
				  "shr.u32 %hd_r6, %hd_r5, 16;\n"
				  "and.b32 %hd_r5, %hd_r5, 15;\n";

/* Computes one bit of x and y on the Hilbert curve from each pair of bits (a, b) of split_pairs.
 * The curve visits four quarters in the order (0,0), (0,1), (1,1), (1,0). So without rotations, the
 * bit of x is a, and the bit of y is a ^ b. In the first quarter, the curve's x and y are
 * exchanged; in the last quarter, they are exchanged and complemented. So the bit of x is a ^ (b &
 * exchanged) ^ complemented, and the bit of y is that bit ^ b.
 *
 * `exchanged` is the parity of the number of preceding pairs with a == b, and `complemented` that
 * of the preceding pairs with a & b. One register holds both parities; `complemented` starts at bit
 * 16. */
static const char turn_pairs[] = "xor.b32 %hd_r7, %hd_r6, %hd_r5;\n"
				 "xor.b32 %hd_r7, %hd_r7, 15;\n"
				 "and.b32 %hd_r8, %hd_r6, %hd_r5;\n"
				 "shl.b32 %hd_r8, %hd_r8, 16;\n"
				 "or.b32 %hd_r7, %hd_r7, %hd_r8;\n"
				 "shr.u32 %hd_r8, %hd_r7, 1;\n"
				 "xor.b32 %hd_r7, %hd_r7, %hd_r8;\n"
				 "shr.u32 %hd_r8, %hd_r7, 2;\n"
				 "xor.b32 %hd_r7, %hd_r7, %hd_r8;\n"
				 "shr.u32 %hd_r8, %hd_r7, 1;\n"
				 "and.b32 %hd_r8, %hd_r8, %hd_r5;\n"
				 "xor.b32 %hd_r6, %hd_r6, %hd_r8;\n"
				 "shr.u32 %hd_r8, %hd_r7, 17;\n"
				 "xor.b32 %hd_r6, %hd_r6, %hd_r8;\n"
				 "xor.b32 %hd_r5, %hd_r5, %hd_r6;\n";

/* Blocks after the band's last whole tile are numbered down columns of 16 blocks. */
static const char leave_band[] = "shr.u32 %hd_r8, %hd_x, 8;\n"
				 "shr.u32 %hd_r9, %hd_r1, 4;\n"
				 "setp.lt.u32 %hd_p1, %hd_r8, %hd_r9;\n"
				 "shl.b32 %hd_r8, %hd_r8, 4;\n"
				 "or.b32 %hd_r6, %hd_r6, %hd_r8;\n"
				 "and.b32 %hd_r9, %hd_x, 15;\n"
				 "shr.u32 %hd_x, %hd_x, 4;\n"
				 "selp.b32 %hd_x, %hd_r6, %hd_x, %hd_p1;\n"
				 "selp.b32 %hd_r5, %hd_r5, %hd_r9, %hd_p1;\n"
				 "or.b32 %hd_y, %hd_r3, %hd_r5;\n"
				 "and.b32 %hd_r3, %hd_r3, 16;\n"
				 "setp.ne.u32 %hd_p1, %hd_r3, 0;\n"
				 "sub.u32 %hd_r1, %hd_r1, 1;\n"
				 "@%hd_p1 sub.u32 %hd_x, %hd_r1, %hd_x;\n";

void pass_emit_hilbert(struct pass_writer *w, const char *site)
{
	pass_put(w, find_band);
	pass_emit(w, "@%%hd_p1 bra $hd_placed_%s;\n", site);
	pass_put(w, number_in_band);
	pass_put(w, split_pairs);
	pass_put(w, turn_pairs);
	pass_put(w, leave_band);
	pass_emit(w, "$hd_placed_%s:\n", site);
}
