/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The scheduler of a master block (emit_task.c lists its parts): one warp that frees what has ended,
 * chooses rows, places blocks and polls the host. */
#include "pass/task/emit_schedule.h"
#include "pass/virtual/emit.h"

/* Registers of the scheduler. Those of rows, records and units have a value per lane; others are
 * the same in all lanes.
 * | hd_lane, hd_w    | the lane; hd_own + 4 * lane                                     |
 * | hd_s             | hd_own                                                          |
 * | hd_seen, hd_mine | row: last generation that was read; that was begun              |
 * | hd_next, hd_all  | row: its next block, and the end of its blocks                  |
 * | hd_info          | record: 0 free; bit 31, barrier << 24 | unit << 12 | units      |
 * | hd_map           | bit map of 32 units of shared memory; a set bit means in use    |
 * | hd_bars          | bit map of free barrier numbers                                 |
 * | hd_cur, hd_last  | current row, or -1; the row that was current before             |
 * | hd_rec           | record of the block that is being placed                        |
 * | hd_want, hd_put  | number of its warps without and with an executor                |
 * | hd_any, hd_turn  | not 0: this iteration did something; times that it was blocked  |
 * | hd_leave         | not 0: begin nothing. Bit 0: TASK_PARK; bit 1: heartbeat ended  |
 * | hd_nap, hd_looks | polls in a row without result; polls, bit 31: some found rows   |
 * | hd_beat, hd_t0   | the host's last beat, and the time when it was read             |
 * | hd_in            | address of this lane's bytes in the column                      |
 * | hd_a .. hd_i, hd_m, hd_d* , hd_p* | scratch                                        | */
static const char regs[] =
	".reg .b32 %hd_lane; .reg .b32 %hd_w; .reg .b32 %hd_s; .reg .b32 %hd_t;\n"
	".reg .b32 %hd_seen; .reg .b32 %hd_mine; .reg .b32 %hd_next; .reg .b32 %hd_all;\n"
	".reg .b32 %hd_info; .reg .b32 %hd_map; .reg .b32 %hd_bars; .reg .b32 %hd_cur;\n"
	".reg .b32 %hd_last; .reg .b32 %hd_rec; .reg .b32 %hd_want; .reg .b32 %hd_put;\n"
	".reg .b32 %hd_any; .reg .b32 %hd_turn; .reg .b32 %hd_leave; .reg .b32 %hd_nap;\n"
	".reg .b32 %hd_beat; .reg .b32 %hd_looks; .reg .b32 %hd_n; .reg .b32 %hd_m;\n"
	".reg .b32 %hd_a; .reg .b32 %hd_b; .reg .b32 %hd_c; .reg .b32 %hd_e; .reg .b32 %hd_f;\n"
	".reg .b32 %hd_g; .reg .b32 %hd_h; .reg .b32 %hd_i;\n"
	".reg .b64 %hd_t0; .reg .b64 %hd_in;\n"
	".reg .b64 %hd_column; .reg .b64 %hd_own_at; .reg .b64 %hd_d<4>;\n"
	".reg .pred %hd_p<4>; .reg .pred %hd_row;\n";

/* A poll takes more than a microsecond, mostly on the bus. The scheduler pauses between polls to
 * spare the bus and the other warps. The pauses are short at first, and get longer when no task has
 * come for about a millisecond. */
#define NAP_NS     "64"
#define NAP        64u
#define NAP_MAX    "1024"
#define NAPS_SHORT "768"
#define ALL        ", 31, -1;\n"
/* Sets `to` to the index of the lowest 1 bit in `from`. */
#define LOWEST(to, from) "brev.b32 " to ", " from ";\nclz.b32 " to ", " to ";\n"

void task_put_registers(struct pass_writer *w)
{
	pass_put(w, regs);
}

/* Initializes the scheduler's registers. In: %hd_b, the column's number. All units of shared memory
 * are free except those beyond the pool's memory. */
void task_put_setup(struct pass_writer *w)
{
	pass_emit(w,
		"ld.param.u64 %%hd_column, " K_COLUMNS ";\n"
		"mad.wide.u32 %%hd_column, %%hd_b, %zu, %%hd_column;\n"
		"mad.wide.u32 %%hd_in, %%hd_lane, 1, %%hd_column;\n"
		"ld.param.u32 %%hd_a, " K_MORE_BYTES ";\n"
		"mad.lo.u32 %%hd_a, %%hd_a, %d, %zu;\n"
		"ld.param.u64 %%hd_own_at, " K_OWN ";\n"
		"mad.wide.u32 %%hd_own_at, %%hd_b, %%hd_a, %%hd_own_at;\n"
		"add.u64 %%hd_d0, %%hd_own_at, %zu;\n",
		sizeof(struct task_column), TASK_ROWS, sizeof(struct task_own),
		sizeof(struct task_own));
	pass_put(w, "st.shared.u64 [%hd_s" Q_COLUMN ", %hd_column;\n"
		    "st.shared.u64 [%hd_s" Q_MORE ", %hd_d0;\n"
		    "setp.lt.u32 %hd_row, %hd_lane, 31;\n"
		    "ld.relaxed.sys.global.u8 %hd_mine, [%hd_in" C_OUT ";\n"
		    "selp.b32 %hd_mine, %hd_mine, 0, %hd_row;\n"
		    "mov.u32 %hd_seen, %hd_mine;\n"
		    "mad.wide.u32 %hd_d0, %hd_lane, 4, %hd_own_at;\n"
		    /* a launch on another SM may have stored the value loaded next */
		    "fence.acq_rel.gpu;\n"
		    "ld.global.u32 %hd_next, [%hd_d0];\n"
		    "selp.b32 %hd_next, %hd_next, 0, %hd_row;\n"
		    "mov.u32 %hd_all, 0;\n"
		    "mov.u32 %hd_info, 0;\n"
		    "ld.param.u32 %hd_a, " K_SHARED ";\n"
		    "shr.u32 %hd_a, %hd_a, 9;\n"
		    "shl.b32 %hd_b, %hd_lane, 5;\n"
		    "sub.s32 %hd_a, %hd_a, %hd_b;\n"
		    "max.s32 %hd_a, %hd_a, 0;\n"
		    "mov.u32 %hd_map, 1;\n"
		    "shl.b32 %hd_map, %hd_map, %hd_a;\n"
		    "sub.u32 %hd_map, %hd_map, 1;\n"
		    "not.b32 %hd_map, %hd_map;\n"
		    "mov.u32 %hd_bars, 0xfffe;\n" /* barrier 0 belongs to the master block itself */
		    "mov.u32 %hd_cur, -1;\n"
		    "mov.u32 %hd_last, 31;\n"
		    "mov.u32 %hd_rec, 0;\n"
		    "mov.u32 %hd_want, 0;\n"
		    "mov.u32 %hd_put, 0;\n"
		    "mov.u32 %hd_turn, 0;\n"
		    "mov.u32 %hd_leave, 0;\n"
		    "mov.u32 %hd_nap, 0;\n"
		    "mov.u32 %hd_looks, 0;\n"
		    "mov.u32 %hd_beat, -1;\n"
		    "mov.u64 %hd_t0, %globaltimer;\n");
}

