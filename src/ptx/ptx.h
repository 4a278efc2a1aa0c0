/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A PTX module in memory. Lossless: print(parse(x)) assembles to what x assembles to, whatever the
 * producer, the ISA version or the instruction: what is not understood keeps its text.
 *
 * Ownership: everything hangs on the module's arena; names are interned in its table, so equal
 * names are equal pointers. Statements are values in vectors: a pass writes a new body, it does not
 * edit in place. A module is not thread safe; different modules are independent. */
#ifndef HEDDLE_PTX_H
#define HEDDLE_PTX_H

#include "base/base.h"
#include "base/diag.h"
#include "ptx/ops.h"

enum ptx_sym_kind {
	PTX_SYM_REG, /* one register, or a family %r<N> (count > 0) */
	PTX_SYM_VAR, /* variable in a state space: .global .const .shared .local .param (in a body)
		      */
	PTX_SYM_PARAM, /* formal parameter or return parameter of a function */
	PTX_SYM_LABEL,
	PTX_SYM_FUNC,
	PTX_SYM_PROTO, /* .callprototype, .calltargets, .branchtargets: a label with a body */
};

struct ptx_sym {
	const char *name; /* interned; for a register family its prefix ("%r"). Renaming a symbol
			     renames it wherever it is printed; keep name_len right */
	uint32_t name_len;
	enum ptx_sym_kind kind;
	enum ptx_space space; /* of a VAR or PARAM; .reg parameters of device functions: PTX_REG */
	struct ptx_type type; /* element type, vector width */
	uint32_t count;       /* REG: family size, 0 for a single one */
	uint32_t first_reg;   /* REG: dense index of the (first) register in its function */
	uint32_t align;       /* bytes; 0: none written */
	uint64_t bytes;       /* VAR, PARAM: size; 0 for an unsized .extern array */
	uint32_t line, col;
	uint16_t linkage; /* PTX_EXTERN, PTX_VISIBLE, PTX_WEAK, PTX_COMMON bits */
	bool is_array;
	bool placed;             /* LABEL, PROTO: stands in a body */
	const char *decl;        /* VAR, PARAM: declaration as written, without linkage and ';' */
	uint32_t name_at;        /* where the name stands in decl; 0: decl is printed as it is */
	uint32_t decl_name_len;  /* its length there, which renaming does not change */
	const char *init;        /* initialiser text after '=', or NULL */
	struct ptx_func *func;   /* FUNC: the definition or first declaration */
	struct ptx_opd *targets; /* PROTO: operands of .branchtargets and .calltargets, else NULL */
	uint32_t n_targets;
	uint32_t scope;       /* the parser's: which scope it was declared in */
	struct ptx_sym *link; /* the parser's: a label found to be an outer scope's */
};
enum { PTX_EXTERN = 1, PTX_VISIBLE = 2, PTX_WEAK = 4, PTX_COMMON = 8 };

enum ptx_opd_kind {
	PTX_OPD_REG,   /* reg: dense index */
	PTX_OPD_IMM,   /* integer constant or constant expression; value when it could be folded */
	PTX_OPD_FLOAT, /* 0f…, 0d…, decimal; value holds the bits (f32 in the low half) */
	PTX_OPD_SPECIAL, /* %tid.x …: name, with special's number in value (enum ptx_special) */
	PTX_OPD_SYM, /* variable, parameter, function or label by name (sym may be NULL: unknown) */
	PTX_OPD_ADDR,   /* [base + offset]: list[0] is the base (REG, SYM or IMM), value the offset;
			   further list members are what follows inside the brackets ([a, {x, y}]) */
	PTX_OPD_VECTOR, /* {a, b, …} */
	PTX_OPD_TUPLE,  /* (a, b): call arguments and results */
	PTX_OPD_PAIR,   /* a|b */
	PTX_OPD_SINK,   /* _ */
	PTX_OPD_TEXT,   /* anything else, verbatim in name */
};

struct ptx_opd {
	uint8_t kind;     /* enum ptx_opd_kind */
	uint8_t negated;  /* '!' or '-' when written in front of a register, else 0 */
	uint8_t selector; /* component or sub-word after a register: 0, or 'x','y','z','w' …
			     PTX_SEL_*; PTX_SEL_TEXT: its text is in name */
	uint8_t has_value;
	uint32_t n; /* list members */
	union {
		uint32_t reg;
		struct ptx_sym *sym;
		struct ptx_opd *list;
	};
	const char *name; /* text as written (IMM, FLOAT, SPECIAL, SYM, TEXT); ADDR: offset's text
			     or NULL */
	uint64_t value;   /* SYM with has_value: "name + value" */
};

