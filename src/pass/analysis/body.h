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
	/* a statement that takes the function's address; NULL: none */
	const struct ptx_stmt *taken;
	bool reads[PASS_IDS]; /* ids that the function or one of its callees reads */
	/* the function or a callee has barriers or warp operations; operations that need a whole
	 * warp do not count */
	bool barriers, warp_ops;
	/* the function or a callee has a volatile load or an atomic */
	bool observes;
	/* the function or a callee reads the size of its shared memory */
	bool sizes;
	/* true if the function or a callee names shared variables or reads the size of shared
	 * memory */
	bool shared;
};

/* An early exit: some lanes exit before later operations of their warp. On hardware those
 * operations do not wait for exited lanes. */
struct pass_leave {
	uint32_t at; /* index of the exiting statement: a guarded branch, ret or exit */
	bool taken;  /* true: lanes that take the branch exit; false: the other lanes exit */
};

/* How a worker implements the kernel's plain barriers. Threads that have exited from the kernel
 * stay alive in a worker. So if they skipped a barrier, the other threads would wait for them at
 * that barrier forever. */
enum pass_barriers {
	/* no barriers, or all threads reach each one: barriers stay unchanged */
	PASS_BAR_NONE,
	PASS_BAR_ACTIVE,     /* each plain barrier becomes a round (rounds.c) */
	PASS_BAR_ACTIVE_RED, /* as PASS_BAR_ACTIVE, and some barriers are reductions */
};

/* An exit path: a path from code that may still reach a barrier of kind PASS_BAR_ACTIVE to code
 * that cannot (emit_tails.c). */
struct pass_tail {
	size_t at; /* index of the branch or exit */
	/* first basic block of the path, or the graph's exit if the path is empty */
	uint32_t to;
	bool falls;  /* true: threads that do not take the branch follow the path */
	uint8_t *in; /* for each basic block: whether it belongs to the path */
};

#define PASS_MAX_TAILS 64 /* maximum per kernel */

/* Traits that can keep a pass from using a kernel. The facts keep the first occurrence of each
 * trait. preempt.c assigns a tier to each trait. fits.c says for each trait which code around the
 * body (struct pass_place) makes the kernel unusable. */
enum pass_trait {
	PASS_IS_FORM, /* a pass created the kernel */
	/* the module has 32-bit addresses or targets an architecture before sm_70 */
	PASS_IS_OTHER_MODULE,
	PASS_IS_CLUSTER,      /* uses thread block clusters */
	PASS_IS_GRID,         /* waits for its whole grid or affects the whole grid */
	PASS_IS_UNKNOWN,      /* contains an unknown instruction */
	PASS_CALLS_ELSEWHERE, /* calls a function that has no code in this module */
	PASS_USES_NAME,       /* uses a module symbol whose name is reserved for heddle's code */
	/* calls through a pointer a function that reads block ids or has a barrier */
	PASS_CALLS_POINTER,
	PASS_LAUNCHES, /* launches kernels itself */
	/* may pass function addresses to other kernels, or receive them (pointers.c) */
	PASS_SHARES_CODE,
	/* leaves asynchronous work in shared memory pending at the block's end */
	PASS_LEAVES_ASYNC,
	PASS_LASTS,            /* sets state that lasts until the thread ends */
	PASS_EXITS_DEEP,       /* a callee executes exit */
	PASS_BARRIER_REGISTER, /* has a barrier whose number is in a register */
	PASS_BARRIER_HALF,     /* some threads may be waiting at a barrier when the block ends */
	PASS_BARRIER_APART,    /* exited threads may miss a barrier that is not a round */
	PASS_NO_TAILS,         /* its exit paths cannot be duplicated (emit_tails.c) */
	PASS_LANES_LEFT,       /* lanes may have exited before a warp operation */
	PASS_SPINS_DEEP,       /* a callee has a spin loop, and the kernel has warp operations */
	PASS_READS_TOTAL,      /* reads the total size of shared memory */
	PASS_READS_GRID,       /* reads %gridid, which only debuggers use (PTX ISA) */
	PASS_USES_RESERVED,    /* uses shared memory that exists once per hardware block */
	PASS_RECURS,           /* a callee may call itself (recursion) */
	PASS_READS_WARP,       /* reads its warp id or the number of warps of its block */
	/* uses warpgroups: four warps, the first of which has a number that is a multiple of
	 * four */
	PASS_USES_WARPGROUP,
	PASS_ODD_PARAM, /* uses a parameter in a way that only parameter space allows */
	PASS_TRAITS
};
struct pass_finding {
	const char *reason; /* NULL: the kernel lacks the trait; allocated in the facts' arena */
	uint32_t line, col; /* position of the statement; 0: none */
};

#define PASS_NO_PARTING SIZE_MAX

struct pass_facts {
	struct arena arena;
	VEC(struct pass_callee) callees;
	const struct ptx_stmt *calls_pointer; /* the first call through a pointer; NULL: none */
	bool takes_code;                      /* the address of some function is taken */
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
	/* statement of the early exit after which the body is duplicated; PASS_NO_PARTING: none */
	size_t parting;
	uint16_t barrier_ids; /* bit mask of the barrier numbers that the kernel uses */
	bool counts;          /* some barrier has a thread count */
	/* True if barrier 0 has a thread count, or if not all threads reach it. Code around the
	 * body must then use a barrier with another number. */
	bool keeps_barrier_0;
	enum pass_barriers barriers;
	VEC(struct pass_tail) tails;
	VEC(struct pass_leave) leaves;
	struct pass_finding found[PASS_TRAITS];
	/* the n_found traits found so far, in the order in which they were found */
	enum pass_trait order[PASS_TRAITS];
	unsigned n_found;
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
