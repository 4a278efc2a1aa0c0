/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Internal header of the parser: its state, and the functions that its source files call in each
 * other. */
#ifndef HEDDLE_PTX_PARSE_H
#define HEDDLE_PTX_PARSE_H

#include "ptx/names.h"

#include <setjmp.h>

#define PTX_MAX_DEPTH    200        /* nested scopes; deeper ones are an error, and keep no names */
#define PTX_MAX_FAMILY   (1u << 22) /* registers in one declaration */
#define PTX_MAX_OPERANDS 64         /* of one instruction, at the top level */
#define PTX_PADDING      16         /* bytes that may be read behind a text's end */

struct ptx_parser {
	struct ptx_module *m;
	struct ptx_scope *names;
	struct diag_list *diags;
	const char *s, *end; /* *end is 0, and PTX_PADDING more bytes may be read */
	const char *line_start;
	uint32_t line;
	struct ptx_func *f;
	ptx_body *body;
	unsigned depth;  /* braces open within the function */
	bool is_snippet; /* ptx_append: labels may stay open, statements have no line */
	bool is_added;   /* ptx_add_text: what the module has already keeps its meaning */
	/* the statement's op is not in ops.def, so nothing in it is reported as an error */
	bool is_unknown;
	unsigned opd_depth;
	bool label_pending;          /* an operand of this statement names a label not placed yet */
	size_t limit_bytes;          /* for what lies outside the arena */
	VEC(struct ptx_opd) stack;   /* operands of the statement being read */
	const struct ptx_mnem *mnem; /* whose operands are being read, or NULL */
	VEC(struct ptx_stmt) before; /* to stand in front of the statement being read */
	struct ptx_sym *param;       /* what a snippet that is a parameter declared */
	int error;                   /* what escape was taken for */
	jmp_buf escape;
};

/* mnem.c */
uint8_t ptx_type_from_name(const char *s, size_t len);
/* Returns the parsed mnemonic at s, or NULL if out of memory. Eight bytes after s + len have to be
 * readable. */
const struct ptx_mnem *ptx_mnem_for(struct ptx_module *m, const char *s, size_t len);

/* parse*.c */
_Noreturn void ptx_give_up(struct ptx_parser *p, int error);
void ptx_error(struct ptx_parser *p, const char *at, size_t span, const char *fmt, ...)
	HD_PRINTF(4, 5);
void ptx_skip_statement(struct ptx_parser *p);
void ptx_check_memory(struct ptx_parser *p, size_t more);
const char *ptx_clean_text(struct ptx_parser *p, const char *from, const char *to);
struct ptx_name *ptx_name_at(struct ptx_parser *p, const char *s, size_t len);
void ptx_parser_init(struct ptx_parser *p, struct ptx_module *m, struct diag_list *diags,
	const char *text, size_t len);
void ptx_parser_finish(struct ptx_parser *p);
void ptx_parse_items(struct ptx_parser *p); /* of a module, to the end */
/* alias.c: of the items from first_item on. */
void ptx_resolve_aliases(struct ptx_module *m, size_t first_item);
/* Parses statements up to the closing brace, or to the end of a snippet. Returns true if there was
 * a brace. */
bool ptx_parse_body(struct ptx_parser *p);
void ptx_resolve_labels(struct ptx_parser *p, bool report);
/* An instruction's operands and its ';'. */
bool ptx_parse_operands(struct ptx_parser *p, const struct ptx_mnem *mn, struct ptx_stmt *st);
/* The "[index]" behind the array that o names. */
bool ptx_parse_index(struct ptx_parser *p, struct ptx_opd *o);
/* Parses an offset ("+4", "-4" or an integer) into o->value, and sets o->has_value if the value is
 * known. */
bool ptx_parse_offset(struct ptx_parser *p, struct ptx_opd *o);
/* Puts p->before in front of the last statement. */
void ptx_put_before(struct ptx_parser *p);
bool ptx_parse_targets(struct ptx_parser *p, struct ptx_sym *sym, bool labels);
struct ptx_sym *ptx_label_ref(struct ptx_parser *p, struct ptx_name *n);
bool ptx_parse_decl(struct ptx_parser *p, unsigned linkage);
struct ptx_sym *ptx_parse_param(struct ptx_parser *p, enum ptx_sym_kind kind);
bool ptx_parse_func(struct ptx_parser *p, unsigned linkage, uint32_t line);
const char *ptx_directive(struct ptx_parser *p);
unsigned ptx_parse_linkage(struct ptx_parser *p);
void ptx_emit(struct ptx_parser *p, struct ptx_stmt st);

/* Folds the integer constant expression at *s and advances *s (in fold.c). Returns false and keeps
 * *s if there is no expression. Sets *ret_known to false if a part has no known value, such as a
 * name. */
bool ptx_fold(const char **s, uint64_t *ret_value, bool *ret_known);
/* Value of one number's text: an integer, or a float's bits. */
enum ptx_number_kind ptx_read_number(const char *s, size_t len, uint64_t *ret_value);

#endif