/* Polls the host once. Sets %hd_i to the byte of `in` of this lane's row. Lanes with %hd_p3 get
 * word %hd_f of row 0's descriptor in %hd_a and %hd_b. If one of these words is not of row 0's
 * current generation, row 0 counts as unchanged. */
static void put_look(struct pass_writer *w)
{
	pass_put(w, "mad.wide.u32 %hd_d0, %hd_lane, 8, %hd_column;\n"
		    "setp.lt.u32 %hd_p0, %hd_lane, 16;\n"
		    "mov.u64 %hd_d1, 0;\n"
		    "@%hd_p0 ld.relaxed.sys.global.u64 %hd_d1, [%hd_d0" C_IN ";\n"
		    "mov.b64 {%hd_a, %hd_b}, %hd_d1;\n"
		    "shr.u32 %hd_c, %hd_lane, 3;\n"
		    "shfl.sync.idx.b32 %hd_e, %hd_a, %hd_c" ALL
		    "shfl.sync.idx.b32 %hd_f, %hd_b, %hd_c" ALL "and.b32 %hd_c, %hd_lane, 4;\n"
		    "setp.ne.u32 %hd_p0, %hd_c, 0;\n"
		    "selp.b32 %hd_e, %hd_f, %hd_e, %hd_p0;\n"
		    "and.b32 %hd_c, %hd_lane, 3;\n"
		    "shl.b32 %hd_c, %hd_c, 3;\n"
		    "bfe.u32 %hd_i, %hd_e, %hd_c, 8;\n"
		    "shfl.sync.idx.b32 %hd_c, %hd_i, 0" ALL "bfe.u32 %hd_e, %hd_b, 16, 8;\n"
		    "sub.u32 %hd_f, %hd_lane, 4;\n");
	pass_emit(w,
		"setp.lt.u32 %%hd_p3, %%hd_f, %zu;\n"
		"setp.ne.and.u32 %%hd_p0, %%hd_e, %%hd_c, %%hd_p3;\n"
		"vote.sync.any.pred %%hd_p0, %%hd_p0, -1;\n"
		"setp.eq.and.u32 %%hd_p0, %%hd_lane, 0, %%hd_p0;\n"
		"selp.b32 %%hd_i, %%hd_seen, %%hd_i, %%hd_p0;\n",
		TASK_FIRST);
	_Static_assert(offsetof(struct task_column, first) == 32 &&
			       sizeof(((struct task_column *)0)->in) == 32,
		"lanes 0 to 3, and from 4 on");
}

/* Fetches the new rows that put_look found. Lanes whose row is new have %hd_p1 set, and %hd_m is
 * the mask of these lanes. The descriptors go to shared memory at %hd_e. A fence comes first, so
 * that tasks see all that the host wrote before it spawned them. The blocks of a row are %hd_g to
 * %hd_all - 1.
 *
 * A row's descriptor has four parts of 16 bytes. One instruction of the warp reads eight successive
 * rows: four lanes read the four parts of a row. If one lane read a whole row, it would need four
 * instructions, and one bus transfer for each part, because reads of one line of host memory are
 * serialized. The lanes that read a row are not the lane that found it, so the warp reconverges
 * after the fence. */
