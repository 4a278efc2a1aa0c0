/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What is true of a kernel, whoever asks. It is found once (pass_facts_find) and only read
 * afterwards: what becomes of it is a place (virtual.h), and whether a pass can use it, that pass's
 * verdict. */
#ifndef HEDDLE_PASS_BODY_H
#define HEDDLE_PASS_BODY_H

#include "cfg/cfg.h"
#include "pass/pass.h"

/* What tells a thread where it is: x, y and z of each. */
enum pass_id { PASS_CTAID = 0, PASS_NCTAID = 3, PASS_TID = 6, PASS_NTID = 9, PASS_IDS = 12 };

/* A function that the kernel reaches by calls; the kernel itself is the first. */
struct pass_callee {
	const struct ptx_func *f;
	const struct ptx_stmt *taken; /* takes its address; NULL: nobody does */
	bool reads[PASS_IDS];         /* it or what it calls */
	bool barriers, warp_ops;      /* likewise; not those that need a whole warp */
	bool observes;                /* volatile loads or atomics, likewise */
	bool sizes;                   /* asks for the size of its shared memory, likewise */
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

/* A way from code that may still meet a round to code that cannot (tails.c). */
struct pass_tail {
	size_t at;   /* the branch, or exit */
	uint32_t to; /* block where it begins; the graph's exit: nothing is left to do */
	bool falls;  /* who does not take the branch goes there */
	uint8_t *in; /* for each block: belongs to it */
};

#define PASS_MAX_TAILS 64 /* of one kernel */

/* What may stand in a pass's way; of each kind the first place is kept. Whom it concerns: preempt.c
 * has a tier for each, fits.c says where a body with it cannot be put. */
enum pass_trait {
	PASS_IS_OTHER_MODULE,  /* 32-bit addresses, or written for what came before sm_70 */
	PASS_IS_CLUSTER,       /* of blocks that know each other */
	PASS_IS_GRID,          /* waits for, or concerns, its whole grid */
	PASS_IS_UNKNOWN,       /* holds an instruction that is not known */
	PASS_CALLS_ELSEWHERE,  /* code that is not here */
	PASS_CALLS_POINTER,    /* to what reads block ids, or has a barrier */
	PASS_LAUNCHES,         /* kernels, itself */
	PASS_SHARES_CODE,      /* addresses of functions, with other kernels (pointers.c) */
	PASS_LEAVES_ASYNC,     /* work in shared memory that ends with the block */
	PASS_LASTS,            /* what it sets ends with the thread */
	PASS_EXITS_DEEP,       /* exit within a function */
	PASS_BARRIER_REGISTER, /* holds the number of a barrier */
	PASS_BARRIER_HALF,     /* may be left so at the block's end */
	PASS_BARRIER_APART,    /* may be met when threads have left, and is no round */
	PASS_NO_TAILS,         /* its ways past barriers cannot be written again (tails.c) */
	PASS_LANES_LEFT,       /* ahead of operations of their warp */
	PASS_SPINS_DEEP,       /* in a function, and there are operations of warps */
	PASS_READS_TOTAL,      /* the size of all shared memory */
	PASS_USES_RESERVED,    /* shared memory that each hardware block has once */
	PASS_RECURS,           /* a function that it calls may call itself */
	PASS_READS_WARP,       /* its number among the block's, or theirs */
	PASS_USES_WARPGROUP,   /* four warps, of which the first's number is a multiple of four */
	PASS_ODD_PARAM,        /* used as only a parameter can be */
	PASS_TRAITS
};
struct pass_finding {
	const char *reason; /* NULL: it has no such trait. In the facts' arena */
	uint32_t line, col; /* of the statement; 0: none */
};

#define PASS_NO_PARTING SIZE_MAX

struct pass_facts {
	struct arena arena;
	VEC(struct pass_callee) callees;
	const struct ptx_stmt *calls_pointer; /* the first call through a pointer */
	bool takes_code;                      /* some address of a function is taken */
	bool spins, calls_spin;               /* it, or a function, has such a loop (rising.c) */
	bool waits; /* a loop of it, or of a function, may wait for any other thread, also one of
		       its own warp */
	const struct ptx_stmt
		*waits_at; /* of rising_order, in it or a function; NULL: no one place */
	struct cfg *g;
	struct cfg_uniformity *u;
	struct cfg_demand demand;
	bool uses_shared, has_barriers, cp_async, rising_order, one_dimensional;
	bool gathers;         /* lanes that leave a block wait for those of their warp (masks.c) */
	size_t parting;       /* statement at which early lanes leave; PASS_NO_PARTING */
	uint16_t barrier_ids; /* barriers that it names */
	bool counts;          /* some of them with a number of threads */
	bool keeps_barrier_0; /* not all threads come to it, or a count says who: what stands around
				 the body needs another */
	enum pass_barriers barriers;
	VEC(struct pass_tail) tails;
	VEC(struct pass_leave) leaves;
	struct pass_finding found[PASS_TRAITS];
	enum pass_trait order[PASS_TRAITS]; /* in which they were found, */
	unsigned n_found;                   /* so many */
};
/* Everything that the passes want to know of entry f; facts_finish also when it fails. */
int pass_facts_find(const struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts);
void pass_facts_finish(struct pass_facts *facts);

/* Notes a trait; the first place stays. Always false. */
bool pass_note(struct pass_facts *facts, enum pass_trait trait, const struct ptx_stmt *s,
	const char *fmt, ...) HD_PRINTF(4, 5);
static inline bool pass_has(const struct pass_facts *facts, enum pass_trait trait)
{
	return facts->found[trait].reason != NULL;
}

#endif
