/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Looking things up in a module and writing new code: what passes are made of.
 * New code is written as PTX text and parsed in the function's scope, so a pass reads like the code
 * that it makes. Names that begin with "%hd_", "$hd_" or "hd_" are ours. */
#ifndef HEDDLE_PTX_EDIT_H
#define HEDDLE_PTX_EDIT_H

#ifndef HEDDLE_PTX_H
#error "include ptx/ptx.h"
#endif

struct ptx_func *ptx_find_func(
	const struct ptx_module *m, const char *name); /* with a body, else decl */
struct ptx_sym *ptx_find_global(const struct ptx_module *m, const char *name);

/* Appends statements, given as text, to body: instructions, labels, .reg/.local/.shared/.param
 * declarations, braces. Names resolve among the registers and variables of f declared so far at its
 * outermost level, its parameters, and the module's globals. A .reg name already declared by an
 * earlier snippet is an error. The module's .version becomes one that has these instructions.
 * Returns -EINVAL with the message in diags (a bug in the pass). */
int ptx_append(struct ptx_module *m, struct ptx_func *f, ptx_body *body, struct diag_list *diags,
	const char *fmt, ...) HD_PRINTF(5, 6);

/* A fresh register of a type ("u32", "b64", "pred"); declared in *body at its place. */
uint32_t ptx_new_reg(struct ptx_module *m, struct ptx_func *f, ptx_body *body, const char *type,
	const char *name_hint);
struct ptx_sym *ptx_new_label(struct ptx_module *m, struct ptx_func *f, const char *name_hint);
/* "%r17": the register's name as printed; buf at least 128 bytes (cut beyond). Returns buf. */
const char *ptx_reg_name(const struct ptx_func *f, uint32_t reg, char *buf, size_t size);

/* Copies a function under a new name (for callees that a pass specialises). Registers, labels and
 * variables are copied too; statements may then be rewritten freely. Appended to the module before
 * `before` (NULL: at the end). */
struct ptx_func *ptx_clone_func(struct ptx_module *m, const struct ptx_func *f, const char *name,
	const struct ptx_func *before);
/* Takes a function out of the module; nothing may name it any more. */
void ptx_drop_func(struct ptx_module *m, struct ptx_func *f);
/* Adds a last parameter, to prototypes of the function, too: "`.param .align 8 .b8 name[64]`". */
struct ptx_sym *ptx_add_param(
	struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, const char *decl);
/* Adds a variable of the module ahead of its functions: "`.visible .const .b64 name[8];`". NULL:
 * the name is taken, or the text is wrong. */
struct ptx_sym *ptx_add_var(struct ptx_module *m, struct diag_list *diags, const char *decl);
/* At least `align` bytes for a variable; its declaration says so when it is printed. -ENOMEM. */
int ptx_raise_align(struct ptx_module *m, struct ptx_sym *sym, uint32_t align);
/* Deep copy of operands, for a statement that goes into a body twice. */
struct ptx_stmt ptx_copy_stmt(struct ptx_module *m, const struct ptx_stmt *s);

/* Adds to the list the functions with a body that f's code leads to, each once, f first, in the
 * order of their names in it: calls, addresses taken, .calltargets; and on from those. Where an
 * address that came from memory leads is not known here. The list is the caller's. -ENOMEM. */
typedef VEC(const struct ptx_func *) ptx_func_list;
int ptx_reached(const struct ptx_module *m, const struct ptx_func *f, ptx_func_list *list);

/* A module that holds only function `entry` and what it reaches (callees, variables; variables with
 * storage become .extern when keep_storage is false). For rewriting one kernel on its own. */
int ptx_extract(
	const struct ptx_module *m, const char *entry, bool keep_storage, struct ptx_module **ret);
/* Lines of the new module are counted anew. Where they stood in m: for ptx_lines_behind, which
 * makes of lines of the new module those of m. */
int ptx_extract_lines(const struct ptx_module *m, const char *entry, bool keep_storage,
	ptx_lines *ret_lines, struct ptx_module **ret);
void ptx_lines_behind(ptx_lines *io_lines, const ptx_lines *before);

/* ---- defs and uses ---- */
enum ptx_role { PTX_USE = 1, PTX_DEF = 2 };
typedef void ptx_reg_fn(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd);
/* Calls fn for each register that an instruction reads or writes, guard first; address bases are
 * uses; unknown shapes: first operand is both. */
void ptx_visit_regs(const struct ptx_func *f, const struct ptx_stmt *s, ptx_reg_fn *fn, void *user);
/* Operands of s in order, nested ones too; fn may change them. */
typedef void ptx_opd_fn(void *user, struct ptx_opd *opd);
void ptx_visit_opds(struct ptx_stmt *s, ptx_opd_fn *fn, void *user);

/* Checks what passes rely on: operands in range, labels placed once, registers declared, guards are
 * predicates, braces balanced. Errors to diags; returns their number. */
unsigned ptx_validate(const struct ptx_module *m, struct diag_list *diags);
unsigned ptx_validate_func(
	const struct ptx_module *m, const struct ptx_func *f, struct diag_list *diags);

#endif
