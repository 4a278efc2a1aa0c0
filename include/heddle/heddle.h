/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* libheddle: several CUDA kernels, given as PTX, run together on one GPU; heddle(3).
 *
 * Functions return 0 or a negative errno; heddle_error then says what is wrong, where, and what to
 * do. Nothing is printed, and the process is never ended. A handle is used by one thread at a time;
 * several handles may be in use at once. Structures begin with their size: set it to sizeof. */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_MAX_KERNELS 8 /* in one heddle_corun */

struct heddle;

/* A device and its primary context. device: "cuda", "cpu" (the virtual GPU that comes with heddle),
 * or "auto" or NULL (the GPU if there is one): the first of them; "cuda:1", "cpu:1": the second,
 * and so on, of those that CUDA_VISIBLE_DEVICES shows. Handles of several devices may be open at
 * once. *ret is a handle also where this fails, for heddle_error and heddle_close alone; NULL: out
 * of memory. -ENODEV: there is no such device, or this is a child of fork whose parent had used
 * CUDA; -EINVAL: no such word; -EIO: the driver's error. */
int heddle_open(const char *device, struct heddle **ret);
/* Frees what was loaded and allocated through it. NULL: nothing is done. Neither is it where a task
 * of a pool (task.h) does not end within 10 s, on whose end freeing waits: the handle is as it was.
 */
void heddle_close(struct heddle *h);
/* What the last call that failed met with, until the next; "" if none did. Never NULL, also of
 * NULL. */
const char *heddle_error(const struct heddle *h);
/* How long the driver's compiler may take for what heddle_corun, or a pool of tasks, needs: 300 s
 * at first. -EINVAL: 0, or more than a day. */
int heddle_limit_compiling(struct heddle *h, unsigned seconds);
/* What the device calls itself. */
const char *heddle_device(const struct heddle *h);

/* ---- kernels ---- */
/* Entry `entry` of PTX text of so many bytes (copied) is called `name` from now on. Kernels of the
 * same text share its module variables, in every way of running them. -EINVAL: it is
 * no PTX, with file, line and column; -ENOENT: no such entry; -EEXIST: the name is taken; -EIO: the
 * driver refused it. */
int heddle_load(
	struct heddle *h, const char *name, const char *ptx, size_t bytes, const char *entry);
/* The same from a file; also the errors of reading it. */
int heddle_load_file(struct heddle *h, const char *name, const char *path, const char *entry);

/* ---- device memory: of any CUDA code on the primary context, or from here ---- */
int heddle_alloc(struct heddle *h, size_t bytes, uint64_t *ret_address);
int heddle_free(struct heddle *h, uint64_t address);
int heddle_write(struct heddle *h, uint64_t to, const void *from, size_t bytes);
int heddle_read(struct heddle *h, void *to, uint64_t from, size_t bytes);

/* ---- running ---- */
struct heddle_launch {
	size_t size;
	const char *kernel; /* its name */
	unsigned grid[3], block[3];
	unsigned shared_bytes; /* dynamic shared memory */
	void **params; /* as cuLaunchKernel takes them: a pointer to each parameter's value */
};

struct heddle_result {
	size_t size;
	double ms;         /* of all together, by the device's events */
	unsigned launches; /* of the device: 1 if all were one and it was not resumed */
	unsigned workers;  /* merged: blocks of the launch, and of those of their own; else 0 */
	char way[96];      /* how they were run: "vertical" where they could not be woven */
};

/* Runs n kernels together and waits for them, and for all else on the context. Kernels must not
 * depend on each other.
 *
 * way: words as heddle-corun's and heddle-tune's.
 *   "sequential", "streams"    as they are, back to back or each in a stream
 *   "green=3:1"                as they are, with parts of the SMs (CUDA 12.4 and later)
 *   "vertical", "horizontal"   fused, block by block
 *   "weave [unsliced] [branches] [registers=N]"
 *                              two kernels: a block of each by the same threads, instruction by
 *                              instruction; unsliced: long runs of instructions are not cut;
 *                              branches: short regions keep theirs, in place of guards;
 *                              registers: a bound, from 16 to 256, which is none. Kernels that
 *                              cannot be woven are fused as with "vertical", and heddle_error says
 *                              why, although the call succeeds
 *   "merge ORDER [help] [chunk=N or N:N...] [total-workers=N] [per-sm=N] [own=K or K:K...]"
 *                              as one launch whose workers take blocks of one kernel after
 *                              another's; ORDER: "steal" (or "steal:shared"), or for workers that
 *                              keep to a kernel, by shares, "partition=3:1", "mixed=1:2",
 *                              "apart=1:1"; own: kernels, from 1, with a launch of their own
 *                              beside it
 *   "tuned"                    as heddle tune chose for these kernels, launched so, on this device
 *   NULL                       that, or "sequential" where nothing has been measured
 * tuned: the file that heddle tune was told to keep, or NULL for where it is kept otherwise.
 * What is compiled for a way stays for the next call. ret may be NULL.
 *
 * -EINVAL: a launch or the way is wrong; -ENOENT: no kernel of that name, or nothing measured;
 * -ENOTSUP: these kernels cannot be run that way, also where the driver's compiler crashes of it
 * (in a process of its own); -ETIMEDOUT: that is not done with it in time (heddle_limit_compiling);
 * -EIO: the driver's error. */
int heddle_corun(struct heddle *h, const struct heddle_launch *launches, unsigned n,
	const char *way, const char *tuned, struct heddle_result *ret);

#ifdef __cplusplus
}
#endif

#endif