static void put_fetch(struct pass_writer *w, const char *past)
{
	_Static_assert(sizeof(struct task_desc) == 64, "four lanes' 16 bytes");
	pass_emit(w,
		"fence.acq_rel.sys;\n" WHOLE_WARP "and.b32 %%hd_c, %%hd_m, 1;\n"
		"setp.ne.and.u32 %%hd_p3, %%hd_c, 0, %%hd_p3;\n"
		"mad.lo.u32 %%hd_e, %%hd_f, 6, %%hd_s;\n"
		"@%%hd_p3 st.shared.u16 [%%hd_e+%d], %%hd_a;\n"
		"shr.u32 %%hd_a, %%hd_a, 16;\n"
		"@%%hd_p3 st.shared.u16 [%%hd_e+%d], %%hd_a;\n"
		"setp.lt.and.u32 %%hd_p3, %%hd_f, %zu, %%hd_p3;\n" /* the last word is shorter */
		"@%%hd_p3 st.shared.u16 [%%hd_e+%d], %%hd_b;\n"
		"and.b32 %%hd_m, %%hd_m, -2;\n"
		"setp.eq.u32 %%hd_p0, %%hd_m, 0;\n"
		"@%%hd_p0 bra %s_all;\n",
		N_ROW, N_ROW + 2, TASK_FIRST - 1, N_ROW + 4, past);
	_Static_assert(sizeof(struct task_desc) % 6 == 4, "the last word of `first`");
	pass_emit(w,
		"fence.acq_rel.sys;\n" WHOLE_WARP
		"%s_more:\n" LOWEST("%%hd_h", "%%hd_m") "shr.u32 %%hd_i, %%hd_lane, 2;\n"
							"add.u32 %%hd_i, %%hd_i, %%hd_h;\n"
							"mov.u32 %%hd_g, 255;\n"
							"shl.b32 %%hd_g, %%hd_g, %%hd_h;\n"
							"and.b32 %%hd_b, %%hd_m, %%hd_g;\n"
							"not.b32 %%hd_g, %%hd_g;\n"
							"and.b32 %%hd_m, %%hd_m, %%hd_g;\n"
							"shr.u32 %%hd_b, %%hd_b, %%hd_i;\n"
							"and.b32 %%hd_b, %%hd_b, 1;\n"
							"setp.ne.u32 %%hd_p0, %%hd_b, 0;\n"
							"and.b32 %%hd_g, %%hd_lane, 3;\n"
							"shl.b32 %%hd_i, %%hd_i, 2;\n"
							"add.u32 %%hd_g, %%hd_g, %%hd_i;\n"
							"shl.b32 %%hd_g, %%hd_g, 4;\n"
							"cvt.u64.u32 %%hd_d0, %%hd_g;\n"
							"add.u64 %%hd_d0, %%hd_d0, %%hd_column;\n"
							"add.u32 %%hd_e, %%hd_g, %%hd_s;\n",
		past);
	pass_emit(w,
		"@%%hd_p0 ld.relaxed.sys.global.v4.u32 {%%hd_a, %%hd_b, %%hd_c, %%hd_f}, "
		"[%%hd_d0+%d];\n"
		"@%%hd_p0 st.shared.v4.u32 [%%hd_e+%d], {%%hd_a, %%hd_b, %%hd_c, %%hd_f};\n"
		"setp.ne.u32 %%hd_p0, %%hd_m, 0;\n"
		"@%%hd_p0 bra %s_more;\n"
		"%s_all:\n" WHOLE_WARP "shl.b32 %%hd_e, %%hd_lane, 6;\n"
		"add.u32 %%hd_e, %%hd_e, %%hd_s;\n"
		"add.u32 %%hd_e, %%hd_e, %d;\n"
		"mov.u32 %%hd_g, 0;\n"
		"@!%%hd_p1 bra %s;\n",
		N_DESC, N_ROW, past, past, N_ROW, past);
	pass_put(w, "ld.shared.u32 %hd_a, [%hd_e" D_GRID_X ";\n"
		    "ld.shared.u16 %hd_b, [%hd_e" D_GRID_Y ";\n"
		    "mul.lo.u32 %hd_a, %hd_a, %hd_b;\n"
		    "ld.shared.u16 %hd_b, [%hd_e" D_GRID_Z ";\n"
		    "mul.lo.u32 %hd_all, %hd_a, %hd_b;\n"
		    "ld.shared.u32 %hd_a, [%hd_e" D_NEED ";\n"
		    "bfe.u32 %hd_b, %hd_a, 21, 11;\n"
		    "setp.eq.u32 %hd_p0, %hd_b, 0;\n");
	pass_emit(w, "@%%hd_p0 bra %s;\n", past);
	pass_put(w, "sub.u32 %hd_c, %hd_all, 1;\n"
		    "div.u32 %hd_c, %hd_c, %hd_b;\n"
		    "add.u32 %hd_c, %hd_c, 1;\n"
		    "bfe.u32 %hd_a, %hd_a, 10, 11;\n"
		    "mul.lo.u32 %hd_g, %hd_a, %hd_c;\n"
		    "sub.u32 %hd_all, %hd_all, %hd_g;\n"
		    "min.u32 %hd_all, %hd_all, %hd_c;\n"
		    "add.u32 %hd_all, %hd_all, %hd_g;\n");
	_Static_assert(TASK_NEED_PART == 10 && TASK_NEED_PARTS == 21, "as written here");
	pass_emit(w, "%s:\n" WHOLE_WARP, past);
}

/* Resumes the tasks that an earlier launch began. Their parameters are still in memory. */
static void put_go_on(struct pass_writer *w)
{
	pass_put(w, "setp.ne.u32 %hd_p1, %hd_next, 0;\n"
		    "vote.sync.ballot.b32 %hd_m, %hd_p1, -1;\n"
		    "setp.eq.u32 %hd_p0, %hd_m, 0;\n"
		    "@%hd_p0 bra $hd_s_top;\n" LOWEST("%hd_cur", "%hd_m"));
	put_look(w);
	pass_put(w, "selp.b32 %hd_mine, %hd_i, %hd_mine, %hd_p1;\n"
		    "mov.u32 %hd_seen, %hd_mine;\n");
	put_fetch(w, "$hd_s_known");
	pass_put(w, "sub.u32 %hd_a, %hd_all, %hd_next;\n"
		    "@%hd_p1 st.shared.u32 [%hd_w" Q_BLOCKS ", %hd_a;\n"
		    "@%hd_p1 st.shared.u32 [%hd_w" Q_GEN ", %hd_mine;\n"
		    "mad.wide.u32 %hd_d0, %hd_lane, 8, %hd_column;\n"
		    "ld.relaxed.sys.global.u64 %hd_d0, [%hd_d0" C_WHY ";\n"
		    "set.ne.u32.u64 %hd_a, %hd_d0, 0;\n"
		    "@%hd_p1 st.shared.u32 [%hd_w" Q_FAILED ", %hd_a;\n");
}

/* Sets %hd_g to this lane's 32 bits of a bit map in which %hd_f units are set, from unit %hd_e on.
 * %hd_h, %hd_i and %hd_p2 are scratch. */
static const char units_mask[] = "shr.u32 %hd_h, %hd_e, 5;\n"
				 "sub.u32 %hd_h, %hd_lane, %hd_h;\n"
				 "shr.u32 %hd_i, %hd_f, 5;\n"
				 "max.u32 %hd_i, %hd_i, 1;\n"
				 "setp.lt.u32 %hd_p2, %hd_h, %hd_i;\n"
				 "mov.u32 %hd_g, 1;\n"
				 "shl.b32 %hd_g, %hd_g, %hd_f;\n"
				 "sub.u32 %hd_g, %hd_g, 1;\n"
				 "and.b32 %hd_h, %hd_e, 31;\n"
				 "shl.b32 %hd_g, %hd_g, %hd_h;\n"
				 "selp.b32 %hd_g, %hd_g, 0, %hd_p2;\n";

