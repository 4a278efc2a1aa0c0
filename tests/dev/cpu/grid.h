/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs a whole grid on the virtual GPU's core alone, in one thread and always in the same order,
 * for tests and benchmarks. Eight blocks are resident at a time and run in turn, so blocks may
 * wait for earlier ones. */
#ifndef HEDDLE_TESTS_VGPU_GRID_H
#define HEDDLE_TESTS_VGPU_GRID_H

#include "dev/cpu/vgpu.h"

struct grid_result {
	uint64_t thread_insns, cycles, steps, idle_steps;
	bool faulted;
	struct vgpu_fault fault;
};

/* Returns 0; -EFAULT: see fault; -ETIMEDOUT: the grid takes more than max_steps (0: no limit);
 * another error if the grid cannot start.
 */
int vgpu_run_grid(
	const struct vgpu_launch *l, uint64_t budget, uint64_t max_steps, struct grid_result *ret);

/* Parses one argument in the command line's syntax: TYPE:VALUE, or TYPE[N]:INIT with INIT zero,
 * iota, const(V), rand(SEED), ones. Buffers are allocated in m. */
struct grid_arg {
	char type; /* i, u or f; b: untyped */
	unsigned bits;
	uint64_t n; /* number of elements; 0: a scalar */
	uint64_t value, addr;
};
int grid_parse_arg(struct vgpu_mem *m, const char *text, struct grid_arg *ret);
/* Writes the arguments into a parameter buffer in the kernel's layout. -EINVAL: they do not fit.
 */
int grid_pack(const struct vgpu_kernel *k, const struct grid_arg *args, unsigned n, void *params,
	size_t size);

/* Parses "--grid X[,Y[,Z]] --block … [--shared BYTES] ARG…", split at blanks. */
#define GRID_MAX_ARGS 32
struct grid_spec {
	uint32_t grid[3], block[3], shared;
	struct grid_arg args[GRID_MAX_ARGS];
	unsigned n_args;
};
int grid_parse_spec(struct vgpu_mem *m, const char *text, struct grid_spec *ret);
void grid_free_spec(struct vgpu_mem *m, struct grid_spec *s);

#endif
