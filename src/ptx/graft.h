/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Moves code between functions and between modules:
 * - ptx_import copies a kernel into another module.
 * - ptx_flatten removes a function's inner scopes, for passes that move statements.
 * - ptx_graft copies a function's statements into another function, any number of times.
 *
 * The new names of ptx_flatten and ptx_graft begin with "%hd_", "$hd_" or "hd_" and a number that
 * no other copy in the module uses. Like all operations on a module, these are not thread safe. */
#ifndef HEDDLE_PTX_GRAFT_H
#define HEDDLE_PTX_GRAFT_H

#include "ptx/ptx.h"

/* Copies function `entry` of `from` and everything that it reaches (callees, variables, aliases,
 * module directives) into module `into`. Both can be the same module. The same function can be
 * imported again under another prefix.
 *
 * The imported entry, functions and variables are renamed to prefix + name ("k1_" + "va"). The
 * prefix "" keeps the names. The entry's new name is always prefix + name, even if it is .weak.
 * Symbols that both modules share are neither renamed nor copied:
 * - .extern functions and variables, matched by name. If the modules mean different objects by one
 *   name, the caller has to rename one first.
 * - .weak functions whose text is equal in both modules and that reach only shared symbols. A .weak
 *   function without a counterpart keeps its name, so that the next import finds it.
 * - .extern .shared arrays without a size, which all mean the dynamic shared memory. They become
 *   `into`'s first such array, with the larger alignment.
 *
 * Variables and declarations of callees are inserted before `into`'s first function body, so any
 * function of `into` can name them. Function bodies are appended last. Statements keep the line
 * numbers of the module that they come from. .version becomes the later of both, and .target is
 * joined (target.h). Debug sections, .file and .loc are not copied.
 *
 * Returns 0 and the imported function. On an error other than -ENOMEM, `into` is unchanged, and
 * diags explains the error:
 * - -ENOENT: no such function with a body
 * - -EEXIST: a name exists already
 * - -ENOTSUP: the modules do not fit together (32-bit addresses, incompatible targets, sm_90a into
 *   sm_90, texture modes, .extern declarations that differ)
 * - -EINVAL: the imported code is wrong */
int ptx_import(struct ptx_module *into, const struct ptx_module *from, const char *entry,
	const char *prefix, struct diag_list *diags, struct ptx_func **ret);

/* Removes f's inner scopes:
 * - All declarations move to the front of the body.
 * - Declarations and labels of inner scopes get new names.
 * - Other statements keep their order, and registers keep their numbers.
 * - Braces remain only around call sequences: straight-line code (no label, branch or inner brace)
 *   that declares .param variables for its call. A pass that moves statements must keep a call
 *   sequence together.
 *
 * Returns 0, or leaves f unchanged and returns:
 * - -EINVAL if braces do not match or a name would change its meaning; diags explains it
 * - -ENOTSUP if an inner scope declares a variable of unknown type; diags explains it
 * - -ENOMEM */
int ptx_flatten(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags);

/* Returns whether a name is one that the code of passes may use: "%hd_r", "$hd_end", "hd_args". Names
 * of copies ("%hd_7_r") and fresh names ("$hd_part_12") are not, because they are chosen so that
 * nothing else has them. */
bool ptx_is_own_name(const char *name);
/* Gives registers, labels, variables and parameters of f with such names others, so that a pass can
 * rewrite code that happens to use them. Module symbols keep their names. Returns 0, or leaves f
 * unchanged and returns -EINVAL or -ENOTSUP, explained in diags, or -ENOMEM. */
int ptx_free_names(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags);

/* A graft: one copy of the names of a source (the function whose code is copied), for use in a
 * target (the function that receives the code). Its names are registers, labels, prototypes, and
 * variables declared in the body (.local, .shared, .param of calls, .const). Each graft of a source
 * has its own registers and variables. Source and target belong to the same module m and can be the
 * same function. The graft only reads the source's statements. The source's body can be replaced
 * later, but the source must outlive the graft. */
struct ptx_graft;

