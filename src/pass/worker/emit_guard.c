/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The guard form (doc/protocol.md). The leader reads the quota and, if the quota permits it, takes
 * one ticket. The block's other threads get the ids after one barrier. Then the body runs with
 * these ids; the body's control flow and exits stay unchanged.
 *
 * The slot is the array in shared memory through which the leader passes the ids:
 * - If the kernel's static shared memory leaves no space for the slot, the slot overlays a variable
 *   of the kernel, which holds no data yet.
 * - A second barrier comes before the body if the slot overlays a variable or if the body uses
 *   shared memory. It keeps the body from overwriting the slot, directly or by an out-of-bounds
 *   store, before all threads have read the slot. */
#include "pass/virtual/emit.h"
#include "pass/worker/worker.h"

static const char take_ticket[] = SM_ADDRESS "ld.volatile.global.u32 %hd_r2, [%hd_d1" B_QUOTA ";\n"
					     "ld.param.u32 %hd_r3, " A_LEAST ";\n"
					     "ld.param.u32 %hd_r4, " A_MORE ";\n"
					     "sub.u32 %hd_r2, %hd_r2, %hd_r3;\n"
					     "setp.gt.u32 %hd_p1, %hd_r2, %hd_r4;\n"
					     "@%hd_p1 bra $hd_pass;\n"
					     "$hd_ticket:\n"
					     "atom.global.add.u64 %hd_d4, [%hd_d0" B_TICKET ", 1;\n"
					     "ld.param.u64 %hd_d3, " A_TOTAL ";\n"
					     "setp.ge.u64 %hd_p1, %hd_d4, %hd_d3;\n"
					     "@%hd_p1 bra $hd_store;\n"
					     "mov.u32 %hd_k, 1;\n"
					     "mov.u32 %hd_r6, 1;\n"
					     "cvt.u32.u64 %hd_r4, %hd_d4;\n"
					     "mov.u32 %hd_x, %hd_r4;\n";

static void emit_slot_address(struct pass_writer *w, struct ptx_sym *overlay)
{
	if (!overlay) {
		pass_put(w, "mov.u32 %hd_s, hd_slot;\n");
		return;
	}
	pass_put(w, "mov.u32 %hd_s, 0;\n");
	pass_last(w)->opd[1] =
		(struct ptx_opd){.kind = PTX_OPD_SYM, .sym = overlay, .name = overlay->name};
}

void pass_emit_guard_head(
	struct pass_writer *w, const struct pass_place *at, struct ptx_sym *overlay)
{
	const bool *reads = at->facts->callees.at[0].reads + PASS_CTAID;

	if (!overlay)
		pass_put(w, SLOT_DECL);
	pass_emit_regs(w);
	emit_slot_address(w, overlay);
	pass_put(w, NOT_LEADER "@%hd_p0 bra $hd_sync;\n" BLOCK_ADDRESS "mov.u32 %hd_k, " SLOT_LEAVE
			       ";\n");
	pass_emit_first_steps(w, "$hd_store", false);
	pass_put(w, take_ticket);
	pass_emit_ids(w, at);
	pass_put(w, "bra $hd_store;\n"
		    "$hd_pass:\n"
		    "mov.u32 %hd_r2, 1;\n"
		    "red.global.add.u32 [%hd_d0" B_PASSED ", %hd_r2;\n"
		    "$hd_store:\n"
		    "st.shared.v4.u32 [%hd_s], {%hd_x, %hd_y, %hd_z, %hd_k};\n"
		    "bra $hd_sync;\n");
	pass_emit_wide_ids(w, reads, at->order, NULL);
	pass_put(w, "$hd_sync:\n"
		    "bar.sync 0;\n"
		    "ld.shared.v4.u32 {%hd_x, %hd_y, %hd_z, %hd_k}, [%hd_s];\n"
		    "setp.lt.s32 %hd_p1, %hd_k, 1;\n"
		    "@%hd_p1 bra $hd_leave;\n");
	if (overlay || at->facts->uses_shared)
		pass_put(w, "bar.sync 0;\n");
}

void pass_emit_guard_tail(struct pass_writer *w)
{
	pass_put(w, "ret;\n"
		    "$hd_leave:\n"
		    "setp.ne.u32 %hd_p1, %hd_k, " SLOT_RELAY ";\n"
		    "@%hd_p1 bra $hd_ret;\n");
	pass_emit_relay(w, true);
	pass_put(w, "$hd_ret:\nret;\n");
}
