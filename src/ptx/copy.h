/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Internals of copying and renaming functions: a map from symbols (or texts) to their copies, fresh
 * names, renaming within text, and a walk that resolves names. */
#ifndef HEDDLE_PTX_COPY_H
#define HEDDLE_PTX_COPY_H

#include "ptx/names.h"

/* Open addressing, a power of two, at most half full. */
struct ptx_map {
	struct ptx_map_slot {
		const void *from;
		void *to;
	} * at;
	size_t len, cap;
};
void *ptx_map_get(const struct ptx_map *map, const void *from); /* NULL: not in it */
int ptx_map_put(struct ptx_map *map, const void *from, void *to);
void ptx_map_free(struct ptx_map *map);

/* How operands change when they are copied. map may be NULL: symbols stay. */
#define PTX_COPY_SAME 4
struct ptx_copy {
	struct ptx_module *m;
	const struct ptx_map *syms;
	uint32_t n_regs;                 /* registers below this number … */
	uint32_t first_reg;              /* … become the registers from this number on */
	uint32_t same[PTX_COPY_SAME][2]; /* except for these pairs: from, to */
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
/* Adds a symbol to f's outermost scope. */
int ptx_add_symbol(struct ptx_module *m, struct ptx_func *f, struct ptx_sym *sym);
/* Returns a number N such that no name in the module begins with "%hd_N_". */
uint32_t ptx_new_tag(struct ptx_module *m);
/* Returns a fresh name for a copy of sym. A register's name does not end in a digit. So the name
 * cannot belong to a register family, and its digits cannot be split in two ways. */
const struct ptx_name *ptx_tagged_name(
	struct ptx_module *m, uint32_t tag, const struct ptx_sym *sym);
/* Makes a declaration for one register of a family such as ".local .b32 x<3>", which has none of
 * its own. -ENOTSUP: its type has no name. */
int ptx_own_decl(struct ptx_module *m, struct ptx_sym *sym);

/* ---- edit.c ---- */
struct ptx_sym *ptx_item_sym(const struct ptx_item *it); /* NULL: it is text */
/* whether any item was ever called so */
bool ptx_is_known(const struct ptx_module *m, const char *name);
/* Replaces the directive that begins with word; text is not copied. */
void ptx_set_text(struct ptx_module *m, const char *word, const char *text);
/* Raises .version to this one (90 for 9.0) if it is lower. -ENOMEM. */
int ptx_raise_version(struct ptx_module *m, unsigned version);

/* ---- walk.c ---- */
struct ptx_walk {
	struct ptx_module *m;
	const struct ptx_func *f;
	VEC(struct ptx_sym *) labels; /* all of them, ordered by scope */
	VEC(size_t) first;            /* by scope, in order of opening: its first label */
	size_t scope;                 /* index into `first` of the scope to open next */
	size_t depth;
	/* called for a name that its scope already has; NULL: not wanted */
	void (*twice)(void *user, const struct ptx_sym *sym);
	void *user;
};
/* Opens f's outermost scope, with labels and parameters, in the name table. Closes a scope that was
 * open there. -ENOMEM; call ptx_walk_end in any case. */
int ptx_walk_begin(struct ptx_walk *w, struct ptx_module *m, const struct ptx_func *f);
/* Processes the next statement: afterwards names resolve as after the statement. -EINVAL: an
 * unmatched closing brace. */
int ptx_walk_step(struct ptx_walk *w, const struct ptx_stmt *s);
void ptx_walk_end(struct ptx_walk *w);
/* Calls fn for each statement of f with text that may contain names: an instruction without parsed
 * operands, an unknown instruction, or an initializer. Names resolve as at that statement. The
 * first error stops the walk. */
typedef int ptx_text_fn(void *user, struct ptx_stmt *s);
int ptx_walk_texts(struct ptx_module *m, const struct ptx_func *f, ptx_text_fn *fn, void *user);

/* Returns the text with its names replaced by name_of (NULL: the name stays). reg is PTX_NO_REG
 * unless the name is a register; sym is NULL unless it is a symbol. Names resolve as in the walk,
 * or at module level outside a walk. NULL: out of memory. Returns the text itself if no name
 * changes. */
typedef const char *ptx_renamed_fn(
	void *user, uint32_t reg, const struct ptx_sym *sym, char *buf, size_t size);
const char *ptx_rename_text(
	struct ptx_module *m, const char *text, ptx_renamed_fn *name_of, void *user);
/* The same for a statement with text: returns its changed text or operands, or of a declaration the
 * changed initializer. */
const void *ptx_rename_stmt(
	struct ptx_module *m, const struct ptx_stmt *s, ptx_renamed_fn *name_of, void *user);

/* ---- extract.c ---- */
/* Calls fn for each module symbol that the text or the body names; some more than once. */
typedef void ptx_global_fn(void *user, const struct ptx_sym *sym);
void ptx_visit_globals(
	const struct ptx_module *m, const struct ptx_func *f, ptx_global_fn *fn, void *user);
void ptx_visit_text_globals(
	const struct ptx_module *m, const char *s, ptx_global_fn *fn, void *user);

#endif
