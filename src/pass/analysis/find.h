/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The steps of pass_facts_find (body.h) in their order. Each step computes some of the facts. Those
 * of type int return 0 or a negative errno. */
#ifndef HEDDLE_PASS_FIND_H
#define HEDDLE_PASS_FIND_H

#include "pass/analysis/body.h"

/* callees.c: lists f and all functions that it reaches, f first. */
int pass_callees_find(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts);
/* pointers.c: notes kernels that may pass function addresses to other kernels or receive function
 * addresses from them. */
int pass_check_pointers(struct pass_facts *facts);
/* warps.c: notes traits of barriers and warp operations that diverged lanes may reach. */
int pass_check_sync(struct pass_facts *facts);
/* tails.c: finds the paths from code that may still reach a barrier implemented as a round
 * (rounds.c) to code that cannot. */
int pass_find_tails(struct pass_facts *facts);
/* rising.c: finds loops that wait for memory that another block may write, and loops that spin
 * (contain an atomic or volatile access). */
int pass_find_rising(struct pass_facts *facts);
/* warps.c: call this after spins and calls_spin are known. */
void pass_check_spins(struct pass_facts *facts);
/* parting.c: returns the early return after which the body is duplicated: one copy for warps that
 * stay whole, and one for the others. PASS_NO_PARTING: there is none. */
size_t pass_find_parting(const struct pass_facts *facts);

#endif
