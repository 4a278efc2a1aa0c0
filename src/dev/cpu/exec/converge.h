/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the points where lanes that diverge at a branch wait for each other, as in code from ptxas.
 * converge.c describes the rules and how they were found. */
#ifndef HEDDLE_VGPU_CONVERGE_H
#define HEDDLE_VGPU_CONVERGE_H

#include "dev/cpu/vgpu.h"
#include "ptx/ptx.h"

/* For each block, a list of blocks. */
struct converge_lists {
	uint32_t *first, *at; /* the list of block b is at[first[b]] to at[first[b + 1] - 1] */
};
/* The convergence points of a function. Blocks are numbered as in src/cfg. Block n - 1 is the end
 * of the function, where lanes wait before they return. */
struct converge {
	uint32_t n;
	uint8_t *meets;              /* for each block: whether lanes wait before it */
	struct converge_lists parts; /* for each block: where lanes that diverge at its end wait */
};
int vgpu_find_converge(struct arena *a, const struct ptx_func *f, struct converge *ret);

/* ---- converge_graph.c ---- */
struct cfg;
/* Builds the graph that converge.c analyzes. A block after the exit block stands for the back edges
 * to the loop header (*ret_header_of)[block]. */
int vgpu_converge_graph(
	struct arena *a, const struct ptx_func *f, struct cfg **ret, uint32_t **ret_header_of);
/* True if the block does nothing but end the thread. */
bool vgpu_only_ends(const struct cfg *g, uint32_t b);

#endif
