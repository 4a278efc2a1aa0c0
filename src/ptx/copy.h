/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What copying and renaming functions share, inside the front end: a map from symbols (or texts) to
 * their copies, fresh names, texts whose names change, and a walk that knows what names mean. */
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
	uint32_t first_reg;              /* … become those from here on */
	uint32_t same[PTX_COPY_SAME][2]; /* but for these: from, to */
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
/* Adds a symbol of f's outermost scope. */
int ptx_add_symbol(struct ptx_module *m, struct ptx_func *f, struct ptx_sym *sym);
/* A number for names of the form "%hd_N_…": nothing in the module has one of it yet. */
uint32_t ptx_new_tag(struct ptx_module *m);
/* A name for a copy of sym that nothing in the module has. A register's does not end in a digit, so
 * that it cannot be one of a family, nor a family's number be read in two ways. */
const struct ptx_name *ptx_tagged_name(
	struct ptx_module *m, uint32_t tag, const struct ptx_sym *sym);
/* The declaration of one of ".local .b32 x<3>", which has none of its own. -ENOTSUP: a type without
 * a name. */
int ptx_own_decl(struct ptx_module *m, struct ptx_sym *sym);

/* ---- edit.c ---- */
struct ptx_sym *ptx_item_sym(const struct ptx_item *it);         /* NULL: it is text */
bool ptx_is_known(const struct ptx_module *m, const char *name); /* anything was called so */
/* The directive that begins with word is text from now on (which is not copied). */
void ptx_set_text(struct ptx_module *m, const char *word, const char *text);
/* .version becomes this one (90 for 9.0), if it is a lower one. -ENOMEM. */
int ptx_raise_version(struct ptx_module *m, unsigned version);

/* ---- walk.c ---- */
struct ptx_walk {
	struct ptx_module *m;
	const struct ptx_func *f;
	VEC(struct ptx_sym *) labels; /* all of them, ordered by scope */
	VEC(size_t) first;            /* by scope, in order of opening: its first label */
	size_t scope;                 /* of these, the next to open */
	size_t depth;
	/* A name that its scope has already; NULL: not of interest. */
	void (*twice)(void *user, const struct ptx_sym *sym);
	void *user;
};
/* Opens f's outermost scope in the name table, labels and parameters in it. Whatever was open there
 * is closed. -ENOMEM; ptx_walk_end in any case. */
int ptx_walk_begin(struct ptx_walk *w, struct ptx_module *m, const struct ptx_func *f);
/* Takes notice of the next statement: names mean what they mean behind it. -EINVAL: a brace that
 * closes nothing. */
int ptx_walk_step(struct ptx_walk *w, const struct ptx_stmt *s);
void ptx_walk_end(struct ptx_walk *w);
/* Calls fn for each statement of f that holds text in which names may stand (an instruction without
 * known operands, an unknown one's, an initialiser), names meaning what they mean there. The first
 * error ends it. */
typedef int ptx_text_fn(void *user, struct ptx_stmt *s);
int ptx_walk_texts(struct ptx_module *m, const struct ptx_func *f, ptx_text_fn *fn, void *user);

/* The text with the names in it changed as name_of says (NULL: this one stays): reg is PTX_NO_REG
 * unless it names a register, sym NULL unless a symbol. Names mean what they mean in the walk, or
 * at module level outside one. NULL: out of memory; the text itself when nothing changes. */
typedef const char *ptx_renamed_fn(
	void *user, uint32_t reg, const struct ptx_sym *sym, char *buf, size_t size);
const char *ptx_rename_text(
	struct ptx_module *m, const char *text, ptx_renamed_fn *name_of, void *user);
/* The same for a statement with text: its text or its operands, changed; of a declaration the
 * initialiser.
 */
const void *ptx_rename_stmt(
	struct ptx_module *m, const struct ptx_stmt *s, ptx_renamed_fn *name_of, void *user);

/* ---- extract.c ---- */
/* Calls fn for each symbol of the module that the text, or the body, names; some more than once. */
typedef void ptx_global_fn(void *user, const struct ptx_sym *sym);
void ptx_visit_globals(
	const struct ptx_module *m, const struct ptx_func *f, ptx_global_fn *fn, void *user);
void ptx_visit_text_globals(
	const struct ptx_module *m, const char *s, ptx_global_fn *fn, void *user);

#endif
