/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Maps each statement of the rewritten code to the instruction of the kernel that it comes from. A
 * pass fills the record while it writes; the verifier reads it (verify.h). Recording does not
 * change the emitted code. */
#ifndef HEDDLE_PASS_ORIGINS_H
#define HEDDLE_PASS_ORIGINS_H

#include "ptx/ptx.h"

#define PASS_OURS UINT32_MAX

struct pass_origin {
	uint32_t kernel; /* number of the kernel; PASS_OURS: the statement is from no kernel */
	uint32_t insn;   /* index of the instruction (PTX_INSN) in the original function */
};

/* The origins of a rewritten function's statements. Statements beyond the end of the array are
 * PASS_OURS (added by a pass). */
struct pass_recorded {
	const struct ptx_func *f;
	VEC(struct pass_origin) of;
};

struct pass_record {
	/* the functions of the rewritten code: the entry, and callees that a pass rewrote. Other
	 * callees were copied unchanged */
	VEC(struct pass_recorded) funcs;
	uint32_t kernel; /* number of the kernel whose code is being written */
	/* number of leading instructions of the body that the original function does not have */
	uint32_t ignored;
};

/* Frees the contents of r, which can then be used again. */
void pass_record_finish(struct pass_record *r);
/* Returns the record of a function, or NULL if there is none. */
const struct pass_recorded *pass_record_find(const struct pass_record *r, const struct ptx_func *f);
/* Returns, for each statement of f, the index of its instruction, or PASS_OURS for other statements
 * and for the first `ignored` instructions. The result is malloc'ed; NULL: out of
 * memory. */
uint32_t *pass_record_numbers(const struct ptx_func *f, uint32_t ignored);

/* By statement of a body that is being written: the index of the instruction that it comes from, or
 * PASS_OURS. */
typedef VEC(uint32_t) pass_numbers;
/* Gives the instruction index `number` to statements [from, to). Earlier statements without an
 * index become PASS_OURS. */
bool pass_record_note(pass_numbers *n, size_t from, size_t to, uint32_t number);
/* Adds a function of the current kernel, with the instruction indices of its statements. Returns 0
 * or -ENOMEM. */
int pass_record_func(struct pass_record *r, const struct ptx_func *f, const pass_numbers *n);

#endif
