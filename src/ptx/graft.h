/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Code of one function into another, and of one module into another.
 *
 * A kernel is brought over with ptx_import, its scopes are resolved with ptx_flatten where a pass
 * wants to move statements, and its statements are put into another function, as often as wanted,
 * with ptx_graft. Names that these make begin with "%hd_", "$hd_" and "hd_" and then a number that
 * no other graft of the module has. Not thread safe, as everything of a module. */
#ifndef HEDDLE_PTX_GRAFT_H
#define HEDDLE_PTX_GRAFT_H

#include "ptx/ptx.h"

/* Copies function `entry` of `from` and what it reaches (callees, variables, aliases, directives of
 * the module) into `into`, which may be the same module, and the same may be imported again under
 * another prefix.
 *
 * Names: every function and variable that comes with it is called prefix + name ("k1_" + "va"), the
 * entry too, always: its name is known beforehand. A name that is taken is -EEXIST; with the prefix
 * "" names stay. Not renamed, and not doubled, is what both modules share:
 *   .extern functions and variables: one by name, so what two modules call alike but keep apart
 *      (storage that became .extern) must be told apart before; shapes that differ: -ENOTSUP;
 *   .weak functions, when their text is equal and all that they reach is shared, too; one that
 * finds no namesake keeps its name, so that the next one finds it; .extern .shared arrays without a
 * size, all of which are one and the same memory (dynamic shared memory): they become into's first
 * one, with the greater alignment. Statements keep the lines of the module that they are from.
 *
 * Variables and declarations of the callees come ahead of into's first body, so any function of
 * into may name them; bodies come last. .version becomes the later one, .target that of both
 * (target.h). Debug sections, .file and .loc stay behind.
 *
 * 0 and the imported function; -ENOENT: no such function with a body; -EEXIST: a name is taken;
 * -ENOTSUP: modules that do not go together (32-bit addresses, targets that do not join, sm_90a
 * into sm_90, texture modes, declarations that differ); -EINVAL: what came over is wrong. All but
 * -ENOMEM are explained in diags; into then has what it had. */
int ptx_import(struct ptx_module *into, const struct ptx_module *from, const char *entry,
	const char *prefix, struct diag_list *diags, struct ptx_func **ret);

/* Makes f a list without inner scopes: declarations come first, at the outermost level, under names
 * of their own where one hid another; everything else stays in its order. Registers keep their
 * numbers. What stays in braces are call sequences: a straight run (no label, no branch, no inner
 * brace) that declares .param variables for its call; they are one unit to whoever moves
 * statements. 0; -EINVAL: braces do not match, or a name would not mean what it meant; -ENOTSUP: a
 * variable of an unknown type in a scope; both explained in diags; -ENOMEM. f is then as it was. */
int ptx_flatten(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags);

/* One copy of a guest's names in a host: registers, labels, prototypes, variables declared in the
 * body (.local, .shared, .param of calls, .const). The guest only lends its statements: it may be
 * the host, and may get another body afterwards, but has to live as long as the graft. Both are
 * m's. Several grafts of one guest are as many sets of registers and of variables. */
struct ptx_graft;

/* -ENOTSUP, explained in diags: the guest declares a .global variable in its body, which cannot be
 * two; or statements kept as text stand in an inner scope (flatten it first). -ENOMEM, -E2BIG. */
int ptx_graft_new(struct ptx_module *m, struct ptx_func *host, const struct ptx_func *guest,
	struct diag_list *diags, struct ptx_graft **ret);
void ptx_graft_free(struct ptx_graft *g);

/* A deep copy in the host's terms, to be put into its body; lines and columns stay the guest's. Of
 * a declaration, a label, a .branchtargets: the host's; put each once. A parameter of the guest
 * that was not mapped stays the guest's, which ptx_validate reports (unless guest and host are
 * one). */
struct ptx_stmt ptx_graft_stmt(struct ptx_graft *g, const struct ptx_stmt *s);
/* PTX_NO_REG stays so. */
uint32_t ptx_graft_reg(const struct ptx_graft *g, uint32_t guest_reg);
/* Of a label, a variable or a register's symbol; symbols of the module stay. A parameter: what it
 * was mapped to, or NULL (itself where guest and host are one). */
struct ptx_sym *ptx_graft_sym(struct ptx_graft *g, const struct ptx_sym *guest_sym);
/* From now on guest_sym (mostly a parameter) is host_sym; ahead of the first statement. */
void ptx_graft_map(struct ptx_graft *g, const struct ptx_sym *guest_sym, struct ptx_sym *host_sym);
/* The same of a register, of the host's with the same type; not where an instruction that is kept
 * as text names it. A few at most: -E2BIG. */
int ptx_graft_map_reg(struct ptx_graft *g, uint32_t guest_reg, uint32_t host_reg);
/* Declarations that no statement of the guest makes: of its .reg parameters. Appended to body. */
int ptx_graft_head(struct ptx_graft *g, ptx_body *body);
/* 0, or -ENOMEM once a copy or a map has failed; what was copied then is not whole. */
int ptx_graft_error(const struct ptx_graft *g);

/* Adds items given as text (variables, functions, directives) behind those of m; what they name is
 * m's. "`.visible .entry both(.param .u64 p)\n{\n}`" is how a host comes to be. -EINVAL with the
 * message in diags: m then has what it had. */
int ptx_add_text(struct ptx_module *m, struct diag_list *diags, const char *text, size_t len);
/* The head of a function as text, up to its body: "`.visible .entry va(…)`", under another name. No
 * directives: see ptx_bounds_get. */
void ptx_print_head(const struct ptx_func *f, const char *name, struct strbuf *out);

/* ---- .maxntid, .reqntid, .minnctapersm, .maxnreg ---- */
struct ptx_bounds {                      /* 0: not given */
	uint32_t maxntid[3], reqntid[3]; /* dimensions that were left out are 1 */
	uint32_t minnctapersm, maxnreg;
};
void ptx_bounds_get(const struct ptx_func *f, struct ptx_bounds *ret);
/* Threads of a block at most, as these say; 0: they do not. */
uint32_t ptx_bounds_threads(const struct ptx_bounds *b);
/* Replaces these directives, and no others. -EINVAL: both maxntid and reqntid; -ENOMEM. */
int ptx_bounds_set(struct ptx_module *m, struct ptx_func *f, const struct ptx_bounds *b);
/* .maxnreg becomes max where there is none, or a greater one; all else stays as it is written. */
int ptx_bounds_lower_maxnreg(struct ptx_module *m, struct ptx_func *f, uint32_t max);
/* States a bound on registers where f states none: as many as its largest block can be launched
 * with. ptxas 12.8 to 13.3 search for a bound of their own in a kernel that states none, and
 * compute values anew from registers that they have overwritten (sort of kernels/, built by clang,
 * as a preemptible form, on an H100 with driver 580; the same form is right with any bound). */
int ptx_bounds_state_registers(struct ptx_module *m, struct ptx_func *f);
/* The directive that says that its blocks come in clusters; NULL: none does. */
const char *ptx_bounds_cluster(const struct ptx_func *f);

#endif
