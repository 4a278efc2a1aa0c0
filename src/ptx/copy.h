/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Internal functions that copy and rename functions: fresh names, renaming within text, and a walk over a body that resolves names. */
#ifndef HEDDLE_PTX_COPY_H
#define HEDDLE_PTX_COPY_H

#include "base/map.h"
#include "ptx/names.h"

/* How to translate operands while copying them. If syms is NULL, symbols stay the same. */
#define PTX_COPY_SAME 4
struct ptx_copy {
	struct ptx_module *m;
	const struct hash_map *syms;
	/* registers below this number become registers from first_reg on */
	uint32_t n_regs;
	uint32_t first_reg;
	uint32_t same[PTX_COPY_SAME][2]; /* exceptions to this rule: pairs of from and to */
	unsigned n_same;
};
static inline uint32_t ptx_copy_reg(const struct ptx_copy *c, uint32_t reg)
{
	for (unsigned i = 0; i < c->n_same; i++)
		if (c->same[i][0] == reg)
			return c->same[i][1];
	return reg < c->n_regs ? reg + c->first_reg : reg;
}
struct ptx_opd *ptx_copy_opds(const struct ptx_copy *c, const struct ptx_opd *from, size_t n);

/* ---- tag.c ---- */
/* Adds a symbol to the outermost scope of f. */
int ptx_add_symbol(struct ptx_module *m, struct ptx_func *f, struct ptx_sym *sym);
/* Returns a number N such that no name in the module begins with "%hd_N_". */
uint32_t ptx_new_tag(struct ptx_module *m);
/* Returns a fresh name for a copy of sym. The name of a register does not end in a digit. Therefore
 * it cannot be mistaken for a member of a register family ("%r" + "12"). */
const struct ptx_name *ptx_tagged_name(
	struct ptx_module *m, uint32_t tag, const struct ptx_sym *sym);
/* Gives one variable of a family (the declaration ".local .b32 x<3>" makes the family x0, x1, x2) a
 * declaration of its own, because until now only the family has one. Returns -ENOTSUP if the
 * variable's type has no name. */
int ptx_own_decl(struct ptx_module *m, struct ptx_sym *sym);

/* ---- edit.c ---- */
struct ptx_sym *ptx_item_sym(const struct ptx_item *it); /* NULL if the item is text */
/* Returns true if any item has ever had this name. */
bool ptx_is_known(const struct ptx_module *m, const char *name);
/* Replaces the module's directive that begins with `word`. The module keeps the pointer `text`
 * without copying the characters. */
void ptx_set_text(struct ptx_module *m, const char *word, const char *text);
/* Raises the module's .version to `version` (90 for 9.0) if it is lower. Returns -ENOMEM if out of
 * memory. */
int ptx_raise_version(struct ptx_module *m, unsigned version);

/* ---- walk.c ---- */
struct ptx_walk {
	struct ptx_module *m;
	const struct ptx_func *f;
	VEC(struct ptx_sym *) labels; /* all labels, ordered by scope */
	/* for each scope, in the order of opening braces: index of its first label */
	VEC(size_t) first;
	size_t scope; /* index in `first` of the scope that opens next */
	size_t depth;
	/* called for a symbol whose name is already declared in the same scope; NULL to skip this
	 * check */
	void (*twice)(void *user, const struct ptx_sym *sym);
	void *user;
};
/* Opens f's outermost scope in the name table, with its labels and parameters, after closing any
 * function scope that is still open. Returns -ENOMEM if out of memory. Call ptx_walk_end even after
 * an error. */
int ptx_walk_begin(struct ptx_walk *w, struct ptx_module *m, const struct ptx_func *f);
/* Advances the walk past statement s: names then resolve as they do after s. Returns -EINVAL for an
 * unmatched closing brace. */
int ptx_walk_step(struct ptx_walk *w, const struct ptx_stmt *s);
void ptx_walk_end(struct ptx_walk *w);
/* Calls fn for each statement of f whose text can contain names: an instruction with operands
 * stored as text, an initializer, or a list of branch or call targets with operands stored as text.
 * While fn runs, names resolve as they do at that statement. The walk stops at the first error. */
typedef int ptx_text_fn(void *user, struct ptx_stmt *s);
int ptx_walk_texts(struct ptx_module *m, const struct ptx_func *f, ptx_text_fn *fn, void *user);

/* Returns `text` with each name replaced by the result of name_of, or the pointer `text` itself if
 * no name changes. name_of returns NULL to keep a name. Its argument reg is PTX_NO_REG unless the
 * name is a register; sym is NULL unless the name is a symbol.
 *
 * Names resolve as in the current walk, or at module level if no walk is in progress. Returns NULL
 * if out of memory. */
typedef const char *ptx_renamed_fn(
	void *user, uint32_t reg, const struct ptx_sym *sym, char *buf, size_t size);
const char *ptx_rename_text(
	struct ptx_module *m, const char *text, ptx_renamed_fn *name_of, void *user);
/* Does the same as ptx_rename_text for a statement that contains text. Returns the statement's
 * changed text or operands; for a declaration, its changed initializer. */
const void *ptx_rename_stmt(
	struct ptx_module *m, const struct ptx_stmt *s, ptx_renamed_fn *name_of, void *user);

/* ---- extract.c ---- */
/* These two call fn for each module symbol that a function's body, or the text s, names. They can
 * report the same symbol more than once. */
typedef void ptx_global_fn(void *user, const struct ptx_sym *sym);
void ptx_visit_globals(
	const struct ptx_module *m, const struct ptx_func *f, ptx_global_fn *fn, void *user);
void ptx_visit_text_globals(
	const struct ptx_module *m, const char *s, ptx_global_fn *fn, void *user);

#endif
