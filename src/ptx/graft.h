/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Moves code between functions, and between modules.
 *
 * ptx_import copies a kernel into another module. ptx_flatten resolves its scopes, for passes that
 * move statements. ptx_graft puts its statements into another function, any number of times. New
 * names begin with "%hd_", "$hd_" and "hd_" and a number that no other graft of the module has. Not
 * thread safe, like all operations on a module. */
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

/* Makes f a list without inner scopes. Declarations come first, in the outermost scope; a
 * declaration that hid another gets a fresh name. All other statements stay in order, and registers
 * keep their numbers. Only call sequences stay in braces: a straight run (no label, branch or inner
 * brace) that declares .param variables for its call. A pass that moves statements must treat them
 * as a unit. 0; -EINVAL: braces do not match, or a name would change its meaning; -ENOTSUP: a
 * variable of an unknown type in a scope; both explained in diags; -ENOMEM. After an error f is
 * unchanged. */
int ptx_flatten(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags);

/* One copy of a guest's names in a host: registers, labels, prototypes, and variables declared in
 * the body (.local, .shared, .param of calls, .const). The guest's statements are only read. The
 * guest may be the host, and its body may be replaced later, but it must outlive the graft. Both
 * belong to m. Each graft of a guest has its own registers and variables. */
struct ptx_graft;

/* -ENOTSUP, explained in diags: the guest declares a .global variable in its body, which must not
 * be duplicated; or text statements stand in an inner scope (flatten it first). -ENOMEM, -E2BIG. */
int ptx_graft_new(struct ptx_module *m, struct ptx_func *host, const struct ptx_func *guest,
	struct diag_list *diags, struct ptx_graft **ret);
void ptx_graft_free(struct ptx_graft *g);

/* A deep copy that uses the host's names, to be put into the host's body; lines and columns stay
 * the guest's. Put each declaration, label and .branchtargets only once. A guest parameter that was
 * not mapped stays the guest's, which ptx_validate reports (unless guest and host are the same). */
struct ptx_stmt ptx_graft_stmt(struct ptx_graft *g, const struct ptx_stmt *s);
/* PTX_NO_REG stays so. */
uint32_t ptx_graft_reg(const struct ptx_graft *g, uint32_t guest_reg);
/* The host's symbol for a guest's label, variable or register; module symbols stay. For a
 * parameter, the symbol that it was mapped to, or NULL (itself if guest and host are the same). */
struct ptx_sym *ptx_graft_sym(struct ptx_graft *g, const struct ptx_sym *guest_sym);
/* Maps guest_sym (usually a parameter) to host_sym from now on; call it before the first
 * statement. */
void ptx_graft_map(struct ptx_graft *g, const struct ptx_sym *guest_sym, struct ptx_sym *host_sym);
/* The same for a register, to a host register of the same type; not if an instruction kept as text
 * names it. Only a few are possible: -E2BIG. */
int ptx_graft_map_reg(struct ptx_graft *g, uint32_t guest_reg, uint32_t host_reg);
/* Appends declarations that no statement of the guest makes: those of its .reg parameters. */
int ptx_graft_head(struct ptx_graft *g, ptx_body *body);
/* 0, or -ENOMEM once a copy or a map has failed; the copies are then incomplete. */
int ptx_graft_error(const struct ptx_graft *g);

/* Adds items given as text (variables, functions, directives) after those of m; their names resolve
 * in m. For example, "`.visible .entry both(.param .u64 p)\n{\n}`" makes a host. -EINVAL with the
 * message in diags; m is then unchanged. */
int ptx_add_text(struct ptx_module *m, struct diag_list *diags, const char *text, size_t len);
/* Prints the head of a function up to its body, under another name: "`.visible .entry va(…)`".
 * Without directives: see ptx_bounds_get. */
void ptx_print_head(const struct ptx_func *f, const char *name, struct strbuf *out);

/* ---- .maxntid, .reqntid, .minnctapersm, .maxnreg ---- */
struct ptx_bounds {                      /* 0: not given */
	uint32_t maxntid[3], reqntid[3]; /* dimensions that were left out are 1 */
	uint32_t minnctapersm, maxnreg;
};
void ptx_bounds_get(const struct ptx_func *f, struct ptx_bounds *ret);
/* The greatest number of threads in a block by these directives; 0: no limit given. */
uint32_t ptx_bounds_threads(const struct ptx_bounds *b);
/* Replaces these directives, and no others. -EINVAL: both maxntid and reqntid; -ENOMEM. */
int ptx_bounds_set(struct ptx_module *m, struct ptx_func *f, const struct ptx_bounds *b);
/* Sets .maxnreg to max if there is none or a greater one; all else stays as written. */
int ptx_bounds_lower_maxnreg(struct ptx_module *m, struct ptx_func *f, uint32_t max);
/* States a register limit if f has none: the greatest with which its largest block can be launched.
 * ptxas 12.8 to 13.3 search for a limit of their own otherwise, and then recompute values from
 * registers that they have overwritten. (Seen with sort of kernels/, built by clang, as a
 * preemptible form on an H100 with driver 580; the same form is correct with any limit.) */
int ptx_bounds_state_registers(struct ptx_module *m, struct ptx_func *f);
/* The directive that makes its blocks come in clusters; NULL: none. */
const char *ptx_bounds_cluster(const struct ptx_func *f);

#endif
