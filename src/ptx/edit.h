/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds objects in a module and writes new code; all passes use these functions. A pass writes new
 * code as PTX text, so the pass's source looks like the code that it generates. The text is parsed
 * in the scope of the function that receives it. Names that begin with "%hd_", "$hd_" or "hd_" are
 * reserved for added code. */
#ifndef HEDDLE_PTX_EDIT_H
#define HEDDLE_PTX_EDIT_H

#ifndef HEDDLE_PTX_H
#error "include ptx/ptx.h"
#endif

/* Returns the definition if there is one, otherwise a declaration. */
struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name);
struct ptx_sym *ptx_find_global(const struct ptx_module *m, const char *name);

/* Parses statements from text and appends them to body: instructions, labels,
 * .reg/.local/.shared/.param declarations, braces. Names resolve to the registers and variables
 * that f has declared so far in its outermost scope, to its parameters, and to the module's
 * globals. Declaring a .reg name again is an error. Raises the module's .version if the
 * instructions need it.
 *
 * If the text is wrong (a bug in the pass), returns -EINVAL and adds the message to diags. */
int ptx_append(struct ptx_module *m, struct ptx_func *f, ptx_body *body, struct diag_list *diags,
	const char *fmt, ...) HD_PRINTF(5, 6);

/* Creates a fresh register of a type ("u32", "b64", "pred") and appends its declaration to
 * *body. */
uint32_t ptx_new_reg(struct ptx_module *m, struct ptx_func *f, ptx_body *body, const char *type,
	const char *name_hint);
struct ptx_sym *ptx_new_label(struct ptx_module *m, struct ptx_func *f, const char *name_hint);
/* Returns the register's name as printed, e.g. "%r17". buf needs at least 128 bytes; a longer name
 * is truncated. */
const char *ptx_reg_name(const struct ptx_func *f, uint32_t reg, char *buf, size_t size);

/* Copies a function under a new name, for callees that a pass specializes. The copy has its own
 * registers, labels and variables, so its statements can be rewritten freely. It is inserted into
 * the module before function `before`, or at the end if `before` is NULL. Returns NULL if another
 * function has this name, or if out of memory. */
struct ptx_func *ptx_clone_func(struct ptx_module *m, const struct ptx_func *f, const char *name,
	const struct ptx_func *before);
/* Removes a function from the module. The caller makes sure that no code refers to it. */
void ptx_drop_func(struct ptx_module *m, struct ptx_func *f);
/* Adds a last parameter to f and to its prototypes. An example of decl is "`.param .align 8 .b8
 * name[64]`". */
struct ptx_sym *ptx_add_param(
	struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, const char *decl);
/* Adds a module variable before the functions. An example of decl is "`.visible .const .b64
 * name[8];`". Returns NULL if the name exists already or the text is wrong. */
struct ptx_sym *ptx_add_var(struct ptx_module *m, struct diag_list *diags, const char *decl);
/* Raises a variable's alignment to at least `align` bytes, also in its printed declaration. Returns
 * -ENOMEM if out of memory. */
int ptx_raise_align(struct ptx_module *m, struct ptx_sym *sym, uint32_t align);
/* Copies a statement and its operands, so that a pass can put the statement into a body twice. */
struct ptx_stmt ptx_copy_stmt(struct ptx_module *m, const struct ptx_stmt *s);

/* Appends f and all functions that f reaches to the list, each once. A function reaches another one
 * if its code calls it, takes its address or lists it in .calltargets, directly or through other
 * functions. The list begins with f and follows the order in which the code names the functions.
 *
 * Functions without a body and targets of addresses loaded from memory are not included. The caller
 * frees the list. Returns -ENOMEM if out of memory. */
typedef VEC(const struct ptx_func *) ptx_func_list;
int ptx_reached(const struct ptx_module *m, const struct ptx_func *f, ptx_func_list *list);

/* Creates a module with only function `entry` and the callees and variables that it reaches, so
 * that one kernel can be rewritten alone. If keep_storage is false, the variables that have storage
 * become .extern. */
int ptx_extract(
	const struct ptx_module *m, const char *entry, bool keep_storage, struct ptx_module **ret);
/* Does the same as ptx_extract, and numbers the lines of the new module from 1. *ret_lines maps
 * these line numbers to lines of m. ptx_lines_behind composes two such maps. */
int ptx_extract_lines(const struct ptx_module *m, const char *entry, bool keep_storage,
	ptx_lines *ret_lines, struct ptx_module **ret);
void ptx_lines_behind(ptx_lines *io_lines, const ptx_lines *before);

/* ---- definitions and uses ---- */
enum ptx_role { PTX_USE = 1, PTX_DEF = 2 };
typedef void ptx_reg_fn(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd);
/* Calls fn for each register that an instruction reads or writes, and for the register of the guard
 * first. The base register of an address counts as read. The first operand of an unknown
 * instruction counts as both read and written. */
void ptx_visit_regs(const struct ptx_func *f, const struct ptx_stmt *s, ptx_reg_fn *fn, void *user);
/* Calls fn for each operand of s in order, including nested operands; fn can change them. */
typedef void ptx_opd_fn(void *user, struct ptx_opd *opd);
void ptx_visit_opds(struct ptx_stmt *s, ptx_opd_fn *fn, void *user);

/* Checks the properties that passes rely on: operands in range, labels placed once, registers
 * declared, guards are predicates, braces balanced. Adds the errors to diags and returns their
 * number. */
unsigned ptx_validate(const struct ptx_module *m, struct diag_list *diags);
unsigned ptx_validate_func(
	const struct ptx_module *m, const struct ptx_func *f, struct diag_list *diags);

#endif
