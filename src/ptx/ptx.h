/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A PTX module in memory. Parsing and printing a module loses nothing: print(parse(x)) assembles to
 * the same code as x, for any producer and ISA version. Unknown instructions and directives are
 * stored as text.
 *
 * Ownership: the module owns all memory, most of it in its arena. Names are interned, so equal
 * names are equal pointers. Statements are values in vectors: a pass writes a new body instead of
 * editing the old one. A module is not thread safe; different modules are independent. */
#ifndef HEDDLE_PTX_H
#define HEDDLE_PTX_H

#include "base/base.h"
#include "base/diag.h"
#include "ptx/ops.h"
#include "ptx/sym.h"

enum ptx_stmt_kind {
	PTX_INSN,
	PTX_LABEL, /* sym */
	/* declaration of a register or variable in a body (.reg, .local, .shared, .param or
	 * .global); the statement's field sym is its symbol */
	PTX_DECL,
	PTX_OPEN,  /* { */
	PTX_CLOSE, /* } */
	/* .loc, .pragma, .callprototype …, verbatim in text; sym is set for PTX_SYM_PROTO, else
	 * NULL */
	PTX_DIRECTIVE,
};

struct ptx_stmt {
	uint8_t kind;
	uint8_t guard_negated;
	uint8_t n;      /* number of operands */
	uint32_t guard; /* index of the predicate register in func->regs, or PTX_NO_REG */
	uint32_t line, col;
	union {
		/* INSN: shared by all statements with the same mnemonic */
		const struct ptx_mnem *mn;
		struct ptx_sym *sym;
	};
	union {
		struct ptx_opd *opd; /* INSN */
		/* DIRECTIVE, or INSN of an unknown form, for which n is 0 and mn->op is
		 * PTX_OP_RAW */
		const char *text;
	};
};
#define PTX_NO_REG UINT32_MAX

typedef VEC(struct ptx_stmt) ptx_body;

struct ptx_reg {
	struct ptx_sym *sym;
	uint32_t number; /* number within its register family */
};

struct ptx_func {
	struct ptx_sym *sym;
	bool is_entry, has_body, is_noreturn;
	bool no_param_list; /* there is no parameter list, not even an empty one */
	uint16_t linkage;
	VEC(struct ptx_sym *) rets;
	VEC(struct ptx_sym *) params;
	/* directives such as ".maxntid 256, 1, 1", unchanged, in order */
	VEC(const char *) directives;
	VEC(struct ptx_reg) regs;   /* all registers; passes can add more */
	VEC(struct ptx_sym *) syms; /* all symbols of the outermost scope, parameters first */
	const char *attributes;     /* ".attribute(...)" that precedes the name, or NULL */
	ptx_body body;              /* without the outer braces */
	uint32_t line, body_line, end_line; /* body_line: line of the opening brace */
};

enum ptx_item_kind { PTX_ITEM_TEXT, PTX_ITEM_VAR, PTX_ITEM_FUNC };

struct ptx_item {
	enum ptx_item_kind kind;
	uint32_t line;
	union {
		/* TEXT: .version, .target, .file, .pragma, .section ..., unchanged */
		const char *text;
		struct ptx_sym *sym;   /* VAR */
		struct ptx_func *func; /* FUNC: a function, possibly a declaration without a body */
	};
};

struct ptx_module {
	struct arena arena;
	unsigned version;      /* for example, 90 for 9.0 */
	const char *target;    /* text after .target, such as "sm_90a, texmode_independent" */
	unsigned sm;           /* number in the target: 90 for sm_90a */
	unsigned address_bits; /* 64, or 32, which the parser accepts but passes refuse */
	VEC(struct ptx_item) items;
	struct ptx_scope *globals; /* table of all names, with their current meanings */
	unsigned fresh;            /* next number for the fresh names that passes request */
};

/* Parses `text`, which need not be NUL-terminated. After an error, which is added to diags, parsing
 * continues at the next statement. Returns:
 * - 0 and the module, even if diags->errors is not 0. Only tools that report errors may use such a
 *   module.
 * - -ENOMEM
 * - -E2BIG if the text is 2 GiB or longer, or the module needs more than limit_bytes of memory. A
 *   limit of 0 means 64 times the text's length plus 16 MiB. */
int ptx_parse(const char *text, size_t len, size_t limit_bytes, struct diag_list *diags,
	struct ptx_module **ret);
void ptx_module_free(struct ptx_module *m);

void ptx_print(const struct ptx_module *m, struct strbuf *out);
/* For each line of printed text, from the first: the source line that it comes from, or 0 if a pass
 * added it. If the text combines several sources, the bits above PTX_LINE_BITS contain the source's
 * number, from 1. */
#define PTX_LINE_BITS 28
#define PTX_LINE_MASK ((1u << PTX_LINE_BITS) - 1)
typedef VEC(uint32_t) ptx_lines;
void ptx_print_lines(const struct ptx_module *m, struct strbuf *out, ptx_lines *ret);
/* Prints a large module in pieces: calls emit when out holds enough text, and emit must empty
 * out. */
void ptx_print_by(
	const struct ptx_module *m, struct strbuf *out, void (*emit)(void *user), void *user);
void ptx_print_func(const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out);
void ptx_print_func_lines(const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out,
	ptx_lines *ret_lines);
void ptx_print_stmt(const struct ptx_func *f, const struct ptx_stmt *s, struct strbuf *out);

enum ptx_number_kind { PTX_NUM_UNREAD, PTX_NUM_NONE, PTX_NUM_INT, PTX_NUM_FLOAT };
/* Reads the text of one number without a sign: the value of an integer, or the bits of a float. They
 * are those of an .f32 after 0f, else those of an .f64. Returns PTX_NUM_NONE if it is no number. */
enum ptx_number_kind ptx_read_number(const char *s, size_t len, uint64_t *ret_value);

#include "ptx/edit.h"
#endif
