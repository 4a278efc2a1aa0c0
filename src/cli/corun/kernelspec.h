/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernel specifications on a command line: one made of the verb's own options and operands, or
 * several with '+' between them, each with its own --grid, --block and --shared. */
#ifndef HEDDLE_KERNELSPEC_H
#define HEDDLE_KERNELSPEC_H

#include "cli/cli.h"
#include "cli/corun/spec.h"

/* For the table of a verb whose words are one specification. */
/* clang-format off */
#define KERNELSPEC_OPTIONS                                            \
	{0, "grid", "X[,Y[,Z]]", "blocks in the grid (4,2 or 4x2)"},               \
	{0, "block", "X[,Y[,Z]]", "threads in a block (the same)"},              \
	{0, "shared", "BYTES", "dynamic shared memory of a block"}
/* clang-format on */

/* c's options and operands as one specification; sets ret->arena. CLI_OK, or an error status after
 * it reported the error. */
int kernelspec_read(const struct cli *c, struct spec *ret);
/* c's operands as 1 to max specifications with "+" between them, in arena. any_grid: a
 * specification without a grid has one block. */
int kernelspec_read_all(const struct cli *c, struct arena *arena, unsigned max, bool any_grid,
	struct spec *ret, unsigned *ret_n);
/* words[0, n) as one specification, in arena. Errors go to whole, and call it kernel `number` (from
 * 1). */
int kernelspec_read_words(const struct cli *whole, struct arena *arena, unsigned number,
	bool any_grid, char **words, int n, struct spec *ret);

#endif
