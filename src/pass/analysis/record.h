/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Which instruction of which kernel each statement of a result comes from: what a pass says while
 * it writes, for whoever checks the result (verify.h). Recording changes nothing that is emitted.
 */
#ifndef HEDDLE_RECORD_H
#define HEDDLE_RECORD_H

#include "ptx/ptx.h"

#define PASS_OURS UINT32_MAX

struct pass_origin {
	uint32_t guest; /* number of the kernel; PASS_OURS: the statement is none of a kernel's */
	uint32_t insn;  /* the how-manieth instruction (PTX_INSN) of the plain function, from 0 */
};

/* A function of the result, by its statements; missing ones at the end are nobody's. */
struct pass_recorded {
	const struct ptx_func *f;
	VEC(struct pass_origin) of;
};

struct pass_record {
	/* The entry, and callees that a pass wrote anew. Callees that are not here were copied
	 * instruction by instruction. */
	VEC(struct pass_recorded) funcs;
	uint32_t guest;   /* whose code is being written */
	uint32_t ignored; /* instructions at its beginning that the plain one does not have */
};

/* All of it freed, ready for another one. */
void pass_record_finish(struct pass_record *r);
/* A function's statements; NULL: it has none. */
const struct pass_recorded *pass_record_find(const struct pass_record *r, const struct ptx_func *f);
/* For each statement of f the number of its instruction, PASS_OURS where it is none or one of the
 * first `ignored`. malloc'ed; NULL: out of memory. */
uint32_t *pass_record_numbers(const struct ptx_func *f, uint32_t ignored);

/* Of a body that is being written: by statement, a number as above. */
typedef VEC(uint32_t) pass_numbers;
/* Statements from `from` to before `to` have this number; those ahead that have none are ours. */
bool pass_record_note(pass_numbers *n, size_t from, size_t to, uint32_t number);
/* A function with these numbers, of the guest in hand. -ENOMEM. */
int pass_record_func(struct pass_record *r, const struct ptx_func *f, const pass_numbers *n);

#endif
