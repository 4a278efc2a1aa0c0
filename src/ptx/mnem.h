/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A parsed mnemonic: "setp.lt.and.s32" is op setp, comparison lt, types {s32}, parts {lt, and,
 * s32}. Each distinct text of a module is parsed once. Statements share the result, which never
 * changes, so its address may be compared. */
#ifndef HEDDLE_PTX_MNEM_H
#define HEDDLE_PTX_MNEM_H

#ifndef HEDDLE_PTX_OPS_H
#error "include ptx/ops.h"
#endif

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
	uint32_t text_len;
	uint32_t flags;    /* enum ptx_insn_flag */
	const char *shape; /* operands of this form: the op's, except for "bar.red" and the like */
	enum ptx_op op;
	uint8_t type[4]; /* base types in text order: cvt.f32.s32 is {F32, S32} */
	uint8_t n_types;
	uint8_t vec;      /* 1, 2, 4, 8 */
	uint8_t space;    /* enum ptx_space; ::cta and the like are in mods */
	uint8_t cmp;      /* enum ptx_cmp */
	uint8_t unit;     /* enum ptx_unit: the unit that executes this form */
	uint8_t n_needed; /* least number of operands */
	uint8_t n_mods;
	const char *mods[16]; /* every part after the first one, interned, in order, types included
				 ("bar.warp.sync": warp, sync) */
};
/* Whether a part ("rn", "ftz", "wide", "sync") was written. Compares text. */
bool ptx_has_mod(const struct ptx_mnem *mn, const char *mod);

struct ptx_module;
/* The mnemonic of a text, parsed if it is new. NULL: out of memory. */
const struct ptx_mnem *ptx_get_mnem(struct ptx_module *m, const char *text);

#endif