static void put_retire(struct pass_writer *w)
{
	pass_put(w, "$hd_s_top:\n"
		    "mov.u32 %hd_any, 0;\n"
		    "ld.acquire.cta.shared.u32 %hd_a, [%hd_w" Q_LEFT ";\n"
		    "setp.eq.u32 %hd_p1, %hd_a, 0;\n"
		    "setp.ne.and.u32 %hd_p1, %hd_info, 0, %hd_p1;\n"
		    "vote.sync.ballot.b32 %hd_m, %hd_p1, -1;\n"
		    "setp.eq.u32 %hd_p0, %hd_m, 0;\n"
		    "@%hd_p0 bra $hd_s_pick;\n"
		    "mov.u32 %hd_any, 1;\n"
		    "$hd_s_free:\n" LOWEST(
			    "%hd_a", "%hd_m") "shfl.sync.idx.b32 %hd_b, %hd_info, %hd_a" ALL
					      "bfe.u32 %hd_c, %hd_b, 24, 4;\n"
					      "mov.u32 %hd_a, 1;\n"
					      "shl.b32 %hd_a, %hd_a, %hd_c;\n"
					      "or.b32 %hd_bars, %hd_bars, %hd_a;\n"
					      "and.b32 %hd_bars, %hd_bars, 0xfffe;\n"
					      "bfe.u32 %hd_e, %hd_b, 12, 12;\n"
					      "and.b32 %hd_f, %hd_b, 0xfff;\n");
	pass_put(w, units_mask);
	pass_put(w, "not.b32 %hd_g, %hd_g;\n"
		    "and.b32 %hd_map, %hd_map, %hd_g;\n"
		    "sub.u32 %hd_a, %hd_m, 1;\n"
		    "and.b32 %hd_m, %hd_m, %hd_a;\n"
		    "setp.ne.u32 %hd_p0, %hd_m, 0;\n"
		    "@%hd_p0 bra $hd_s_free;\n"
		    "selp.b32 %hd_info, 0, %hd_info, %hd_p1;\n");
}

/* Picks the next row with a new task, beginning after the last row picked. */
static void put_pick(struct pass_writer *w)
{
	pass_put(w,
		"$hd_s_pick:\n"
		"setp.ne.u32 %hd_p0, %hd_cur, -1;\n"
		"@%hd_p0 bra $hd_s_block;\n"
		"setp.ne.u32 %hd_p1, %hd_seen, %hd_mine;\n"
		"vote.sync.ballot.b32 %hd_m, %hd_p1, -1;\n"
		"setp.ne.u32 %hd_p0, %hd_leave, 0;\n"
		"setp.eq.or.u32 %hd_p0, %hd_m, 0, %hd_p0;\n"
		"@%hd_p0 bra $hd_s_poll;\n"
		"mov.u32 %hd_a, -2;\n"
		"shl.b32 %hd_a, %hd_a, %hd_last;\n"
		"and.b32 %hd_a, %hd_a, %hd_m;\n"
		"setp.ne.u32 %hd_p0, %hd_a, 0;\n"
		"selp.b32 %hd_a, %hd_a, %hd_m, %hd_p0;\n" LOWEST("%hd_cur",
			"%hd_a") "mov.u32 %hd_last, %hd_cur;\n"
				 "setp.eq.u32 %hd_p1, %hd_lane, %hd_cur;\n"
				 "selp.b32 %hd_mine, %hd_seen, %hd_mine, %hd_p1;\n"
				 "@%hd_p1 st.relaxed.sys.global.u8 [%hd_in" C_TAKEN ", %hd_mine;\n"
				 "sub.u32 %hd_e, %hd_all, %hd_next;\n"
				 "@%hd_p1 st.shared.u32 [%hd_w" Q_BLOCKS ", %hd_e;\n"
				 "@%hd_p1 st.shared.u32 [%hd_w" Q_GEN ", %hd_mine;\n"
				 "mov.u32 %hd_e, 0;\n"
				 "@%hd_p1 st.shared.u32 [%hd_w" Q_FAILED ", %hd_e;\n"
				 "shl.b32 %hd_e, %hd_cur, 6;\n"
				 "add.u32 %hd_e, %hd_e, %hd_s;\n");
	pass_emit(w, "add.u32 %%hd_e, %%hd_e, %d;\n", N_ROW);
	pass_emit(w,
		"ld.shared.u32 %%hd_a, [%%hd_e" D_NEED ";\n"
		"and.b32 %%hd_a, %%hd_a, %d;\n"
		"setp.eq.u32 %%hd_p0, %%hd_a, 0;\n"
		"@%%hd_p0 bra $hd_s_block;\n",
		TASK_NEED_MORE);
	/* Copies the parameters to device memory if the row has no room for them. */
	pass_emit(w,
		"ld.param.u32 %%hd_b, " K_MORE_BYTES ";\n"
		"ld.shared.u32 %%hd_c, [%%hd_s" Q_INDEX ";\n"
		"mad.lo.u32 %%hd_c, %%hd_c, %d, %%hd_cur;\n"
		"ld.param.u64 %%hd_d0, " K_MORE ";\n"
		"mad.wide.u32 %%hd_d0, %%hd_c, %%hd_b, %%hd_d0;\n"
		"ld.shared.u64 %%hd_d1, [%%hd_s" Q_MORE ";\n"
		"mad.wide.u32 %%hd_d1, %%hd_cur, %%hd_b, %%hd_d1;\n"
		"shl.b32 %%hd_i, %%hd_lane, 4;\n"
		"$hd_s_copy:\n"
		"setp.ge.u32 %%hd_p0, %%hd_i, %%hd_b;\n"
		"@%%hd_p0 bra $hd_s_copied;\n"
		"cvt.u64.u32 %%hd_d2, %%hd_i;\n"
		"add.u64 %%hd_d3, %%hd_d0, %%hd_d2;\n"
		"add.u64 %%hd_d2, %%hd_d1, %%hd_d2;\n"
		"ld.relaxed.sys.global.v4.u32 {%%hd_a, %%hd_c, %%hd_e, %%hd_f}, [%%hd_d3];\n"
		"st.global.v4.u32 [%%hd_d2], {%%hd_a, %%hd_c, %%hd_e, %%hd_f};\n"
		"add.u32 %%hd_i, %%hd_i, 512;\n"
		"bra $hd_s_copy;\n"
		"$hd_s_copied:\n" WHOLE_WARP,
		TASK_ROWS);
}

/* Allocates units of shared memory. In: %hd_f, the number of units, a power of two. Sets %hd_e to
 * the first unit, or jumps to $hd_s_blocked if no such range is free. Each lane's %hd_map is a
 * 32-bit map of 32 units. Fewer than 32 units lie within the map of one lane. For 32 units or more,
 * the same steps search a bit map of lanes, in which a lane's bit says that all its 32 units are
 * free.
 *
 * Pagoda's buddy system keeps a tree of marks. Here each allocation is aligned to its size, so
 * freed units join their neighbours without further work. */
