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
#include "ptx/sym.h"

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
	bool no_param_list; /* not even "()" was written */
	uint16_t linkage;
	VEC(struct ptx_sym *) rets;
	VEC(struct ptx_sym *) params;
	VEC(const char *) directives; /* ".maxntid 256, 1, 1" …, verbatim, in order */
	VEC(struct ptx_reg) regs;     /* dense register table; grows as passes declare more */
	VEC(struct ptx_sym *) syms;   /* all that its outermost scope declares, parameters first */
	const char *attributes;       /* ".attribute(…)" before the name, or NULL */
	ptx_body body;                /* without the outer braces */
	uint32_t line, body_line, end_line; /* body_line: of the opening brace */
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
	unsigned version;      /* 90 for 9.0 */
	const char *target;    /* "sm_90a, texmode_independent" as written */
	unsigned sm;           /* 90; suffix letters are in target */
	unsigned address_bits; /* 64 (32 is parsed, and refused by passes) */
	VEC(struct ptx_item) items;
	struct ptx_scope *globals; /* the table of names, and what they mean */
	unsigned fresh;            /* for names that passes ask for */
};

/* Reads text (need not be NUL-terminated). Errors go to diags, and parsing goes on at the next
 * statement. Returns 0 and the module, also when diags->errors is not 0 (then only good for tools
 * that report); -ENOMEM or -E2BIG (past limit_bytes of memory; 0: 64 times the text plus 16 MiB).
 */
int ptx_parse(const char *text, size_t len, size_t limit_bytes, struct diag_list *diags,
	struct ptx_module **ret);
void ptx_module_free(struct ptx_module *m);

void ptx_print(const struct ptx_module *m, struct strbuf *out);
/* The line of the source that each line of the text stood in, from the first; 0: in none, as what a
 * pass added. Of several sources, which one, from 1, is in the bits above. */
#define PTX_LINE_BITS 28
#define PTX_LINE_MASK ((1u << PTX_LINE_BITS) - 1)
typedef VEC(uint32_t) ptx_lines;
void ptx_print_lines(const struct ptx_module *m, struct strbuf *out, ptx_lines *ret);
/* The same of a large module: whenever out holds some more, emit is to empty it. */
void ptx_print_by(
	const struct ptx_module *m, struct strbuf *out, void (*emit)(void *user), void *user);
void ptx_print_func(const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out);
void ptx_print_func_lines(const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out,
	ptx_lines *ret_lines);
void ptx_print_stmt(const struct ptx_func *f, const struct ptx_stmt *s, struct strbuf *out);

#include "ptx/edit.h"
#endif
