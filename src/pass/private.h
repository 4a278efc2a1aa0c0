/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What the files of this folder share: what was found out about a kernel, and a writer of code. */
#ifndef HEDDLE_PASS_PRIVATE_H
#define HEDDLE_PASS_PRIVATE_H

#include "cfg/cfg.h"
#include "pass/pass.h"
#include "pass/record.h"
#include "pass/rounds.h"

#define PASS_SLOT_BYTES   128   /* of shared memory that the emitted code takes (emit.h) */
#define PASS_SHARED_LIMIT 49152 /* static shared memory of an entry */

/* What tells a thread where it is: x, y and z of each. */
enum pass_id { PASS_CTAID = 0, PASS_NCTAID = 3, PASS_TID = 6, PASS_NTID = 9, PASS_IDS = 12 };

/* A function that the kernel reaches by calls; the kernel itself is the first. */
struct pass_callee {
	const struct ptx_func *f;
	struct ptx_func *clone;
	const struct ptx_stmt *taken; /* takes its address; NULL: nobody does */
	bool reads[PASS_IDS];         /* it or what it calls */
	bool barriers, warp_ops;      /* likewise; not those that need a whole warp */
	bool observes;                /* volatile loads or atomics, likewise */
	bool shared; /* names variables in shared memory, or asks for its size, likewise */
};

/* Where lanes leave ahead of operations of their warp that do not wait for them. */
struct pass_leave {
	uint32_t at; /* statement: a branch, ret or exit under a guard */
	bool taken;  /* those leave that take it, else those that do not */
};

/* How the kernel's plain barriers look once threads that are done stay alive. */
enum pass_barriers {
	PASS_BAR_NONE,       /* none, or all threads meet at each: nothing to do */
	PASS_BAR_ACTIVE,     /* each becomes a round (rounds.c) */
	PASS_BAR_ACTIVE_RED, /* the same, and there are reductions */
};

struct pass_facts {
	struct arena arena;
	VEC(struct pass_callee) callees;
	const struct ptx_stmt *calls_pointer; /* the first call through a pointer */
	bool takes_code;                      /* some address of a function is taken */
	bool spins, calls_spin;               /* it, or a function, has such a loop (rising.c) */
	struct cfg *g;
	struct cfg_uniformity *u;
	struct cfg_demand demand;
	bool uses_shared, has_barriers, cp_async, rising_order, one_dimensional;
	bool gathers;    /* lanes that leave a block wait for those of their warp (masks.c) */
	bool pull_ahead; /* to be emitted */
	size_t parting;  /* statement at which early lanes leave; PASS_NO_PARTING */
	const struct ptx_sym *moved; /* declared ahead of the body */
	uint8_t own_barrier;  /* a barrier that the kernel does not use otherwise, or its 0 */
	uint16_t barrier_ids; /* barriers that it names */
	bool counts;          /* some of them with a number of threads */
	uint32_t threads; /* of the block that it is run as, a multiple of 32, where that is less
			     than the hardware's; 0: all */
	uint8_t among_barrier; /* then: own_barrier's counterpart for these */
	uint8_t barrier_first; /* its barrier 0 is this one; the others follow */
	bool merged;           /* its worker runs others, too (merge.c) */
	enum pass_barriers barriers;
	VEC(struct pass_tail) tails;
	VEC(struct pass_leave) leaves;
	struct pass_verdict verdict;
};
/* Everything that the passes want to know of entry f; facts_finish also when it fails. */
int pass_facts_find(struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts);
void pass_facts_finish(struct pass_facts *facts);

/* callees.c */
const struct ptx_func *pass_call_target(const struct ptx_stmt *s); /* NULL: through a pointer */
int pass_callees_find(struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts);
/* Lowers the verdict; the first of the worst kind stays. Always false. */
bool pass_object(struct ptx_module *m, struct pass_facts *facts, enum pass_tier tier,
	const struct ptx_stmt *s, const char *fmt, ...) HD_PRINTF(5, 6);
/* What s calls. NULL: through a pointer, or code that is not here. */
const struct pass_callee *pass_called(const struct pass_facts *facts, const struct ptx_stmt *s);
/* pointers.c: holds a kernel that may give addresses of functions to others, or get them. */
int pass_check_pointers(struct ptx_module *m, struct pass_facts *facts);

/* rising.c: a loop of one of the functions waits for memory that another block may write, or spins:
 * it holds an atomic or volatile access. */
int pass_find_rising(struct pass_facts *facts);
/* warps.c: tier by barriers and warp operations under divergent control. */
int pass_check_sync(struct ptx_module *m, struct pass_facts *facts);
void pass_check_spins(struct ptx_module *m, struct pass_facts *facts); /* once it is known */
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
	struct pass_record *record; /* NULL: nobody asks where code comes from */
	pass_numbers numbers;       /* then: of out, as far as it is a kernel's */
};
void pass_emit(struct pass_writer *w, const char *fmt, ...) HD_PRINTF(2, 3);
void pass_put(struct pass_writer *w, const char *text); /* no format */
void pass_copy(struct pass_writer *w, const struct ptx_stmt *s);
struct ptx_stmt *pass_last(struct pass_writer *w); /* the statement emitted last; NULL on error */

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