static void put_units(struct pass_writer *w)
{
	pass_put(w, "setp.eq.u32 %hd_p0, %hd_map, 0;\n"
		    "vote.sync.ballot.b32 %hd_a, %hd_p0, -1;\n"
		    "setp.ge.u32 %hd_p3, %hd_f, 32;\n"
		    "shr.u32 %hd_b, %hd_f, 5;\n"
		    "selp.b32 %hd_b, %hd_b, %hd_f, %hd_p3;\n"
		    "not.b32 %hd_c, %hd_map;\n"
		    "selp.b32 %hd_a, %hd_a, %hd_c, %hd_p3;\n"
		    "mov.u32 %hd_c, 1;\n"
		    "$hd_s_fold:\n"
		    "setp.ge.u32 %hd_p0, %hd_c, %hd_b;\n"
		    "@%hd_p0 bra $hd_s_folded;\n"
		    "shr.u32 %hd_e, %hd_a, %hd_c;\n"
		    "and.b32 %hd_a, %hd_a, %hd_e;\n"
		    "shl.b32 %hd_c, %hd_c, 1;\n"
		    "bra $hd_s_fold;\n"
		    "$hd_s_folded:\n" /* keep only bits at multiples of %hd_b */
		    "mov.u32 %hd_c, 1;\n"
		    "shl.b32 %hd_c, %hd_c, %hd_b;\n"
		    "sub.u32 %hd_c, %hd_c, 1;\n"
		    "div.u32 %hd_c, -1, %hd_c;\n"
		    "and.b32 %hd_a, %hd_a, %hd_c;\n"
		    "setp.ne.u32 %hd_p0, %hd_a, 0;\n"
		    "vote.sync.ballot.b32 %hd_b, %hd_p0, -1;\n"
		    "setp.eq.u32 %hd_p0, %hd_b, 0;\n"
		    "@%hd_p0 bra $hd_s_blocked;\n" LOWEST("%hd_c",
			    "%hd_b") "shfl.sync.idx.b32 %hd_a, %hd_a, %hd_c" ALL LOWEST("%hd_a",
			    "%hd_a") "shl.b32 %hd_c, %hd_c, 5;\n"
				     "add.u32 %hd_c, %hd_c, %hd_a;\n"
				     "shl.b32 %hd_e, %hd_a, 5;\n"
				     "selp.b32 %hd_e, %hd_e, %hd_c, %hd_p3;\n");
	pass_put(w, units_mask);
	pass_put(w, "or.b32 %hd_map, %hd_map, %hd_g;\n");
}

/* Allocates all resources that a block of the current row needs, or none of them. */
static void put_block(struct pass_writer *w)
{
	pass_put(w, "$hd_s_block:\n"
		    "setp.ne.u32 %hd_p0, %hd_want, 0;\n"
		    "@%hd_p0 bra $hd_s_place;\n"
		    "setp.ne.u32 %hd_p0, %hd_leave, 0;\n"
		    "@%hd_p0 bra $hd_s_poll;\n"
		    "setp.eq.u32 %hd_p0, %hd_info, 0;\n"
		    "vote.sync.ballot.b32 %hd_a, %hd_p0, -1;\n"
		    "and.b32 %hd_a, %hd_a, 0x7fffffff;\n"
		    "setp.eq.u32 %hd_p0, %hd_a, 0;\n"
		    "@%hd_p0 bra $hd_s_blocked;\n" LOWEST(
			    "%hd_rec", "%hd_a") "shl.b32 %hd_m, %hd_cur, 6;\n"
						"add.u32 %hd_m, %hd_m, %hd_s;\n");
	pass_emit(w, "add.u32 %%hd_m, %%hd_m, %d;\n", N_ROW);
	pass_put(w, "ld.shared.u32 %hd_n, [%hd_m" D_NEED ";\n"
		    "and.b32 %hd_a, %hd_n, 256;\n"
		    "setp.ne.u32 %hd_p1, %hd_a, 0;\n"
		    "setp.eq.and.u32 %hd_p0, %hd_bars, 0, %hd_p1;\n"
		    "@%hd_p0 bra $hd_s_blocked;\n"
		    "and.b32 %hd_n, %hd_n, 255;\n"
		    "mov.u32 %hd_e, 0;\n"
		    "mov.u32 %hd_f, 0;\n"
		    "setp.eq.u32 %hd_p0, %hd_n, 0;\n"
		    "@%hd_p0 bra $hd_s_have;\n"
		    "sub.u32 %hd_n, %hd_n, 1;\n"
		    "mov.u32 %hd_f, 1;\n"
		    "shl.b32 %hd_f, %hd_f, %hd_n;\n");
	_Static_assert(TASK_NEED_BARRIER == 256 && TASK_NEED_SHARED == 255, "as written here");
	put_units(w);
	pass_put(w, "$hd_s_have:\n"
		    "mov.u32 %hd_a, 0;\n"
		    "@!%hd_p1 bra $hd_s_named;\n" LOWEST(
			    "%hd_a", "%hd_bars") "sub.u32 %hd_b, %hd_bars, 1;\n"
						 "and.b32 %hd_bars, %hd_bars, %hd_b;\n"
						 "$hd_s_named:\n"
						 "shl.b32 %hd_b, %hd_a, 24;\n"
						 "shl.b32 %hd_c, %hd_e, 12;\n"
						 "or.b32 %hd_b, %hd_b, %hd_c;\n"
						 "or.b32 %hd_b, %hd_b, %hd_f;\n"
						 "or.b32 %hd_b, %hd_b, 0x80000000;\n"
						 "setp.eq.u32 %hd_p2, %hd_lane, %hd_rec;\n"
						 "selp.b32 %hd_info, %hd_b, %hd_info, %hd_p2;\n");
}

/* Writes the record that executors read. In: %hd_a, the barrier's number; %hd_e, the first unit;
 * %hd_m, the address of the row's descriptor. */