enum ptx_selector {
	PTX_SEL_B0 = 1,
	PTX_SEL_B1,
	PTX_SEL_B2,
	PTX_SEL_B3,
	PTX_SEL_H0,
	PTX_SEL_H1,
	PTX_SEL_TEXT, /* "b7654", "h10" */
};

enum ptx_stmt_kind {
	PTX_INSN,
	PTX_LABEL,     /* sym */
	PTX_DECL,      /* sym: .reg, .local, .shared, .param or .global declared in a body */
	PTX_OPEN,      /* { */
	PTX_CLOSE,     /* } */
	PTX_DIRECTIVE, /* .loc, .pragma, .callprototype … : text, verbatim; sym for PTX_SYM_PROTO,
			  else NULL */
};

struct ptx_stmt {
	uint8_t kind;
	uint8_t guard_negated;
	uint8_t n;      /* operands */
	uint32_t guard; /* predicate's dense register index, or PTX_NO_REG */
	uint32_t line, col;
	union {
		const struct ptx_mnem *mn; /* INSN: shared between equal mnemonics */
		struct ptx_sym *sym;
	};
	union {
		struct ptx_opd *opd; /* INSN */
		const char *text;    /* DIRECTIVE; INSN of an unknown shape: n == 0 and mn->op ==
					PTX_OP_RAW */
	};
};
#define PTX_NO_REG UINT32_MAX

typedef VEC(struct ptx_stmt) ptx_body;

struct ptx_reg {
	struct ptx_sym *sym;
	uint32_t number; /* within a family */
};

struct ptx_func {
	struct ptx_sym *sym;
	bool is_entry, has_body, is_noreturn;
	uint16_t linkage;
	VEC(struct ptx_sym *) rets;
	VEC(struct ptx_sym *) params;
	VEC(const char *) directives; /* ".maxntid 256, 1, 1" …, verbatim, in order */
	VEC(struct ptx_reg) regs;     /* dense register table; grows as passes declare more */
	VEC(struct ptx_sym *) syms;   /* all that its outermost scope declares, parameters first */
	const char *attributes;       /* ".attribute(…)" before the name, or NULL */
	ptx_body body;                /* without the outer braces */
	uint32_t line, end_line;
};

enum ptx_item_kind { PTX_ITEM_TEXT, PTX_ITEM_VAR, PTX_ITEM_FUNC };

struct ptx_item {
	enum ptx_item_kind kind;
	uint32_t line;
	union {
		const char *text;    /* .version, .target, .file, .pragma, .section …: verbatim */
		struct ptx_sym *sym; /* VAR */
		struct ptx_func *func; /* also declarations without a body */
	};
};

struct ptx_module {
	struct arena arena;
	struct strtab names;
	unsigned version;      /* 90 for 9.0 */
	const char *target;    /* "sm_90a, texmode_independent" as written */
	unsigned sm;           /* 90; suffix letters are in target */
	unsigned address_bits; /* 64 (32 is parsed, and refused by passes) */
	VEC(struct ptx_item) items;
	struct ptx_scope *globals; /* symbols at module level */
	struct ptx_mnem_tab *mnems;
	unsigned fresh; /* for names that passes ask for */
};

/* Reads text (need not be NUL-terminated). Errors go to diags, and parsing goes on at the next
 * statement. Returns 0 and the module, also when diags->errors is not 0 (then only good for tools
 * that report); -ENOMEM or -E2BIG (past limit_bytes of memory; 0: 64 times the text plus 16 MiB).
 */
int ptx_parse(const char *text, size_t len, size_t limit_bytes, struct diag_list *diags,
	struct ptx_module **ret);
void ptx_module_free(struct ptx_module *m);

void ptx_print(const struct ptx_module *m, struct strbuf *out);
void ptx_print_func(const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out);
void ptx_print_stmt(const struct ptx_func *f, const struct ptx_stmt *s, struct strbuf *out);

#include "ptx/edit.h"
#endif
