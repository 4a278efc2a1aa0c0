/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Symbols and operands. An operand refers to a register by its dense index in the function
 * (ptx_func.regs), not by a symbol, because data-flow analyses need dense indices. */
#ifndef HEDDLE_PTX_SYM_H
#define HEDDLE_PTX_SYM_H

#include "ptx/ops.h"

struct ptx_func;

enum ptx_sym_kind {
	PTX_SYM_REG, /* a single register, or a family %r<N> (count > 0) */
	/* variable in a state space: .global .const .shared .local .param (in a body) */
	PTX_SYM_VAR,
	PTX_SYM_PARAM, /* a formal parameter or return parameter of a function */
	PTX_SYM_LABEL,
	PTX_SYM_FUNC,
	/* .callprototype, .calltargets or .branchtargets: a label followed by this directive */
	PTX_SYM_PROTO,
};

struct ptx_sym {
	/* interned; for a register family, its prefix ("%r"). To rename a symbol everywhere, change
	 * name and name_len. */
	const char *name;
	uint32_t name_len;
	enum ptx_sym_kind kind;
	/* state space of a VAR or PARAM; PTX_REG for .reg parameters of device functions */
	enum ptx_space space;
	struct ptx_type type; /* element type and vector size */
	uint32_t count;       /* REG: size of the family; 0: a single register */
	uint32_t first_reg;   /* REG: index of its (first) register in func->regs */
	uint32_t align;       /* in bytes; 0: not specified */
	uint64_t bytes;       /* VAR, PARAM: size in bytes; 0 for an unsized .extern array */
	uint32_t line, col;
	uint16_t linkage; /* bit mask of PTX_EXTERN, PTX_VISIBLE, PTX_WEAK, PTX_COMMON */
	bool is_array;
	bool placed;      /* LABEL, PROTO: its definition is in a body */
	const char *decl; /* VAR, PARAM: text of the declaration without linkage and ';' */
	uint32_t name_at; /* offset of the name in decl; 0: print decl unchanged */
	/* length of the original name in decl; renaming does not change it */
	uint32_t decl_name_len;
	const char *init;        /* text of the initializer after '=', or NULL */
	bool redeclared;         /* FUNC: the module has several declarations of this function */
	struct ptx_func *func;   /* FUNC: the definition, or the first declaration */
	struct ptx_opd *targets; /* PROTO: operands of .branchtargets or .calltargets; NULL: none */
	uint32_t n_targets;
	uint32_t scope; /* used by the parser only: number of the scope that declares the symbol */
	/* used by the parser only: for a label, the symbol of the outer scope that it really is;
	 * for a register family, the outer family of the same prefix that it hides */
	struct ptx_sym *link;
};
enum { PTX_EXTERN = 1, PTX_VISIBLE = 2, PTX_WEAK = 4, PTX_COMMON = 8 };

enum ptx_opd_kind {
	PTX_OPD_REG, /* reg is an index in func->regs */
	/* integer constant or constant expression; value is set if it could be folded; without
	 * name, the text is the value in decimal */
	PTX_OPD_IMM,
	PTX_OPD_FLOAT, /* 0f…, 0d… or decimal; value contains the bits (f32 in the low half) */
	/* special register such as %tid.x, as name; value is its enum ptx_special */
	PTX_OPD_SPECIAL,
	PTX_OPD_SYM, /* variable, parameter, function or label by name (sym is NULL if unknown) */
	/* [base + offset]: list[0] is the base (REG, SYM or IMM), value is the offset; further list
	 * members are the other operands inside the brackets ([a, {x, y}]) */
	PTX_OPD_ADDR,
	PTX_OPD_VECTOR, /* {a, b, …} */
	PTX_OPD_TUPLE,  /* (a, b): arguments or results of a call */
	PTX_OPD_PAIR,   /* a|b */
	PTX_OPD_SINK,   /* _ */
	PTX_OPD_TEXT,   /* any other operand; `name` is its text */
};

struct ptx_opd {
	uint8_t kind;    /* enum ptx_opd_kind */
	uint8_t negated; /* '!' or '-' before a register, or 0 if there is none */
	/* component or sub-word after a register: 0 for none, 'x', 'y', 'z', 'w', …, or PTX_SEL_*;
	 * for PTX_SEL_TEXT, name is its text */
	uint8_t selector;
	uint8_t has_value;
	uint32_t n; /* number of list members */
	union {
		uint32_t reg;
		struct ptx_sym *sym;
		struct ptx_opd *list;
	};
	/* text as written (IMM, FLOAT, SPECIAL, SYM, TEXT); ADDR: the offset's text, or NULL */
	const char *name;
	uint64_t value; /* SYM with has_value: the operand is "name + value" */
};

enum ptx_selector {
	PTX_SEL_B0 = 1,
	PTX_SEL_B1,
	PTX_SEL_B2,
	PTX_SEL_B3,
	PTX_SEL_H0,
	PTX_SEL_H1,
	PTX_SEL_TEXT, /* for example "b7654" or "h10" */
};

#endif
