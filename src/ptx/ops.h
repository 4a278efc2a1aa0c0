/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Instructions. One table (ops.def) drives the parser, printer, checker and interpreter. Each
 * distinct mnemonic of a module ("ld.relaxed.gpu.global.v2.u32") is split into its parts once, and
 * all statements that use it share the result. */
#ifndef HEDDLE_PTX_OPS_H
#define HEDDLE_PTX_OPS_H

#include "base/base.h"

enum ptx_op {
	PTX_OP_RAW, /* not in ops.def; mnemonic and operands are stored as text */
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
	PTX_OTHER_TYPE, /* e4m3, u16x2, texref ...: the mnemonic contains the name */
};
struct ptx_type {
	uint8_t base; /* enum ptx_base_type */
	uint8_t vec;  /* vector size: 1, 2 or 4 (or 8 on new targets) */
};
bool ptx_is_plain_integer(uint8_t base);  /* of 32 or 64 bits */
unsigned ptx_type_bytes(uint8_t base);    /* 0 for predicates and PTX_OTHER_TYPE */
const char *ptx_type_name(unsigned base); /* for example "u32"; "" for no type and PTX_OTHER_TYPE */

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

/* Properties of an instruction that passes need. They combine the op's flags from ops.def with
 * flags from the mnemonic's other parts. */
enum ptx_insn_flag {
	PTX_F_BRANCH = 1 << 0, /* bra, brx */
	PTX_F_EXIT = 1 << 1,   /* ends the thread or returns: ret, exit, trap */
	PTX_F_CALL = 1 << 2,
	PTX_F_BARRIER = 1 << 3,    /* block barriers: bar, barrier (but not bar.warp) */
	PTX_F_CONVERGENT = 1 << 4, /* must not gain or lose control dependences */
	PTX_F_WARP_SYNC =
		1 << 5, /* waits for other lanes: shfl.sync, vote.sync, match, bar.warp, redux … */
	PTX_F_READS_MEM = 1 << 6,
	PTX_F_WRITES_MEM = 1 << 7,
	PTX_F_ATOMIC = 1 << 8,
	PTX_F_VOLATILE =
		/* volatile, relaxed, acquire, release, atomics: other threads can observe the
		 * access */
	1 << 9,
	PTX_F_FENCE = 1 << 10,
	PTX_F_ASYNC = 1 << 11, /* asynchronous: cp.async, bulk copies, mbarrier */
	/* affects the whole grid or cluster: griddepcontrol, barrier.cluster … */
	PTX_F_GRID = 1 << 12,
	PTX_F_NO_DEST = 1 << 13,     /* the first operand is not written */
	PTX_F_SIDE_EFFECT = 1 << 14, /* must be kept even if its result is unused */
	PTX_F_UNKNOWN = 1 << 15,   /* not in ops.def, or in a form that ops.def does not describe */
	PTX_F_READS_CC = 1 << 16,  /* addc, subc, madc: read the carry flag */
	PTX_F_WRITES_CC = 1 << 17, /* .cc */
};

/* The pipe of an SM that executes an instruction; each pipe has its own rate and latency. ops.def
 * gives the unit of an op's common form. struct ptx_mnem gives the unit for the types in use. */
enum ptx_unit {
	PTX_UNIT_NONE,   /* unknown */
	PTX_UNIT_ALU,    /* logic, comparisons, integer additions, moves */
	PTX_UNIT_FMA,    /* multiplications and float additions */
	PTX_UNIT_HALF,   /* f16 and bf16; determined by the type */
	PTX_UNIT_DOUBLE, /* f64; determined by the type */
	PTX_UNIT_SFU,    /* approximate functions */
	PTX_UNIT_DIV,    /* no unit: division and remainder are instruction sequences */
	PTX_UNIT_CVT,    /* conversions and bit counts, at a quarter of the usual rate */
	PTX_UNIT_VIDEO,  /* no unit: video instructions are sequences on most architectures */
	PTX_UNIT_LSU,    /* memory accesses, and shuffles, which use the same crossbar */
	PTX_UNIT_TEX,
	PTX_UNIT_TENSOR,
	PTX_UNIT_WARP, /* votes and similar */
	PTX_UNIT_CTL,  /* branches, barriers */
	PTX_UNIT_COUNT
};

struct ptx_op_info {
	const char *name; /* name in the enum: "ld", "bar_warp" */
	/* one letter per operand: 'd' written, 's' read, 'b' both written and read, 'a' address,
	 * 'l' label, 'c' parenthesized operands of a call, 'x' other; '?' after a letter marks an
	 * optional operand */
	const char *shape;
	uint8_t unit; /* enum ptx_unit */
	uint32_t flags;
};
extern const struct ptx_op_info ptx_ops[PTX_OP_COUNT];

#include "ptx/mnem.h"
#include "ptx/special.h"

#endif