/* Creates a graft, which copies code of function `source` into function `target`. Returns -ENOTSUP,
 * explained in diags, if the source's code cannot be copied:
 * - Its body declares a .global or .extern variable, which must not be duplicated.
 * - It declares a variable of unknown type.
 * - It is a device function with a .reg parameter.
 * - One of its unknown instructions names a parameter of the source, and target is another
 *   function.
 *
 * Other errors are -EINVAL (unmatched braces), -ENOMEM and -E2BIG. */
int ptx_graft_new(struct ptx_module *m, struct ptx_func *target, const struct ptx_func *source,
	struct diag_list *diags, struct ptx_graft **ret);
void ptx_graft_free(struct ptx_graft *g);

/* Returns a deep copy of statement s of the source (the copied function), with all names translated
 * to the target (the receiving function). The caller inserts the copy into the target's body. Line
 * and column stay those of the source. Insert the copy of each declaration, label and
 * .branchtargets only once. A parameter of the source that was not mapped stays a name of the
 * source's parameter; ptx_validate then reports an error, unless source and target are the same
 * function. */
struct ptx_stmt ptx_graft_stmt(struct ptx_graft *g, const struct ptx_stmt *s);
/* Returns the target's register. PTX_NO_REG stays unchanged. */
uint32_t ptx_graft_reg(const struct ptx_graft *g, uint32_t source_reg);
/* From now on copied statements use target_sym in place of source_sym (usually a parameter). Call
 * this before copying the first statement. */
void ptx_graft_map(
	struct ptx_graft *g, const struct ptx_sym *source_sym, struct ptx_sym *target_sym);
/* From now on copied statements use target_reg in place of source_reg, a register of the same type.
 * No instruction stored as text may name source_reg. Returns -E2BIG if more than PTX_COPY_SAME (4)
 * registers are mapped. */
int ptx_graft_map_reg(struct ptx_graft *g, uint32_t source_reg, uint32_t target_reg);
/* Returns -ENOMEM if any copy or map of this graft failed, else 0. After a failure the copies are
 * incomplete. */
int ptx_graft_error(const struct ptx_graft *g);

/* Parses items (variables, functions, directives) from text and adds them after those of m. Their
 * names resolve in m. For example, "`.visible .entry both(.param .u64 p)\n{\n}`" creates an empty
 * kernel, which can receive code. On -EINVAL the message is in diags and m is unchanged. */
int ptx_add_text(struct ptx_module *m, struct diag_list *diags, const char *text, size_t len);
/* ---- launch bounds: .maxntid, .reqntid, .minnctapersm, .maxnreg ---- */
struct ptx_bounds {                      /* 0 for a directive that is absent */
	uint32_t maxntid[3], reqntid[3]; /* dimensions missing from a directive are 1 */
	uint32_t minnctapersm, maxnreg;
};
void ptx_bounds_get(const struct ptx_func *f, struct ptx_bounds *ret);
/* Returns the greatest number of threads per block that these directives allow, or 0 if they set no
 * limit. */
uint32_t ptx_bounds_threads(const struct ptx_bounds *b);
/* Replaces f's launch-bound directives and leaves its other directives unchanged. Returns -EINVAL
 * if both maxntid and reqntid are set, or -ENOMEM. */
int ptx_bounds_set(struct ptx_module *m, struct ptx_func *f, const struct ptx_bounds *b);
/* Lowers .maxnreg to max, or adds it if f has none. The other directives stay as written. */
int ptx_bounds_lower_maxnreg(struct ptx_module *m, struct ptx_func *f, uint32_t max);
/* Adds a register limit (.maxnreg) if f has no limit. The new limit is the greatest with which f's
 * largest block can be launched. The reason is a bug of ptxas 12.8 to 13.3: without a limit these
 * versions choose one themselves, and can then compute values again from registers that are already
 * overwritten. This was seen on an H100 with driver 580, in the preemptible form of kernels/sort.cu
 * built by clang. With any limit the same form is correct. */
int ptx_bounds_state_registers(struct ptx_module *m, struct ptx_func *f);
/* Returns f's directive that launches its blocks in clusters, or NULL if f has none. */
const char *ptx_bounds_cluster(const struct ptx_func *f);
/* Reads the size of f's clusters in blocks (.reqnctapercluster), or zeros if the launch may choose
 * it. Returns whether the launch must choose it if f does not (.explicitcluster). */
bool ptx_bounds_cluster_size(const struct ptx_func *f, uint32_t ret_size[3]);

#endif
