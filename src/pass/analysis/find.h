/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The steps of pass_facts_find (body.h), in their order: each fills in some of the facts. 0, or a
 * negative errno. */
#ifndef HEDDLE_PASS_FIND_H
#define HEDDLE_PASS_FIND_H

#include "pass/analysis/body.h"

/* callees.c: the functions that f reaches, f first. */
int pass_callees_find(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts);
/* pointers.c: notes a kernel that may give addresses of functions to others, or get them. */
int pass_check_pointers(struct pass_facts *facts);
/* warps.c: traits of barriers and warp operations under divergent control. */
int pass_check_sync(struct pass_facts *facts);
/* tails.c: the ways from code that may still meet a round to code that cannot. */
int pass_find_tails(struct pass_facts *facts);
/* rising.c: a loop of one of the functions waits for memory that another block may write, or spins:
 * it holds an atomic or volatile access. */
int pass_find_rising(struct pass_facts *facts);
void pass_check_spins(struct pass_facts *facts); /* warps.c, once that is known */
/* parting.c: the statement of the early return behind which the body is written twice, for warps
 * that all stay and for others; PASS_NO_PARTING: there is none. */
size_t pass_find_parting(const struct pass_facts *facts);

#endif
