/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prints a graph as text, for comparison with expected lines. */
#ifndef HEDDLE_TESTS_CFG_PRINT_GRAPH_H
#define HEDDLE_TESTS_CFG_PRINT_GRAPH_H

#include "cfg/cfg.h"

/* Prints the graph as text: one line per block, and one per register that is not block-uniform.
 * Adds lines for the peak number of live registers, and for irreducible loops and indirect
 * branches. u and l can be NULL. */
void print_graph(const struct cfg *g, const struct cfg_uniformity *u, const struct cfg_liveness *l,
	struct strbuf *out);

#endif
