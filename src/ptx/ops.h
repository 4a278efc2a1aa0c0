/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Instructions: one table (ops.def) drives parser, printer, checker and interpreter.
 * A mnemonic ("ld.relaxed.gpu.global.v2.u32") is taken apart once per module and shared by all
 * statements that have it. */
#ifndef HEDDLE_PTX_OPS_H
#define HEDDLE_PTX_OPS_H

#include "base/base.h"

enum ptx_op {
	PTX_OP_RAW, /* not in the table: mnemonic and operands are kept */
#define OP(name, ...) PTX_OP_##name,
#include "ptx/ops.def"
#undef OP
	PTX_OP_COUNT
};

enum ptx_base_type {
	PTX_NOTYPE,
	PTX_U8,
	PTX_U16,
	PTX_U32,
	PTX_U64,
	PTX_S8,
	PTX_S16,
	PTX_S32,
	PTX_S64,
	PTX_B8,
	PTX_B16,
	PTX_B32,
	PTX_B64,
	PTX_B128,
	PTX_F16,
	PTX_F16X2,
	PTX_BF16,
	PTX_BF16X2,
	PTX_TF32,
	PTX_F32,
	PTX_F64,
	PTX_PRED,
	PTX_OTHER_TYPE, /* e4m3, u16x2, texref …: its text is in the mnemonic */
};
struct ptx_type {
	uint8_t base; /* enum ptx_base_type */
	uint8_t vec;  /* 1, 2, 4 (8 on new targets) */
};
unsigned ptx_type_bytes(uint8_t base); /* 0 for predicates and others */

enum ptx_space {
	PTX_GENERIC,
	PTX_REG,
	PTX_GLOBAL,
	PTX_CONST,
	PTX_SHARED,
	PTX_LOCAL,
	PTX_PARAM,
	PTX_TEX,
};

/* What a pass must know of an instruction; the op's flags from the table, plus the mnemonic's. */
enum ptx_insn_flag {
	PTX_F_BRANCH = 1 << 0, /* bra, brx */
	PTX_F_EXIT = 1 << 1,   /* ret, exit, trap: ends the thread or the function */
	PTX_F_CALL = 1 << 2,
	PTX_F_BARRIER = 1 << 3,    /* block barriers: bar*, barrier* (not bar.warp) */
	PTX_F_CONVERGENT = 1 << 4, /* must not gain or lose control dependences */
	PTX_F_WARP_SYNC =
		1 << 5, /* waits for lanes: shfl.sync, vote.sync, match, bar.warp, redux … */
	PTX_F_READS_MEM = 1 << 6,
	PTX_F_WRITES_MEM = 1 << 7,
	PTX_F_ATOMIC = 1 << 8,
	PTX_F_VOLATILE =
		1 << 9, /* volatile, relaxed, acquire, release, atomics: observed by others */
	PTX_F_FENCE = 1 << 10,
	PTX_F_ASYNC = 1 << 11, /* cp.async, bulk copies, mbarrier */
	PTX_F_GRID = 1 << 12, /* whole-grid or cluster meaning: griddepcontrol, barrier.cluster … */
	PTX_F_NO_DEST = 1 << 13,     /* first operand is not written */
	PTX_F_SIDE_EFFECT = 1 << 14, /* must stay even if its result is unused */
	PTX_F_UNKNOWN = 1 << 15, /* not in the table, or in a form the table does not describe */
};

struct ptx_op_info {
	const char *name;  /* "ld" */
	const char *shape; /* operands: 'd' written, 's' read, 'b' both, 'a' address, 'l' label,
			      'c' call tuple, 'x' other; lower-case '?' after one: optional */
	uint32_t flags;
};
extern const struct ptx_op_info ptx_ops[PTX_OP_COUNT];

enum ptx_cmp {
	PTX_CMP_NONE,
	PTX_EQ,
	PTX_NE,
	PTX_LT,
	PTX_LE,
	PTX_GT,
	PTX_GE,
	PTX_LO,
	PTX_LS,
	PTX_HI,
	PTX_HS,
	PTX_EQU,
	PTX_NEU,
	PTX_LTU,
	PTX_LEU,
	PTX_GTU,
	PTX_GEU,
	PTX_NUM,
	PTX_NAN,
};

struct ptx_mnem {
	const char *text; /* whole, interned */
	enum ptx_op op;
	uint32_t flags;  /* enum ptx_insn_flag */
	uint8_t type[4]; /* base types in the order written: cvt.f32.s32 is {F32, S32} */
	uint8_t n_types;
	uint8_t vec;   /* 1, 2, 4, 8 */
	uint8_t space; /* enum ptx_space; ::cta and the like are in mods */
	uint8_t cmp;   /* enum ptx_cmp */
	uint8_t n_mods;
	const char *mods[12]; /* every part after the op name, interned, in order, types included */
};
/* Whether a part ("rn", "ftz", "wide", "sync") was written. Compares text. */
bool ptx_has_mod(const struct ptx_mnem *mn, const char *mod);

enum ptx_special {
	PTX_SR_UNKNOWN,
	PTX_SR_TID_X,
	PTX_SR_TID_Y,
	PTX_SR_TID_Z,
	PTX_SR_TID, /* bare: the vector form */
	PTX_SR_NTID_X,
	PTX_SR_NTID_Y,
	PTX_SR_NTID_Z,
	PTX_SR_NTID,
	PTX_SR_CTAID_X,
	PTX_SR_CTAID_Y,
	PTX_SR_CTAID_Z,
	PTX_SR_CTAID,
	PTX_SR_NCTAID_X,
	PTX_SR_NCTAID_Y,
	PTX_SR_NCTAID_Z,
	PTX_SR_NCTAID,
	PTX_SR_LANEID,
	PTX_SR_WARPID,
	PTX_SR_NWARPID,
	PTX_SR_SMID,
	PTX_SR_NSMID,
	PTX_SR_GRIDID,
	PTX_SR_CLOCK,
	PTX_SR_CLOCK_HI,
	PTX_SR_CLOCK64,
	PTX_SR_GLOBALTIMER,
	PTX_SR_GLOBALTIMER_LO,
	PTX_SR_GLOBALTIMER_HI,
	PTX_SR_LANEMASK_EQ,
	PTX_SR_LANEMASK_LT,
	PTX_SR_LANEMASK_LE,
	PTX_SR_LANEMASK_GT,
	PTX_SR_LANEMASK_GE,
	PTX_SR_DYNAMIC_SMEM,
	PTX_SR_TOTAL_SMEM,
	PTX_SR_ENVREG,
	PTX_SR_COUNT
};

#endif
