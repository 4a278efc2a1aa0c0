/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds objects in a module and writes new code; passes are built on it. New code is written as PTX
 * text and parsed in the function's scope, so a pass reads like the code that it makes. Names that
 * begin with "%hd_", "$hd_" or "hd_" are reserved for added code. */
#ifndef HEDDLE_PTX_EDIT_H
#define HEDDLE_PTX_EDIT_H

#ifndef HEDDLE_PTX_H
#error "include ptx/ptx.h"
#endif

struct ptx_func *ptx_find_func(
	const struct ptx_module *m, const char *name); /* the definition, or else a declaration */
struct ptx_sym *ptx_find_global(const struct ptx_module *m, const char *name);

/* Appends statements, given as text, to body: instructions, labels, .reg/.local/.shared/.param
 * declarations, braces. Names resolve to the registers and variables that f has declared so far in
 * its outermost scope, its parameters, and the module's globals. Declaring a .reg name again is an
 * error. Raises the module's .version if these instructions need it. Returns -EINVAL with the
 * message in diags (a bug in the pass). */
int ptx_append(struct ptx_module *m, struct ptx_func *f, ptx_body *body, struct diag_list *diags,
	const char *fmt, ...) HD_PRINTF(5, 6);

/* A fresh register of a type ("u32", "b64", "pred"); its declaration is appended to *body. */
uint32_t ptx_new_reg(struct ptx_module *m, struct ptx_func *f, ptx_body *body, const char *type,
	const char *name_hint);
struct ptx_sym *ptx_new_label(struct ptx_module *m, struct ptx_func *f, const char *name_hint);
/* Returns the register's name as printed, e.g. "%r17". buf has at least 128 bytes; longer names are
 * cut. */
const char *ptx_reg_name(const struct ptx_func *f, uint32_t reg, char *buf, size_t size);

/* Copies a function under a new name (for callees that a pass specialises). Registers, labels and
 * variables are copied too; statements may then be rewritten freely. Appended to the module before
 * `before` (NULL: at the end). */
struct ptx_func *ptx_clone_func(struct ptx_module *m, const struct ptx_func *f, const char *name,
	const struct ptx_func *before);
/* Removes a function from the module; no code may name it any more. */
void ptx_drop_func(struct ptx_module *m, struct ptx_func *f);
/* Adds a last parameter, also to the function's prototypes: "`.param .align 8 .b8 name[64]`". */
struct ptx_sym *ptx_add_param(
	struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, const char *decl);
/* Adds a module variable before the functions: "`.visible .const .b64 name[8];`". NULL: the name is
 * taken, or the text is wrong. */
struct ptx_sym *ptx_add_var(struct ptx_module *m, struct diag_list *diags, const char *decl);
/* Raises a variable's alignment to at least `align` bytes, also in its printed declaration.
 * -ENOMEM. */
int ptx_raise_align(struct ptx_module *m, struct ptx_sym *sym, uint32_t align);
/* Deep copy of operands, for a statement that goes into a body twice. */
struct ptx_stmt ptx_copy_stmt(struct ptx_module *m, const struct ptx_stmt *s);

/* Appends to the list all functions with a body that f's code reaches through calls, address-taking
 * and .calltargets, transitively: each once, f first, in the order in which they are named. Targets
 * of addresses loaded from memory are unknown. The caller frees the list. -ENOMEM. */
typedef VEC(const struct ptx_func *) ptx_func_list;
int ptx_reached(const struct ptx_module *m, const struct ptx_func *f, ptx_func_list *list);

/* Makes a module that holds only function `entry` and what it reaches (callees, variables);
 * variables with storage become .extern if keep_storage is false. For rewriting a single kernel. */
int ptx_extract(
	const struct ptx_module *m, const char *entry, bool keep_storage, struct ptx_module **ret);
/* Numbers the lines of the new module from 1; ret_lines maps them to lines of m. ptx_lines_behind
 * composes two such maps. */
int ptx_extract_lines(const struct ptx_module *m, const char *entry, bool keep_storage,
	ptx_lines *ret_lines, struct ptx_module **ret);
void ptx_lines_behind(ptx_lines *io_lines, const ptx_lines *before);

/* ---- defs and uses ---- */
enum ptx_role { PTX_USE = 1, PTX_DEF = 2 };
typedef void ptx_reg_fn(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd);
/* Calls fn for each register that an instruction reads or writes, guard first. Address bases are
 * uses. Of an unknown instruction the first operand is both. */
void ptx_visit_regs(const struct ptx_func *f, const struct ptx_stmt *s, ptx_reg_fn *fn, void *user);
/* Visits the operands of s in order, nested ones too; fn may change them. */
typedef void ptx_opd_fn(void *user, struct ptx_opd *opd);
void ptx_visit_opds(struct ptx_stmt *s, ptx_opd_fn *fn, void *user);

/* Checks the properties that passes rely on: operands in range, labels placed once, registers
 * declared, guards are predicates, braces balanced. Adds errors to diags; returns their number. */
unsigned ptx_validate(const struct ptx_module *m, struct diag_list *diags);
unsigned ptx_validate_func(
	const struct ptx_module *m, const struct ptx_func *f, struct diag_list *diags);

#endif
