/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernel specifications on a command line. There is either one, made of the verb's own options and
 * operands, or several with '+' between them, each with its own --grid, --block and --shared. */
#ifndef HEDDLE_KERNELSPEC_H
#define HEDDLE_KERNELSPEC_H

#include "front/cli.h"
#include "job/spec.h"

/* Entries for the option table of a verb whose arguments form one specification. */
/* clang-format off */
#define KERNELSPEC_OPTIONS                                            \
	{0, "grid", "X[,Y[,Z]]", "blocks in the grid (4,2 or 4x2)"},               \
	{0, "block", "X[,Y[,Z]]", "threads in a block (the same)"},              \
	{0, "shared", "BYTES", "dynamic shared memory of a block"}
/* clang-format on */

/* Parses c's options and operands as one specification. The caller has set ret->arena. Returns
 * CLI_OK, or an error status after it reports the error. */
int kernelspec_read(const struct cli *c, struct spec *ret);
/* Parses c's operands as 1 to max specifications with "+" between them, allocated in arena. With
 * any_grid, a specification may omit its grid, which is then one block. */
int kernelspec_read_all(const struct cli *c, struct arena *arena, unsigned max, bool any_grid,
	struct spec *ret, unsigned *ret_n);
/* Checks before the kernels run that the files of their buffers (ARG>FILE) can be written. Returns
 * CLI_OK, or CLI_FAILED after it reports the error. */
int kernelspec_will_write(const struct cli *c, const struct spec *specs, unsigned n);
/* Parses words[0] to words[n-1] as one specification, allocated in arena. Errors are reported
 * through whole, and name the kernel by `number`, from 1. */
int kernelspec_read_words(const struct cli *whole, struct arena *arena, unsigned number,
	bool any_grid, char **words, int n, struct spec *ret);

#endif
