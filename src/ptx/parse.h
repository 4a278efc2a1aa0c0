/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Internal header of the parser: its state, and the functions that its source files call in each
 * other. */
#ifndef HEDDLE_PTX_PARSE_H
#define HEDDLE_PTX_PARSE_H

#include "ptx/names.h"

#include <setjmp.h>

/* nested scopes; deeper ones are an error, and their names are not stored */
#define PTX_MAX_DEPTH  200
#define PTX_MAX_FAMILY (1u << 22) /* maximum number of registers in one declaration */
/* maximum number of operands of an instruction, not counting nested ones */
#define PTX_MAX_OPERANDS 64
#define PTX_PADDING      16 /* number of readable bytes that follow the end of a text */

struct ptx_parser {
	struct ptx_module *m;
	struct ptx_scope *names;
	struct diag_list *diags;
	const char *s, *end; /* *end is 0, followed by PTX_PADDING readable bytes */
	const char *line_start;
	uint32_t line;
	struct ptx_func *f;
	ptx_body *body;
	unsigned depth; /* number of braces that are open in the function */
	/* true in ptx_append: labels can stay without a place, and statements have no source
	 * line */
	bool is_snippet;
	bool knows_fresh; /* m->fresh exceeds the numbers in all names of the text */
	bool is_added;    /* true in ptx_add_text: existing names keep their meaning */
	/* the statement's op is not in ops.def, so nothing in it is reported as an error */
	bool is_unknown;
	unsigned opd_depth;
	/* an operand of this statement names a label that is not placed yet */
	bool label_pending;
	size_t limit_bytes;          /* limit on memory outside the arena */
	VEC(struct ptx_opd) stack;   /* operands of the statement that is being read */
	const struct ptx_mnem *mnem; /* mnemonic of the statement that is being read, or NULL */
	/* statements to insert before the statement that is being read */
	VEC(struct ptx_stmt) before;
	struct ptx_sym *param; /* parameter that a snippet has declared */
	/* the first special register among the operands of the statement being read */
	struct ptx_special_seen {
		const char *at, *line_start; /* at is NULL if there is no special register */
		uint32_t line;
	} special;
	int error; /* error code for which `escape` was taken */
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
void ptx_parse_items(struct ptx_parser *p); /* parses a whole module */
/* Resolves the aliases among the items from first_item on (in alias.c). */
void ptx_resolve_aliases(struct ptx_module *m, size_t first_item);
/* Parses statements up to the closing brace, or to the end of a snippet. Returns true if there was
 * a brace. */
bool ptx_parse_body(struct ptx_parser *p);
void ptx_resolve_labels(struct ptx_parser *p, bool report);
/* Parses an instruction's operands, including the final ';'. */
bool ptx_parse_operands(struct ptx_parser *p, const struct ptx_mnem *mn, struct ptx_stmt *st);
/* Parses "[index]" after the name of an array in operand o. */
bool ptx_parse_index(struct ptx_parser *p, struct ptx_opd *o);
/* Parses an offset ("+4", "-4" or an integer) into o->value, and sets o->has_value if the value is
 * known. */
bool ptx_parse_offset(struct ptx_parser *p, struct ptx_opd *o);
/* Checks the special registers among a statement's operands, and replaces those in vectors (in
 * parse_special.c). */
bool ptx_parse_specials(struct ptx_parser *p, struct ptx_opd *opd, unsigned n);
/* Creates a register "%hd_HINT_N" in the innermost scope. Its declaration goes before the current
 * statement. */
uint32_t ptx_reg_before(struct ptx_parser *p, enum ptx_base_type type, const char *hint);
/* Adds an instruction with n operands to the statements that go before the current one. */
void ptx_insn_before(struct ptx_parser *p, const char *mnem, const struct ptx_opd *opd, unsigned n);
/* Inserts the statements in p->before before the last statement of the body. */
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

#endif