static void put_record(struct pass_writer *w)
{
	pass_emit(w,
		"shl.b32 %%hd_b, %%hd_rec, 6;\n"
		"add.u32 %%hd_b, %%hd_b, %%hd_s;\n"
		"add.u32 %%hd_b, %%hd_b, %d;\n",
		N_RECORD);
	pass_put(w, "st.shared.u32 [%hd_b" V_ROW ", %hd_cur;\n"
		    "st.shared.u32 [%hd_b" V_BARRIER ", %hd_a;\n"
		    "shl.b32 %hd_e, %hd_e, 9;\n"
		    "mov.u32 %hd_c, hd_pool;\n"
		    "add.u32 %hd_e, %hd_e, %hd_c;\n"
		    "st.shared.u32 [%hd_b" V_BASE ", %hd_e;\n"
		    "mov.u32 %hd_c, " ROUND_BASE ";\n"
		    "st.shared.v2.u32 [%hd_b" V_COUNTS ", {%hd_c, %hd_c};\n"
		    "st.shared.v4.u32 [%hd_b" V_WORDS ", {%hd_c, %hd_c, %hd_c, %hd_c};\n"
		    "mov.u32 %hd_c, -1;\n"
		    "st.shared.u32 [%hd_b" V_FAILED ", %hd_c;\n"
		    "shfl.sync.idx.b32 %hd_c, %hd_next, %hd_cur" ALL
		    "ld.shared.u32 %hd_e, [%hd_m" D_GRID_X ";\n"
		    "div.u32 %hd_f, %hd_c, %hd_e;\n"
		    "mul.lo.u32 %hd_g, %hd_f, %hd_e;\n"
		    "sub.u32 %hd_c, %hd_c, %hd_g;\n"
		    "st.shared.u32 [%hd_b" V_X ", %hd_c;\n"
		    "ld.shared.u16 %hd_e, [%hd_m" D_GRID_Y ";\n"
		    "div.u32 %hd_c, %hd_f, %hd_e;\n"
		    "mul.lo.u32 %hd_g, %hd_c, %hd_e;\n"
		    "sub.u32 %hd_f, %hd_f, %hd_g;\n"
		    "st.shared.u32 [%hd_b" V_Y ", %hd_f;\n"
		    "st.shared.u32 [%hd_b" V_Z ", %hd_c;\n"
		    "ld.shared.u32 %hd_n, [%hd_m" D_NEED ";\n");
	pass_emit(w,
		"and.b32 %%hd_n, %%hd_n, %d;\n"
		"setp.ne.u32 %%hd_p0, %%hd_n, 0;\n"
		"add.u32 %%hd_n, %%hd_m, %d;\n"
		"cvt.u64.u32 %%hd_d0, %%hd_n;\n"
		"cvta.shared.u64 %%hd_d0, %%hd_d0;\n"
		"ld.param.u32 %%hd_n, " K_MORE_BYTES ";\n"
		"ld.shared.u64 %%hd_d1, [%%hd_s" Q_MORE ";\n"
		"mad.wide.u32 %%hd_d1, %%hd_cur, %%hd_n, %%hd_d1;\n"
		"selp.b64 %%hd_d0, %%hd_d1, %%hd_d0, %%hd_p0;\n"
		"st.shared.u64 [%%hd_b" V_PARAMS ", %%hd_d0;\n",
		TASK_NEED_MORE, N_ARGS);
	pass_put(w, "ld.shared.u32 %hd_n, [%hd_m" D_BLOCK ";\n"
		    "bfe.u32 %hd_c, %hd_n, 0, 10;\n"
		    "add.u32 %hd_c, %hd_c, 1;\n"
		    "bfe.u32 %hd_e, %hd_n, 10, 10;\n"
		    "mad.lo.u32 %hd_c, %hd_c, %hd_e, %hd_c;\n"
		    "bfe.u32 %hd_e, %hd_n, 20, 10;\n"
		    "mad.lo.u32 %hd_c, %hd_c, %hd_e, %hd_c;\n"
		    "add.u32 %hd_c, %hd_c, 31;\n"
		    "shr.u32 %hd_want, %hd_c, 5;\n"
		    "mov.u32 %hd_put, 0;\n"
		    "@%hd_p2 st.shared.u32 [%hd_w" Q_LEFT ", %hd_want;\n"
		    "setp.eq.u32 %hd_p1, %hd_lane, %hd_cur;\n"
		    "@%hd_p1 add.u32 %hd_next, %hd_next, 1;\n"
		    "mov.u32 %hd_any, 1;\n");
}

/* Sets %hd_a to the mask of free executors, and %hd_c to the number of all executors. */
static const char find_free[] = "$hd_s_place:\n"
				"mov.u32 %hd_a, %ntid.x;\n"
				"shr.u32 %hd_a, %hd_a, 5;\n"
				"sub.u32 %hd_a, %hd_a, 1;\n"
				"mov.u32 %hd_c, %hd_a;\n"
				"ld.acquire.cta.shared.u32 %hd_b, [%hd_w" Q_GO_1 ";\n"
				"setp.eq.u32 %hd_p1, %hd_b, 0;\n"
				"setp.lt.and.u32 %hd_p1, %hd_lane, %hd_a, %hd_p1;\n"
				"vote.sync.ballot.b32 %hd_a, %hd_p1, -1;\n"
				"setp.eq.u32 %hd_p0, %hd_a, 0;\n"
				"@%hd_p0 bra $hd_s_blocked;\n";

/* A block as wide as the master block needs all executors at once, and the scheduler's warp. */
static const char unless_wide[] = "setp.gt.u32 %hd_p2, %hd_want, %hd_c;\n"
				  "popc.b32 %hd_b, %hd_a;\n"
				  "setp.ne.and.u32 %hd_p0, %hd_b, %hd_c, %hd_p2;\n"
				  "@%hd_p0 bra $hd_s_blocked;\n";

static const char give[] = "mov.u32 %hd_b, %lanemask_lt;\n"
			   "and.b32 %hd_b, %hd_a, %hd_b;\n"
			   "popc.b32 %hd_b, %hd_b;\n"
			   "setp.lt.and.u32 %hd_p1, %hd_b, %hd_want, %hd_p1;\n"
			   "add.u32 %hd_b, %hd_b, %hd_put;\n"
			   "shl.b32 %hd_c, %hd_rec, 8;\n"
			   "or.b32 %hd_b, %hd_b, %hd_c;\n"
			   /* makes the record visible, whichever lane wrote it */
			   "or.b32 %hd_b, %hd_b, 0x80000000;\n" WHOLE_WARP
			   "@%hd_p1 st.release.cta.shared.u32 [%hd_w" Q_GO_1 ", %hd_b;\n"
			   "popc.b32 %hd_a, %hd_a;\n"
			   "min.u32 %hd_a, %hd_a, %hd_want;\n"
			   "add.u32 %hd_put, %hd_put, %hd_a;\n"
			   "sub.u32 %hd_want, %hd_want, %hd_a;\n"
			   "mov.u32 %hd_any, 1;\n";

