/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Inside the front end: the name table with its scopes, and the parser's state.
 *
 * One hash lookup an identifier: every distinct text of a module (names, numbers, register
 * prefixes) has one struct ptx_name, which holds what the text means right now. Opening a scope
 * marks the undo log, closing it restores what the scope's declarations hid. */
#ifndef HEDDLE_PTX_PARSE_H
#define HEDDLE_PTX_PARSE_H

#include "base/base.h"
#include "base/diag.h"
#include "ptx/ptx.h"

#include <setjmp.h>

#define PTX_MAX_DEPTH    200        /* nested scopes; deeper ones are an error, and keep no names */
#define PTX_MAX_FAMILY   (1u << 22) /* registers in one declaration */
#define PTX_MAX_OPERANDS 64         /* of one instruction, at the top level */

enum ptx_number_kind { PTX_NUM_UNREAD, PTX_NUM_NONE, PTX_NUM_INT, PTX_NUM_FLOAT };

struct ptx_name {
	const char *text; /* interned in the module's table */
	uint32_t len, hash;
	struct ptx_sym *local;  /* innermost meaning inside the function being read */
	struct ptx_sym *global; /* meaning at module level */
	struct ptx_sym *family; /* innermost register family with this prefix */
	bool has_singles;       /* a single register was named so plus digits: look twice */
	uint8_t number;         /* enum ptx_number_kind; value is read once per distinct text */
	uint8_t special;        /* enum ptx_special + 1; 0: not looked up yet */
	uint64_t value;
};

struct ptx_undo {
	struct ptx_name *name;
	struct ptx_sym *hidden;
	bool family;
};

/* Prefixes of register families are few and short: found by their bytes. */
struct ptx_prefix_slot {
	uint64_t key;
	struct ptx_name *name;
};

struct ptx_scope {
	struct ptx_name **slots;
	size_t len, cap;
	VEC(struct ptx_undo) undo;
	VEC(size_t) marks; /* undo.len at each open scope */
	VEC(uint32_t) ids; /* number of each open scope */
	uint32_t last_id;
	VEC(struct ptx_opd *) fixups; /* operands that name labels not placed yet */
	struct ptx_func *bound;       /* whose outermost scope is open */
	struct ptx_prefix_slot prefixes[64];
	bool plain_families; /* a family without '%' exists: try every identifier */
	bool digit_families; /* a family whose prefix ends in a digit exists: try all splits */
};

struct ptx_mnem_tab {
	struct ptx_mnem_slot {
		const struct ptx_mnem *mn;
		uint32_t hash;
		bool raw; /* the same text, for a statement kept as text */
	} * slots;
	size_t len, cap;
};

struct ptx_parser {
	struct ptx_module *m;
	struct ptx_scope *names;
	struct diag_list *diags;
	const char *s, *end; /* *end is 0, and eight more bytes may be read */
	const char *line_start;
	uint32_t line;
	struct ptx_func *f;
	ptx_body *body;
	unsigned depth;  /* braces open within the function */
	bool is_snippet; /* ptx_append: labels may stay open, statements have no line */
	bool is_unknown; /* the statement's op is not in the table: nothing in it is an error */
	unsigned opd_depth;
	bool label_pending;        /* an operand of this statement names a label not placed yet */
	size_t limit_bytes;        /* for what lies outside the arena */
	VEC(struct ptx_opd) stack; /* operands of the statement being read */
	struct ptx_sym *param;     /* what a snippet that is a parameter declared */
	int error;                 /* what escape was taken for */
	jmp_buf escape;
};

/* names.c */
int ptx_names_init(struct ptx_module *m);
void ptx_names_free(struct ptx_module *m);
uint32_t ptx_hash(const char *s, size_t len); /* eight bytes behind s + len must be readable */
/* NULL: out of memory. */
struct ptx_name *ptx_name_get(struct ptx_module *m, const char *s, size_t len);
struct ptx_sym *ptx_sym_new(struct ptx_module *m, enum ptx_sym_kind kind, const struct ptx_name *n);
int ptx_scope_open(struct ptx_scope *sc);
/* Labels of the closed scope that have no place go to the one outside, and to f's symbols when that
 * is its outermost. */
