/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The parts of machine code: kinds of operands, modifiers, special registers. There are three
 * headers: insn.h has the parts of an instruction, code.h a decoded module, and sass.h the
 * blocks that run it. Names are nvdisasm's. */
#ifndef HEDDLE_TEST_SASS_INSN_H
#define HEDDLE_TEST_SASS_INSN_H

#include "dev/cpu/vgpu.h"

#include <stdatomic.h>
#include <string.h>

#define LANES   32
#define RZ      255
#define URZ     63
#define PT      7
#define MAX_OPD 9
/* The device reserves the first KiB of shared memory. */
#define SHARED_RESERVED 1024u
#define CODE_BASE       0x0002000000000000ull
#define CODE_SECTION    0x1000000ull
#define BUILTIN_BASE    0x0003000000000000ull

enum sass_opd_kind {
	O_NONE,
	O_REG,
	O_UREG,
	O_PRED,
	O_UPRED,
	O_IMM,
	O_FLOAT,
	O_CONST, /* c[bank][reg + ureg + imm] */
	O_MEM,   /* [reg + ureg + imm] */
	O_LABEL, /* imm: code address */
	O_SPECIAL,
	O_BARRIER,   /* B0 to B15 */
	O_ALL_PREDS, /* PR; wide: UPR */
	O_OTHER,
};

struct sass_opd {
	uint8_t kind, reg, ureg, half; /* half: 1: .H0_H0, 2: .H1_H1, 3: explicit .H0_H1 */
	bool neg, abs, inv, wide;      /* inv: ! or ~; wide: the address register is a pair */
	uint8_t bank, scale;
	int64_t imm; /* of O_SPECIAL: enum sass_special */
	double f;
};

enum sass_mod {
#define X(m) M_##m,
#include "mods.def"
#undef X
	M_COUNT,
};
_Static_assert(M_COUNT <= 192, "three words of modifiers");

enum sass_special {
	SR_TID_X,
	SR_TID_Y,
	SR_TID_Z,
	SR_CTAID_X,
	SR_CTAID_Y,
	SR_CTAID_Z,
	SR_LANEID,
	SR_CGACTAID,
	SR_EQMASK,
	SR_LTMASK,
	SR_LEMASK,
	SR_GTMASK,
	SR_GEMASK,
	SR_GLOBALTIMERLO,
	SR_GLOBALTIMERHI,
	SR_CLOCKLO,
	SR_CLOCKHI,
	SR_SWINHI,
	SR_VIRTUALSMID,
	SR_VIRTID,
	SR_SRZ,
	SR_COUNT,
};

#endif
