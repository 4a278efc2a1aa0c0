/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Several kernels' bodies in one entry: what merging and fusing share. A guest goes through
 * import -> look -> lay out -> params -> its code, written in terms of its own function -> graft.
 */
#ifndef HEDDLE_GUESTS_H
#define HEDDLE_GUESTS_H

#include <stdarg.h>

#include "pass/merge.h"
#include "pass/worker/worker.h"
#include "ptx/graft.h"

#define GUESTS_MAX_PIECES 8
#define GUESTS_MAX_EXITS  8
#define GUESTS_MAX        32

struct guest {
	struct ptx_func *f; /* in the module made, until it is dropped */
	struct pass_facts facts;
	bool found; /* facts are to be finished */
	struct pass_place at;
	char size[3][16], dynamic[16]; /* of its block, of its dynamic shared memory: operands */
	uint32_t block[3];
	uint32_t threads; /* of its block, a multiple of 32 */
	VEC(struct pass_move) moves;
	uint32_t shared_at, shared_bytes, dynamic_bytes; /* shared_bytes: all that it needs */
	size_t n_params;                                 /* of its own */
	uint32_t own_bytes;
	struct ptx_sym *own_args, *args;    /* struct ctl_args as it names them, and the host */
	VEC(struct ptx_sym *) params;       /* the host's */
	size_t from[GUESTS_MAX_PIECES + 1]; /* pieces of its body as it was rewritten */
	struct ptx_sym *exits[GUESTS_MAX_EXITS], *to[GUESTS_MAX_EXITS]; /* labels outside of them:
									   its own, the host's */
	struct ptx_graft *graft;
	uint32_t added;            /* instructions at its beginning that are ours */
	pass_numbers numbers;      /* of the body as it was rewritten, where they are recorded */
	char slot[48], ticket[48]; /* what the host calls its %hd_s and %hd_t */
};

struct guests {
	struct ptx_module *m;
	struct ptx_func *host;
	struct ptx_sym *pool; /* all shared memory of all guests */
	struct diag_list *diags;
	struct pass_record *record; /* or NULL */
	unsigned n, which;          /* which: the one that an error is about */
	struct pass_verdict verdict;
	unsigned last;    /* fused vertically: the one that comes last */
	bool as_is;       /* every block has the entry's own shape */
	uint32_t threads; /* of the entry's blocks */
	uint32_t pool_align;
	uint32_t per_sm;        /* of the entry's blocks an SM shall hold so many; 0: as it comes */
	unsigned barrier;       /* of all threads of the entry's blocks */
	uint32_t max_registers; /* of the entry; 0: no bound */
	void *user;             /* of a way of fusing (fuse.h) */
	struct guest of[GUESTS_MAX];
};

uint32_t pass_threads(const uint32_t block[3]);

/* x->n, diags, as_is, threads are set. 0; -ENOTSUP: x->verdict says why guest x->which cannot be,
 * or else diags do; other negative errno with diags. */
int guests_import(struct guests *x, const struct pass_guest *from, const char *entry);
/* For places where parameters are no constants to the assembler: what it fuses on their account is
 * one instruction (contract.h). */
int guests_settle(struct guests *x);
/* What is true of guest k, once x->threads is known; and its place, as far as it is the same for
 * all: shared memory, from shared_at on, threads, from at.first_thread on, ids. */
int guests_look(struct guests *x, unsigned k, const struct pass_guest *from);
/* Whether it is right there (virtual.h), its block's shape included; else -ENOTSUP, with the reason
 * as it stands in the kernel itself. */
int guests_fit(struct guests *x, unsigned k, const struct pass_guest *from);
int guests_refuse(struct guests *x, unsigned k, const char *fmt, ...) HD_PRINTF(3, 4);
/* Why a kernel cannot be put so: into *ret, its text in the arena. Returns -ENOTSUP, or -ENOMEM. */
int pass_refuse(struct arena *a, struct pass_verdict *ret, const char *fmt, va_list ap);
/* Chooses a barrier for all threads of the entry's blocks, and where blocks are of different sizes
 * one for those that each has. -ENOTSUP: none is free. */
int guests_barrier(struct guests *x);
void guests_put_barrier(struct guests *x, struct pass_writer *w);
/* All guests' parameters to the host, struct ctl_args ahead of each; last: one more. */
int guests_params(struct guests *x, const char *last, struct pass_merged *ret);
/* Of one guest: its own, as they are, and then struct ctl_args. */
int guests_harness_params(struct guests *x);
/* struct ctl_args as a parameter of the guest itself, by which its code names them. */
int guests_own_args(struct guests *x, unsigned k);
/* The guest's code begins: its struct ctl_args, and what its body counts rounds with. */
int guests_begin(struct guests *x, unsigned k, struct pass_writer *w);
/* The body as a block whose ids are in %hd_x, %hd_y and %hd_z, behind it its end. */
void guests_put_body(struct guests *x, unsigned k, struct pass_writer *w);
/* The words that rounds count in, before anybody comes to one. */
void guests_rounds_ready(const struct guest *g, struct pass_writer *w);
/* Labels outside of the pieces; the statements are the last of w and are not copied. */
void guests_put_exits(struct guest *g, struct pass_writer *w, const char *const *names, unsigned n);
/* The rewritten body becomes the guest's, ready to be put, and w is finished; exits[i] are mapped
 * to to[i]. */
int guests_graft(struct guests *x, unsigned k, struct pass_writer *w, unsigned n_exits);
/* The statement that is written next is guest k's instruction `number`, or ours. */
void guests_note(struct guests *x, struct pass_writer *w, unsigned k, uint32_t number);
void guests_put_piece(struct guests *x, struct pass_writer *w, unsigned k, unsigned piece);
/* Drops the guests, gives the host its body, its bounds, and looks at all of it. */
int guests_seal(struct guests *x, struct pass_writer *w, const uint32_t block[3]);
/* Frees all but the module, and that, too, unless r is 0; the reason of -ENOTSUP to ret_verdict. */
void guests_finish(struct guests *x, int r, struct pass_verdict *ret_verdict);

#endif
