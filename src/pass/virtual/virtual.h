/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A kernel's body as code that runs one virtual block (design: mechanism 1). What tied it to the
 * hardware launch becomes PTX operands that are valid where the body is put. */
#ifndef HEDDLE_VIRTUAL_H
#define HEDDLE_VIRTUAL_H

#include "pass/analysis/body.h"
#include "pass/virtual/writer.h"

struct pass_move { /* of a variable in shared memory */
	const struct ptx_sym *from;
	uint32_t at;      /* bytes behind the beginning of where all are moved to */
	const char *base; /* a register: behind this instead; or NULL */
};

/* Where a body is put, and what it finds there. NULL or 0: the hardware's own. */
struct pass_place {
	const struct pass_facts *facts; /* the body */

	const char *id[PASS_IDS]; /* 32-bit registers, constants or [addresses] */
	uint32_t first_thread;    /* of the hardware block's, the one that is the body's first;
				     the ids say so, too */

	/* Barriers: its number n is first + n. Each counts `threads`, a multiple of 32, where the
	 * hardware block has more. own, among: numbers that the body does not use, or its 0, for
	 * what stands around it: of all threads, and of these. */
	uint32_t threads;
	uint8_t barrier_first, own_barrier, among_barrier;
	bool filled_up; /* its last warp, with threads that are none of its own and return at once
			 */

	/* What is known only once it runs (task.h): 32-bit registers that hold a barrier's number,
	 * for 0, which is all that it then has, and how many threads that counts; where its words
	 * of rounds are; and where `moves` count from. NULL: the numbers and variables here. */
	const char *barrier, *count, *slot, *base;
	const char *fate; /* a register: not 0 once the thread has failed, and with it its block
			     (task_fail.c); NULL: none does so */
	bool whole_warps; /* the assembler cannot see that warps are whole: they gather */

	struct ptx_sym *shared;    /* where variables in shared memory are */
	const char *dynamic_bytes; /* of it, as its launch asks for */
	const struct pass_move *moves;
	size_t n_moves;

	const char *params;   /* a 64-bit register: where its parameters lie in global memory, as a
				 launch lays them out */
	bool params_anywhere; /* not in global memory: a generic address */

	/* Ways out. */
	bool real_exits;     /* threads that are done leave; control flow, and with it the form of
				barriers, is as it was */
	struct ptx_sym *end; /* else: where they all lead */
	bool followed;       /* other code runs behind it, with the same threads, barriers and
				shared memory: another block, or another kernel */

	/* Of the worker that it is in. */
	bool merged;                    /* it runs others, too (merge.c) */
	bool pull_ahead;                /* it can claim ahead */
	enum pass_order order;          /* from ticket to block */
	const struct ptx_sym *declared; /* ahead of the body */
};

/* fits.c: whether the body is right there; else why not. Reads only. */
bool pass_fits(const struct pass_place *at, struct pass_verdict *ret_why);
/* A callee that cannot be called as it is: for ids, for variables that are elsewhere, or for
 * barriers ahead of which lanes are to meet, or that are to count them. */
bool pass_needs_copy(const struct pass_place *at, const struct pass_callee *c);
/* Threads that are done stay, and answer the barriers of the others (rounds.c). */
static inline bool pass_has_rounds(const struct pass_place *at)
{
	return !at->real_exits && at->facts->barriers != PASS_BAR_NONE;
}

/* params_from.c: s, of f's body, where it loads a parameter or takes its address, from at->params.
 * False: it does neither, and nothing was written. */
bool pass_put_param(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at,
	const struct ptx_stmt *s);
void pass_virtual_regs(struct pass_writer *w);
/* Appends f's body as at says to w. */
int pass_put_body(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at);

#endif
