/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Facts about a kernel that do not depend on any one pass. pass_facts_find computes them once;
 * afterwards they are only read. struct pass_place (virtual.h) says what code a pass puts around
 * the kernel's body. Each pass decides itself whether the kernel works inside that code. */
#ifndef HEDDLE_PASS_BODY_H
#define HEDDLE_PASS_BODY_H

#include "cfg/cfg.h"
#include "pass/pass.h"

/* The ids that special registers hold. Each of them stands for three ids: x, and y and z at the
 * next two numbers. */
enum pass_id { PASS_CTAID = 0, PASS_NCTAID = 3, PASS_TID = 6, PASS_NTID = 9, PASS_IDS = 12 };

/* A function that the kernel reaches through calls. The kernel itself is the first one. */
struct pass_callee {
	const struct ptx_func *f;
	const struct ptx_stmt *taken; /* a statement that takes its address; NULL: none */
	bool reads[PASS_IDS];         /* ids that the function or its callees read */
	bool barriers, warp_ops;      /* transitive; not the operations that need a whole warp */
	bool observes;                /* volatile loads or atomics, transitive */
	bool sizes;                   /* reads the size of its shared memory, transitive */
	/* true if the function or a callee names shared variables or reads the size of shared
	 * memory */
	bool shared;
};

/* An early exit: some lanes exit before later operations of their warp. On hardware those
 * operations do not wait for exited lanes. */
struct pass_leave {
	uint32_t at; /* index of the statement: a guarded branch, ret or exit */
	bool taken;  /* lanes that take it leave; else lanes that do not take it */
};

/* How a worker implements the kernel's plain barriers. Threads that have exited from the kernel
 * stay alive in a worker. So if they skipped a barrier, the other threads would wait for them at
 * that barrier forever. */
enum pass_barriers {
	PASS_BAR_NONE,       /* no barriers, or all threads meet at each: unchanged */
	PASS_BAR_ACTIVE,     /* each plain barrier becomes a round (rounds.c) */
	PASS_BAR_ACTIVE_RED, /* the same, and some are reductions */
};

/* An exit path: a path from code that may still reach a barrier of kind PASS_BAR_ACTIVE to code
 * that cannot (emit_tails.c). */
struct pass_tail {
	size_t at; /* the branch, or exit */
	/* first basic block of the path; the path is empty if this is the exit of the graph */
	uint32_t to;
	bool falls;  /* threads that do not take the branch follow the path */
	uint8_t *in; /* per block: whether it belongs to the path */
};

#define PASS_MAX_TAILS 64 /* per kernel */

/* Traits that can keep a pass from using a kernel. The facts keep the first occurrence of each
 * trait. preempt.c assigns a tier to each trait. fits.c says for each trait which code around the
 * body (struct pass_place) makes the kernel unusable. */
enum pass_trait {
	PASS_IS_FORM,         /* was made by a pass */
	PASS_IS_OTHER_MODULE, /* 32-bit addresses, or a target before sm_70 */
	PASS_IS_CLUSTER,      /* thread block clusters */
	PASS_IS_GRID,         /* waits for its whole grid, or affects it */
	PASS_IS_UNKNOWN,      /* holds an unknown instruction */
	PASS_CALLS_ELSEWHERE, /* calls a function without code in this module */
	PASS_USES_NAME,       /* uses a module symbol with a name of heddle's own code */
	PASS_CALLS_POINTER,   /* to a function that reads block ids or has a barrier */
	PASS_LAUNCHES,        /* launches kernels itself */
	/* may pass function addresses to other kernels, or receive them (pointers.c) */
	PASS_SHARES_CODE,
	PASS_LEAVES_ASYNC,     /* pending work in shared memory that ends with the block */
	PASS_LASTS,            /* sets a state that lasts until the thread ends */
	PASS_EXITS_DEEP,       /* executes exit in a callee */
	PASS_BARRIER_REGISTER, /* holds a barrier number in a register */
	PASS_BARRIER_HALF,     /* may leave a barrier half full at the block's end */
	PASS_BARRIER_APART,    /* exited threads may miss it, and it is not a round */
	PASS_NO_TAILS,         /* its exit paths cannot be duplicated (emit_tails.c) */
	PASS_LANES_LEFT,       /* lanes may have exited before an operation of their warp */
	PASS_SPINS_DEEP,       /* a callee spins, and the kernel has warp operations */
	PASS_READS_TOTAL,      /* reads the size of all shared memory */
	PASS_READS_GRID,       /* reads its grid's number, which only debuggers use (PTX ISA) */
	PASS_USES_RESERVED,    /* uses shared memory that each hardware block has once */
	PASS_RECURS,           /* one of its callees may call itself */
	PASS_READS_WARP,       /* reads its warp id, or the number of warps of its block */
	/* uses warpgroups: four warps, the first of which has a number that is a multiple of
	 * four */
	PASS_USES_WARPGROUP,
	PASS_ODD_PARAM, /* uses a parameter in a way that only a parameter allows */
	PASS_TRAITS
};
struct pass_finding {
	const char *reason; /* NULL: the kernel lacks the trait; lives in the facts' arena */
	uint32_t line, col; /* of the statement; 0: none */
};

