/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Turns a kernel's body into code that runs one virtual block (design: mechanism 1). Every
 * dependence on the hardware launch becomes a PTX operand that is valid where the body is
 * placed. */
#ifndef HEDDLE_VIRTUAL_H
#define HEDDLE_VIRTUAL_H

#include "pass/analysis/body.h"
#include "pass/virtual/writer.h"

struct pass_move { /* new location of a variable in shared memory */
	const struct ptx_sym *from;
	uint32_t at;      /* offset in bytes from the moved variables' common base */
	const char *base; /* a register to use as base instead; NULL: the common base */
};

/* Where a body is placed, and the operands that it gets there. NULL or 0: as in a hardware
 * launch. */
struct pass_place {
	const struct pass_facts *facts; /* facts of the body */

	/* operands for the ids: 32-bit registers, constants or [addresses] */
	const char *id[PASS_IDS];
	/* index of the body's first thread in the hardware block; the ids account for it */
	uint32_t first_thread;

	/* Barriers. Barrier n of the body gets number first + n. Each counts `threads`, a multiple
	 * of 32, if the hardware block has more threads. own and among are barriers for the
	 * surrounding code, of all threads and of the body's threads. Their numbers are unused by
	 * the body, or its barrier 0. */
	uint32_t threads;
	uint8_t barrier_first, own_barrier, among_barrier;
	bool filled_up; /* the last warp is filled up with extra threads that return at once */

	/* Operands known only at run time (task.h), in 32-bit registers: the number that replaces
	 * barrier 0, which is then the body's only barrier; its thread count; the address of the
	 * rounds' words; and the base of `moves`. NULL: the numbers and variables above. */
	const char *barrier, *count, *slot, *base;
	/* a register that is not 0 once the thread, and hence its block, failed (task_fail.c);
	 * NULL: threads do not fail */
	const char *fate;
	bool whole_warps; /* ptxas cannot prove that warps are whole, so barriers gather them */

	struct ptx_sym *shared;    /* the variable that holds all moved variables */
	const char *dynamic_bytes; /* size of dynamic shared memory that the launch requests */
	const struct pass_move *moves;
	size_t n_moves;

	/* a 64-bit register: address of the parameters in global memory, in launch layout */
	const char *params;
	bool params_anywhere; /* `params` is a generic address, not one of global memory */

	/* Exits. */
	/* exiting threads really exit; control flow, and so the form of barriers, stays
	 * unchanged */
	bool real_exits;
	struct ptx_sym *end; /* else: the label that all exits lead to */
	/* other code follows the body with the same threads, barriers and shared memory: another
	 * block or another kernel */
	bool followed;

	/* The worker around the body. */
	bool merged;                    /* the worker runs other kernels, too (merge.c) */
	bool pull_ahead;                /* the worker may claim early */
	enum pass_order order;          /* how tickets map to blocks */
	const struct ptx_sym *declared; /* a variable declared before the body */
};

/* fits.c: whether the body is legal at the place; if not, why. Changes nothing. */
bool pass_fits(const struct pass_place *at, struct pass_verdict *ret_why);
/* Whether a callee must be replaced by a copy: because it reads ids, uses moved variables, or has
 * barriers that must gather lanes or get a thread count. */
bool pass_needs_copy(const struct pass_place *at, const struct pass_callee *c);
/* Whether exited threads stay and answer the others' barriers (rounds.c). */
static inline bool pass_has_rounds(const struct pass_place *at)
{
	return !at->real_exits && at->facts->barriers != PASS_BAR_NONE;
}

/* params_from.c: if s, a statement of f's body, loads a parameter or takes its address, emits it
 * with at->params. False: s does neither, and nothing was emitted. */
bool pass_put_param(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at,
	const struct ptx_stmt *s);
void pass_virtual_regs(struct pass_writer *w);
/* Appends f's body to w, changed as `at` requires. */
int pass_put_body(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at);

#endif