int ptx_scope_close(struct ptx_scope *sc, struct ptx_func *f);
uint32_t ptx_scope_id(const struct ptx_scope *sc);
/* -EEXIST: the innermost scope has it already; -ENOMEM. */
int ptx_bind(struct ptx_scope *sc, struct ptx_name *n, struct ptx_sym *sym);
int ptx_bind_family(struct ptx_scope *sc, struct ptx_name *n, struct ptx_sym *sym);
int ptx_bind_reg(struct ptx_module *m, struct ptx_name *n, struct ptx_sym *sym);
int ptx_bind_again(struct ptx_module *m, struct ptx_sym *sym);
int ptx_bind_outermost(struct ptx_module *m, struct ptx_sym *sym);
int ptx_bind_func(struct ptx_module *m, struct ptx_func *f); /* opens f's outermost scope */
void ptx_unbind_func(struct ptx_module *m);
bool ptx_find_reg(struct ptx_module *m, const char *s, size_t len, uint32_t *ret_reg);
int ptx_declare_regs(struct ptx_module *m, struct ptx_func *f, struct ptx_sym *sym);

/* mnem.c */
uint8_t ptx_type_from_name(const char *s, size_t len);
struct ptx_mnem *ptx_make_mnem(struct ptx_module *m, const char *text, size_t len, bool raw);
const struct ptx_mnem *ptx_mnem_for(struct ptx_module *m, const char *s, size_t len, bool raw);

/* parse*.c */
_Noreturn void ptx_give_up(struct ptx_parser *p, int error);
void ptx_error(struct ptx_parser *p, const char *at, size_t span, const char *fmt, ...)
	HD_PRINTF(4, 5);
void ptx_skip_statement(struct ptx_parser *p);
void ptx_check_memory(struct ptx_parser *p, size_t more);
const char *ptx_clean_text(struct ptx_parser *p, const char *from, const char *to);
struct ptx_name *ptx_name_at(struct ptx_parser *p, const char *s, size_t len);
int ptx_module_new(size_t limit_bytes, struct ptx_module **ret);
void ptx_parser_init(struct ptx_parser *p, struct ptx_module *m, struct diag_list *diags,
	const char *text, size_t len);
void ptx_parser_finish(struct ptx_parser *p);
void ptx_parse_body(struct ptx_parser *p); /* to the closing brace, or a snippet's end */
void ptx_resolve_labels(struct ptx_parser *p, bool report);
bool ptx_parse_insn(struct ptx_parser *p, const char *mnem, size_t len, struct ptx_stmt *st);
bool ptx_parse_operand(struct ptx_parser *p, struct ptx_opd *o, bool label, bool tuple);
struct ptx_sym *ptx_label_ref(struct ptx_parser *p, struct ptx_name *n);
struct ptx_opd *ptx_keep_opds(struct ptx_parser *p, size_t from);
bool ptx_parse_decl(struct ptx_parser *p, unsigned linkage);
struct ptx_sym *ptx_parse_param(struct ptx_parser *p, enum ptx_sym_kind kind);
void ptx_parse_func(struct ptx_parser *p, unsigned linkage, uint32_t line);
const char *ptx_directive(struct ptx_parser *p);
unsigned ptx_parse_linkage(struct ptx_parser *p);
void ptx_emit(struct ptx_parser *p, struct ptx_stmt st);

/* fold.c: an integer constant expression; false when there is none at *s, which then stays.
 * ret_known is false when it holds something that has no value here. */
bool ptx_fold(const char **s, uint64_t *ret_value, bool *ret_known);
/* Value of one number's text: an integer, or a float's bits. */
enum ptx_number_kind ptx_read_number(const char *s, size_t len, uint64_t *ret_value);

#endif