static const char placed[] = "setp.ne.u32 %hd_p0, %hd_want, 0;\n"
			     "@%hd_p0 bra $hd_s_top;\n"
			     "$hd_s_placed:\n";
static const char go_on_placing[] =
	"setp.eq.u32 %hd_p1, %hd_next, %hd_all;\n" /* true after the task's last block */
	"setp.eq.and.u32 %hd_p1, %hd_lane, %hd_cur, %hd_p1;\n"
	"selp.b32 %hd_next, 0, %hd_next, %hd_p1;\n"
	"vote.sync.any.pred %hd_p0, %hd_p1, -1;\n"
	"selp.b32 %hd_cur, -1, %hd_cur, %hd_p0;\n"
	"bra $hd_s_top;\n"
	/* A resource is missing that running blocks hold. The host is polled only every 16th time,
	 * because a read from host memory takes long. */
	"$hd_s_blocked:\n"
	"add.u32 %hd_turn, %hd_turn, 1;\n"
	"and.b32 %hd_a, %hd_turn, 15;\n"
	"setp.eq.u32 %hd_p0, %hd_a, 0;\n"
	"@%hd_p0 bra $hd_s_poll;\n"
	"nanosleep.u32 " NAP_NS ";\n"
	"bra $hd_s_top;\n";

/* Runs a task's block that has as many warps as the master block. The executors run all warps of
 * that block except one. The scheduler's warp runs the remaining one, and schedules again when that
 * warp has ended. No other block can be placed meanwhile, so other rows wait.
 *
 * Without this, a block of 1,024 threads would need its own launch. Such a launch waits until the
 * pool leaves the GPU, and a trap in it ends the context.
 *
 * The scheduler's state goes to shared memory while its warp runs the body, so that bodies keep all
 * their registers. With this code the scheduler spills more registers, so the code is emitted only
 * on request (pass_pool.wide). */
static const char *const kept[] = {"%hd_seen", "%hd_mine", "%hd_next", "%hd_all", "%hd_info",
	"%hd_map", "%hd_bars", "%hd_cur", "%hd_last", "%hd_leave", "%hd_beat"};
_Static_assert(ARRAY_LEN(kept) == ARRAY_LEN(((struct task_shared *)0)->kept), "each");

static void put_wide(struct pass_writer *w)
{
	pass_put(w, "$hd_s_wide:\n"
		    "shl.b32 %hd_c, %hd_rec, 8;\n"
		    "or.b32 %hd_b, %hd_put, %hd_c;\n"
		    "or.b32 %hd_b, %hd_b, 0x80000000;\n"
		    "st.shared.u32 [%hd_s" Q_GO ", %hd_b;\n"
		    "st.shared.u64 [%hd_s" Q_SINCE ", %hd_t0;\n");
	for (unsigned i = 0; i < ARRAY_LEN(kept); i++)
		pass_emit(w, "st.shared.u32 [%%hd_w+%u], %s;\n", N_KEPT + 128 * i, kept[i]);
	pass_put(w, "mov.u32 %hd_w, %hd_s;\n"
		    "bra $hd_e_met;\n"
		    "$hd_s_back:\n"
		    "mov.u32 %hd_lane, %laneid;\n"
		    "mov.u32 %hd_s, hd_own;\n"
		    "shl.b32 %hd_w, %hd_lane, 2;\n"
		    "add.u32 %hd_w, %hd_w, %hd_s;\n"
		    "setp.lt.u32 %hd_row, %hd_lane, 31;\n"
		    "ld.shared.u64 %hd_t0, [%hd_s" Q_SINCE ";\n"
		    "ld.shared.u64 %hd_column, [%hd_s" Q_COLUMN ";\n"
		    "ld.shared.u64 %hd_own_at, [%hd_s" Q_MORE ";\n");
	pass_emit(w,
		"sub.u64 %%hd_own_at, %%hd_own_at, %zu;\n"
		"mad.wide.u32 %%hd_in, %%hd_lane, 1, %%hd_column;\n",
		sizeof(struct task_own));
	for (unsigned i = 0; i < ARRAY_LEN(kept); i++)
		pass_emit(w, "ld.shared.u32 %s, [%%hd_w+%u];\n", kept[i], N_KEPT + 128 * i);
	pass_put(w, "mov.u32 %hd_want, 0;\n"
		    "mov.u32 %hd_put, 0;\n"
		    "mov.u32 %hd_rec, 0;\n"
		    "mov.u32 %hd_turn, 0;\n"
		    "mov.u32 %hd_any, 1;\n"
		    "mov.u32 %hd_nap, 0;\n"
		    "mov.u32 %hd_looks, 0x80000000;\n"
		    "bra $hd_s_placed;\n");
}

/* ---- timestamps (optional) ---- Stamps that are taken before a task's end stay in shared memory,
 * in the part that otherwise only wide blocks use. The scheduler writes all stamps to the host
 * after the task's end. */

/* Emits a store of the time for a row. Uses %hd_d3 and %hd_f. */
void task_put_stamp(struct pass_writer *w, const char *guard, const char *row, size_t which)
{
	pass_emit(w,
		"mov.u64 %%hd_d3, %%globaltimer;\n"
		"mad.lo.u32 %%hd_f, %s, 24, %%hd_s;\n"
		"%sst.shared.u64 [%%hd_f+%zu], %%hd_d3;\n",
		row, guard, N_KEPT + which);
}