#define PASS_NO_PARTING SIZE_MAX

struct pass_facts {
	struct arena arena;
	VEC(struct pass_callee) callees;
	const struct ptx_stmt *calls_pointer; /* the first call through a pointer */
	bool takes_code;                      /* some address of a function is taken */
	/* spins: true if the kernel itself has a loop with an atomic or volatile access (rising.c);
	 * calls_spin: true if a callee has such a loop */
	bool spins, calls_spin;
	/* true if a loop of the kernel or of a callee may wait for any other thread, even for a
	 * thread of the same warp */
	bool waits;
	/* the statement that made rising_order true, in the kernel or a callee; NULL: no single
	 * statement */
	const struct ptx_stmt *waits_at;
	struct cfg *g;
	struct cfg_uniformity *u;
	struct cfg_demand demand;
	bool uses_shared, has_barriers, cp_async, rising_order, one_dimensional;
	/* true if lanes that finish a block of the grid must wait for the other lanes of their warp
	 * before they begin the next block (masks.c) */
	bool gathers;
	size_t parting;       /* statement of the early exit; PASS_NO_PARTING: none */
	uint16_t barrier_ids; /* numbers of the barriers that the kernel uses */
	bool counts;          /* some barriers have a thread count */
	/* True if barrier 0 has a thread count, or if not all threads reach it. Code around the
	 * body must then use a barrier with another number. */
	bool keeps_barrier_0;
	enum pass_barriers barriers;
	VEC(struct pass_tail) tails;
	VEC(struct pass_leave) leaves;
	struct pass_finding found[PASS_TRAITS];
	enum pass_trait order[PASS_TRAITS]; /* traits in the order in which they were found, */
	unsigned n_found;                   /* n_found of them */
};
/* Computes all facts of entry f. The caller must call pass_facts_finish, also after a failure. */
int pass_facts_find(const struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts);
void pass_facts_finish(struct pass_facts *facts);
/* Gives entry f and the functions that it reaches names that passes do not use (ptx_free_names).
 * Does nothing for a form of a pass. */
int pass_free_names(struct ptx_module *m, const struct ptx_func *f, struct diag_list *diags);
/* Returns why kernel f is too large for heddle's analyses, with the limit, in arena a; NULL: it is
 * not. Takes time in proportion to the kernel's size. Callers check this before anything else. */
const char *pass_too_large(struct arena *a, const struct ptx_module *m, const struct ptx_func *f);
/* Returns the parameter that shows that entry f was made by a pass; NULL: it was not. */
const struct ptx_sym *pass_form_param(const struct ptx_func *f);
/* for the parameter's name */
#define PASS_FORM_REASON \
	"is a form that heddle made (it has the parameter '%s'): use the original kernel"

/* Records a trait, unless an earlier occurrence is recorded. Always returns false. */
bool pass_note(struct pass_facts *facts, enum pass_trait trait, const struct ptx_stmt *s,
	const char *fmt, ...) HD_PRINTF(4, 5);
static inline bool pass_has(const struct pass_facts *facts, enum pass_trait trait)
{
	return facts->found[trait].reason != NULL;
}

#endif
