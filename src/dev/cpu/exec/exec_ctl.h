/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handlers that the decoder names directly (see matrix.h for those of matrices). The decoder looks
 * up the handlers of arithmetic, comparisons, conversions, loads and stores by name (vec_*.c). */
#ifndef HEDDLE_VGPU_EXEC_CTL_H
#define HEDDLE_VGPU_EXEC_CTL_H

#include "exec.h"

/* Reserved shared memory precedes the block's own shared memory, as on a GPU. The special registers
 * %reserved_smem_offset_* are an offset in it, or its size. Cooperative groups use some 288 bytes
 * at %reserved_smem_offset_1. */
#define VR_RESERVED_1 512u

/* exec_ctl.c */
vop_fn vop_join, vop_bra, vop_brx, vop_exit, vop_trap, vop_unknown, vop_missing, vop_call, vop_ret;
/* Handlers in exec_conv.c. For branches, table is an index in func->waits. */
vop_fn vop_part_bra, vop_part_brx, vop_part_call, vop_meet;
/* Handlers in exec_bar.c. a: barrier id; b: thread count or VX_NONE; c: predicate; d: result; op:
 * enum vbar_op. */
enum vbar_op { VBAR_SYNC, VBAR_ARRIVE, VBAR_POPC, VBAR_AND, VBAR_OR };
vop_fn vop_bar, vop_cluster_arrive, vop_cluster_wait;
/* Releases barriers that wait only for held lanes, when nothing else can run. */
bool vx_barriers_take_held(struct vx *x);
/* Operations of the handlers in exec_sync.c, stored in `op`. */
enum vsync_op {
	VS_SHFL_IDX,
	VS_SHFL_UP,
	VS_SHFL_DOWN,
	VS_SHFL_BFLY,
	VS_VOTE_ALL,
	VS_VOTE_ANY,
	VS_VOTE_UNI,
	VS_VOTE_BALLOT,
	VS_MATCH_ANY,
	VS_MATCH_ALL,
	VS_REDUX_ADD,
	VS_REDUX_MIN_U,
	VS_REDUX_MAX_U,
	VS_REDUX_MIN_S,
	VS_REDUX_MAX_S,
	VS_REDUX_AND,
	VS_REDUX_OR,
	VS_REDUX_XOR,
	VS_ELECT,
	VS_WARP_BAR,
};
vop_fn vop_sync, vop_activemask;
/* Computes the source lane of each lane of a shuffle, followed by the mask of lanes whose source is
 * in range. */
void vx_shfl_table(unsigned op, uint32_t b, uint32_t c, uint32_t ret[LANES + 1]);
/* Handlers in exec_misc.c: special registers (op: enum ptx_special), packing, time, fences. */
vop_fn vop_special, vop_nanosleep, vop_fence, vop_nop, vop_pack, vop_unpack, vop_isspacep, vop_cvta,
	vop_fns;
/* Operations of the handlers in exec_atom.c, stored in `op`. */
enum vatom_op {
	VA_ADD,
	VA_MIN,
	VA_MAX,
	VA_INC,
	VA_DEC,
	VA_AND,
	VA_OR,
	VA_XOR,
	VA_EXCH,
	VA_CAS,
};
vop_fn vop_atom;
/* Handlers in exec_weak.c, which replace the normal ones if memory is weak. */
vop_fn vop_ld_weak, vop_st_weak, vop_atom_weak, vop_fence_weak;
/* Performs a release and an acquire if memory is weak, before accesses that go directly to
 * memory. */
void vx_weak_all(struct vx *x);
static inline void vx_weak_sync(struct vx *x)
{
	if (x->b->weak)
		vx_weak_all(x);
}
/* Handlers in exec_async.c: copies, which are done at once, and mbarriers. */
vop_fn vop_cp_async, vop_mbar_init, vop_mbar_inval, vop_mbar_arrive, vop_mbar_wait, vop_mbar_expect,
	vop_mbar_pending;
/* Bulk copy. b: source address (op: its state space); c: bytes; table: the mbarrier on which the
 * bytes complete, or VX_NONE. */
vop_fn vop_bulk;
/* Operand b is the rank. */
vop_fn vop_mapa;
/* Handlers in exec_tex.c. op: enum vtex_op; c of surface operations: enum vtex_outside; size of
 * gathers: the channel. */
enum vtex_op { VT_SAMPLE, VT_FETCH, VT_GATHER, VT_LOAD, VT_STORE };
enum vtex_outside { VT_TRAP, VT_CLAMP, VT_ZERO };
vop_fn vop_tex, vop_surf;
/* Operations of the handlers in exec_video.c, stored in `op`. */
enum vvideo_op { VV_PACKED, VV_SATURATED, VV_ADDED };
vop_fn vop_absdiff;
/* Handlers in exec_print.c: functions that the driver provides to kernels. */
vop_fn vop_vprintf, vop_assertfail, vop_malloc, vop_free;

#endif