static void put_poll(struct pass_writer *w, const struct pass_pool *pool)
{
	pass_put(w, "$hd_s_poll:\n");
	put_look(w);
	pass_put(w, "setp.ne.u32 %hd_p1, %hd_i, %hd_seen;\n"
		    "and.pred %hd_p1, %hd_p1, %hd_row;\n"
		    "vote.sync.ballot.b32 %hd_m, %hd_p1, -1;\n"
		    "shfl.sync.idx.b32 %hd_n, %hd_i, 31" ALL "setp.eq.u32 %hd_p0, %hd_m, 0;\n"
		    "@%hd_p0 bra $hd_s_alive;\n"
		    "selp.b32 %hd_seen, %hd_i, %hd_seen, %hd_p1;\n"
		    "mov.u32 %hd_any, 1;\n");
	put_fetch(w, "$hd_s_fetched");
	if (pool->stamps)
		task_put_stamp(w, "@%hd_p1 ", "%hd_lane", offsetof(struct task_stamps, seen));
	/* The first poll that finds new rows begins their tasks, even if it also finds that the
	 * launch must leave. So each launch makes progress. */
	pass_put(w, "@%hd_p1 mov.u32 %hd_next, %hd_g;\n"
		    "setp.ge.s32 %hd_p0, %hd_looks, 0;\n"
		    "or.b32 %hd_looks, %hd_looks, 0x80000000;\n"
		    "@%hd_p0 bra $hd_s_stay;\n"
		    "$hd_s_alive:\n"
		    "bfi.b32 %hd_leave, %hd_n, %hd_leave, 0, 1;\n"
		    "$hd_s_stay:\n"
		    "add.u32 %hd_looks, %hd_looks, 1;\n"
		    "and.b32 %hd_a, %hd_looks, 15;\n"
		    "setp.ne.u32 %hd_p0, %hd_a, 0;\n"
		    /* reading the clock is slow, too, so only every 16th poll reads it */
		    "@%hd_p0 bra $hd_s_timed;\n"
		    "mov.u64 %hd_d0, %globaltimer;\n"
		    "setp.ne.u32 %hd_p0, %hd_n, %hd_beat;\n"
		    "mov.u32 %hd_beat, %hd_n;\n"
		    "selp.b64 %hd_t0, %hd_d0, %hd_t0, %hd_p0;\n"
		    "sub.u64 %hd_d1, %hd_d0, %hd_t0;\n"
		    "ld.param.u64 %hd_d2, " K_BEAT_NS ";\n"
		    "setp.gt.u64 %hd_p0, %hd_d1, %hd_d2;\n"
		    "setp.ne.and.u64 %hd_p0, %hd_d2, 0, %hd_p0;\n"
		    "selp.b32 %hd_a, 1, 0, %hd_p0;\n"
		    "bfi.b32 %hd_leave, %hd_a, %hd_leave, 1, 1;\n"
		    /* Lanes may have read different times, so lane 0 decides. */
		    "shfl.sync.idx.b32 %hd_leave, %hd_leave, 0" ALL "$hd_s_timed:\n"
		    "setp.ne.u32 %hd_p0, %hd_any, 0;\n"
		    "@%hd_p0 mov.u32 %hd_nap, 0;\n"
		    "@%hd_p0 bra $hd_s_top;\n"
		    "setp.ne.u32 %hd_p0, %hd_leave, 0;\n"
		    "@%hd_p0 bra $hd_s_leave;\n"
		    "$hd_s_nap:\n"
		    "add.u32 %hd_nap, %hd_nap, 1;\n"
		    "setp.lt.u32 %hd_p0, %hd_nap, " NAPS_SHORT ";\n");
	pass_emit(w, "selp.b32 %%hd_a, %u, " NAP_MAX ", %%hd_p0;\n",
		pool->nap_ns ? pool->nap_ns : NAP);
	pass_put(w, "nanosleep.u32 %hd_a;\n"
		    "bra $hd_s_top;\n");
}

/* Emits the scheduler's exit, which waits until all blocks that began have ended. */
static void put_leave(struct pass_writer *w)
{
	pass_put(w, "$hd_s_leave:\n"
		    "ld.acquire.cta.shared.u32 %hd_a, [%hd_w" Q_GO_1 ";\n"
		    "or.b32 %hd_a, %hd_a, %hd_info;\n"
		    "or.b32 %hd_a, %hd_a, %hd_want;\n"
		    "setp.ne.u32 %hd_p0, %hd_a, 0;\n"
		    "vote.sync.any.pred %hd_p0, %hd_p0, -1;\n"
		    "@%hd_p0 bra $hd_s_nap;\n"
		    "mov.u32 %hd_a, -1;\n"
		    "st.release.cta.shared.u32 [%hd_w" Q_GO_1 ", %hd_a;\n"
		    "mad.wide.u32 %hd_d0, %hd_lane, 4, %hd_own_at;\n"
		    /* true in the lane of a row whose task has only partly begun */
		    "setp.eq.u32 %hd_p0, %hd_lane, %hd_cur;\n"
		    "selp.b32 %hd_next, %hd_next, 0, %hd_p0;\n"
		    "st.global.u32 [%hd_d0], %hd_next;\n" WHOLE_WARP
		    "setp.ne.u32 %hd_p0, %hd_lane, 0;\n"
		    "@%hd_p0 bra $hd_s_left;\n"
		    "fence.acq_rel.sys;\n"
		    "ld.param.u32 %hd_a, " K_LAUNCH ";\n"
		    "shl.b32 %hd_a, %hd_a, 1;\n"
		    "or.b32 %hd_a, %hd_a, 1;\n"
		    "st.relaxed.sys.global.u32 [%hd_column" C_LAUNCH ", %hd_a;\n"
		    "$hd_s_left:\n"
		    "ret;\n");
}

void task_put_scheduler(struct pass_writer *w, const struct pass_pool *pool)
{
	_Static_assert(TASK_UNIT == 512 && TASK_ROWS == 31, "as written here");
	put_go_on(w);
	put_retire(w);
	put_pick(w);
	put_block(w);
	put_record(w);
	pass_put(w, find_free);
	if (pool->wide)
		pass_put(w, unless_wide);
	pass_put(w, give);
	if (pool->wide)
		pass_put(w, "@%hd_p2 bra $hd_s_wide;\n");
	pass_put(w, placed);
	if (pool->stamps)
		task_put_stamp(w, "", "%hd_cur", offsetof(struct task_stamps, placed));
	pass_put(w, go_on_placing);
	put_poll(w, pool);
	put_leave(w);
	if (pool->wide)
		put_wide(w);
}
