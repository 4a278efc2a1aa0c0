/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Turns a kernel's body into code that runs one virtual block (a block of the grid, at any place in
 * other code). Whatever the body gets from the hardware launch becomes a PTX operand that is valid
 * at that place. */
#ifndef HEDDLE_VIRTUAL_H
#define HEDDLE_VIRTUAL_H

#include "pass/analysis/body.h"
#include "pass/virtual/writer.h"

struct pass_move { /* where a variable is moved in shared memory */
	const struct ptx_sym *from;
	uint32_t at;      /* byte offset from the base */
	const char *base; /* base register; NULL: the common base of all moved variables */
};

/* The place of a body in other code, and the operands that the body gets there. A field that is
 * NULL or 0 means: as in a hardware launch. */
struct pass_place {
	const struct pass_facts *facts; /* facts of the body */

	/* operands that replace the ids: 32-bit registers, constants or [addresses] */
	const char *id[PASS_IDS];
	/* number of the hardware block's thread that is the body's first one; the ids in id[] take
	 * it into account */
	uint32_t first_thread;

	/* Barriers. Barrier n of the body gets the number barrier_first + n. If the hardware block
	 * has more threads than the body, each barrier of the body counts `threads`, a multiple of
	 * 32. Code around the body uses barrier own_barrier for all threads of the hardware block,
	 * and barrier among_barrier for the body's threads. The body does not use these two
	 * numbers, except for barriers that replace its barrier 0. */
	uint32_t threads;
	uint8_t barrier_first, own_barrier, among_barrier;
	bool filled_up; /* extra threads in the last warp return at once */

	/* Operands that are known only at run time (ctl/task.h), in 32-bit registers:
	 * - barrier: the number that replaces barrier 0, which is then the body's only barrier
	 * - count: the thread count of that barrier
	 * - slot: the address to which the offsets of rounds.c are added
	 * - base: the base address of `moves`
	 *
	 * If NULL, the numbers and variables above are used. */
	const char *barrier, *count, *slot, *base;
	/* a register that is not 0 if the thread, and hence its block, has failed (task_fail.c);
	 * NULL: threads do not fail */
	const char *failure;
	/* true if ptxas cannot prove that warps are whole, so that lanes must reconverge before
	 * barriers */
	bool whole_warps;

	struct ptx_sym *shared;    /* variable that contains all moved variables */
	const char *dynamic_bytes; /* size of dynamic shared memory that the launch requests */
	const struct pass_move *moves;
	size_t n_moves;

	/* a 64-bit register with the address of the parameters in global memory, in the layout of a
	 * launch; NULL: in parameter space */
	const char *params;
	bool params_anywhere; /* `params` is a generic address; false: a global address */

	/* Exits. */
	/* True if threads that exit from the body really exit. Control flow and the form of
	 * barriers then stay unchanged. */
	bool real_exits;
	struct ptx_sym *end; /* if exits are not real: the label to which all of them lead */
	/* true if other code with the same threads, barriers and shared memory follows the body:
	 * another block or another kernel */
	bool followed;

	/* The worker that contains the body. */
	bool merged;                    /* the worker also runs other kernels (merge.c) */
	bool pull_ahead;                /* the worker may claim blocks early */
	enum pass_order order;          /* mapping from tickets to blocks */
	const struct ptx_sym *declared; /* a variable that is declared before the body */
};

/* fits.c: returns whether the body works at the place; if not, *ret_why says why. Changes
 * nothing. */
bool pass_fits(const struct pass_place *at, struct pass_verdict *ret_why);
/* Returns whether a callee must be replaced by a copy: the callee reads ids that the place
 * replaces, uses moved shared memory, or has barriers that the place changes. A barrier is changed
 * if it gets another number or a thread count, or if lanes must reconverge before it. */
bool pass_needs_copy(const struct pass_place *at, const struct pass_callee *c);
/* Returns whether threads that exit stay and execute the other threads' barriers (rounds.c). */
static inline bool pass_has_rounds(const struct pass_place *at)
{
	return !at->real_exits && at->facts->barriers != PASS_BAR_NONE;
}

/* params_from.c: if s, a statement of f's body, loads a parameter or takes its address, emits the
 * statement with at->params and returns true. Otherwise emits nothing and returns false. */
bool pass_put_param(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at,
	const struct ptx_stmt *s);
void pass_virtual_regs(struct pass_writer *w);
/* Appends f's body to w with the changes that `at` requires. */
int pass_put_body(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at);

#endif
