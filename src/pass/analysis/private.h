/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What the files of this folder share: how facts are found (body.h), and a writer of code. */
#ifndef HEDDLE_PASS_PRIVATE_H
#define HEDDLE_PASS_PRIVATE_H

#include "pass/analysis/body.h"
#include "pass/analysis/record.h"

#define PASS_SLOT_BYTES   128   /* of shared memory that the emitted code takes (emit.h) */
#define PASS_SHARED_LIMIT 49152 /* static shared memory of an entry */

/* callees.c */
const struct ptx_func *pass_call_target(const struct ptx_stmt *s); /* NULL: through a pointer */
int pass_callees_find(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts);
/* What s calls. NULL: through a pointer, or code that is not here. */
const struct pass_callee *pass_called(const struct pass_facts *facts, const struct ptx_stmt *s);
/* pointers.c: notes a kernel that may give addresses of functions to others, or get them. */
int pass_check_pointers(struct pass_facts *facts);

/* params_from.c: a parameter of f that s names other than by loading it or taking its address; and
 * whether s, with an address, counts on the space that they are in. */
const struct ptx_sym *pass_odd_param(const struct ptx_func *f, const struct ptx_stmt *s);
bool pass_knows_param_space(const struct ptx_func *f, const struct ptx_stmt *s);
/* rising.c: a loop of one of the functions waits for memory that another block may write, or spins:
 * it holds an atomic or volatile access. */
int pass_find_rising(struct pass_facts *facts);
/* warps.c: traits of barriers and warp operations under divergent control. */
int pass_check_sync(struct pass_facts *facts);
void pass_check_spins(struct pass_facts *facts);      /* once it is known */
bool pass_is_plain_barrier(const struct ptx_stmt *s); /* number 0, no count, not arrive */
bool pass_needs_whole_warp(const struct ptx_stmt *s); /* matrices: no lane can have left */
/* masks.c: the operand that names whom a warp operation waits for; NULL: none does. */
const struct ptx_opd *pass_mask_of(const struct ptx_stmt *s);
/* Of a warp operation whose mask holds no lane that parted at the end of a block, and
 * left, the block where the mask is from, else CFG_NONE. */
struct pass_masks;
int pass_masks_find(struct arena *a, const struct cfg *g, struct pass_masks **ret);
uint32_t pass_young_mask(struct pass_masks *m, uint32_t parting, const struct ptx_stmt *s);
/* A block such that its mask holds only lanes that went one way at the end of that, else CFG_NONE.
 */
uint32_t pass_mask_of_stayers(struct pass_masks *m, const struct ptx_stmt *s);
/* A way from the beginning of a block to that of another, through neither of two. */
bool pass_way_leads(struct pass_masks *m, uint32_t from, uint32_t to, const uint32_t past[2]);

/* Writes a new body. Errors stick. */
struct pass_writer {
	struct ptx_module *m;
	struct ptx_func *f;
	ptx_body out;
	struct diag_list *diags;
	int error;
	VEC(struct ptx_func *) copies; /* of callees, which the body calls instead */
	struct pass_record *record;    /* NULL: nobody asks where code comes from */
	pass_numbers numbers;          /* then: of out, as far as it is a kernel's */
};
void pass_writer_finish(struct pass_writer *w); /* all but out */
void pass_emit(struct pass_writer *w, const char *fmt, ...) HD_PRINTF(2, 3);
void pass_put(struct pass_writer *w, const char *text); /* no format */
void pass_copy(struct pass_writer *w, const struct ptx_stmt *s);
int pass_ahead(
	struct pass_writer *w); /* what is written comes ahead of w->f's body; w is finished */
/* Gives everything written since `from` the guard of s, and its place. */
void pass_guard_since(struct pass_writer *w, size_t from, const struct ptx_stmt *s);
struct ptx_stmt *pass_last(struct pass_writer *w); /* the statement emitted last; NULL on error */
/* A register as an operand, by its name; type: "b32" or "b64". */
struct ptx_opd pass_operand(struct pass_writer *w, const char *type, const char *name);

/* unread.c: registers of f that some instruction reads, a bit each, malloc'ed (NULL: out of
 * memory); whether s is an atomic that `red` can stand for; and one's mnemonic the other's. */
uint64_t *pass_find_read(const struct ptx_func *f);
bool pass_is_unread(const struct ptx_stmt *s, const uint64_t *read);
bool pass_is_reduction_of(const struct ptx_mnem *red, const struct ptx_mnem *atom);

/* together.c: the early return behind which the body is written twice, for warps that all stay and
 * for others; and labels of the second copy. */
#define PASS_NO_PARTING SIZE_MAX
struct pass_twin {
	const struct ptx_sym *from;
	struct ptx_sym *to;
};
typedef VEC(struct pass_twin) pass_twins;
bool pass_stands_once(const struct ptx_stmt *s); /* cannot be written twice */
size_t pass_find_parting(const struct pass_facts *facts);
int pass_twins_find(struct pass_writer *w, const struct ptx_func *f, size_t from, pass_twins *t);
struct ptx_sym *pass_twin_of(const pass_twins *t, const struct ptx_sym *sym); /* NULL: none */
struct ptx_stmt pass_twin_stmt(struct ptx_module *m, pass_twins *t, const struct ptx_stmt *s);

#endif
