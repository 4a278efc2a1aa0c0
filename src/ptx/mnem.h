/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A parsed mnemonic: "setp.lt.and.s32" is op setp, comparison lt, types {s32}, parts {lt, and,
 * s32}. Each distinct mnemonic of a module is parsed once, and all statements share the result. It
 * never changes, so two mnemonics are equal if their addresses are equal. */
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
	const char *text; /* the whole mnemonic, interned */
	uint32_t text_len;
	uint32_t flags; /* enum ptx_insn_flag */
	/* operands of this form, as in struct ptx_op_info; differs from the op's for "bar.red" and
	 * similar */
	const char *shape;
	enum ptx_op op;
	uint8_t type[4]; /* base types in the order of the text: cvt.f32.s32 has {F32, S32} */
	uint8_t n_types;
	uint8_t vec;      /* vector size: 1, 2, 4 or 8 */
	uint8_t space;    /* enum ptx_space; suffixes such as ::cta are in mods */
	uint8_t cmp;      /* enum ptx_cmp */
	uint8_t unit;     /* enum ptx_unit: unit that executes the instruction with these types */
	uint8_t n_needed; /* minimum number of operands */
	uint8_t n_mods;
	/* all parts after the first one, including types, interned, in order ("bar.warp.sync":
	 * warp, sync) */
	const char *mods[16];
};
/* Returns true if the mnemonic contains the part mod ("rn", "ftz", "wide", "sync"). Compares
 * text. */
bool ptx_has_mod(const struct ptx_mnem *mn, const char *mod);

struct ptx_module;
/* Returns the parsed mnemonic for a text, which is parsed if it is new. NULL if out of memory. */
const struct ptx_mnem *ptx_get_mnem(struct ptx_module *m, const char *text);

#endif
