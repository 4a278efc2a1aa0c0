/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* libheddle: several CUDA kernels, given as PTX, run together on one GPU; see heddle(3).
 *
 * Functions return 0 or a negative errno. heddle_error then says what is wrong, where, and what
 * to do. The library prints nothing and never ends the process. One thread at a time may use a
 * handle; several handles may be in use at once. Structures begin with their size: set it to
 * sizeof. */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_MAX_KERNELS 8 /* in one heddle_corun */

struct heddle;

/* Opens a device and its primary context. device: "cuda", "cpu" (the virtual GPU that comes with
 * heddle), or "auto" or NULL (the GPU if there is one, else the virtual GPU). Each of these is
 * the first such device; "cuda:1" and "cpu:1" are the second, and so on, of those that
 * CUDA_VISIBLE_DEVICES lists. Handles of several devices may be open at once. If the call fails,
 * *ret serves only heddle_error and heddle_close; NULL: out of memory. -ENODEV: there is no such
 * device, or the process is a child of fork whose parent had used CUDA; -EINVAL: the text names
 * no device; -EIO: the driver reported an error. */
int heddle_open(const char *device, struct heddle **ret);
/* Frees the handle, and all that was loaded and allocated through it. NULL: does nothing. If a
 * task of a pool (task.h) does not end within 10 s, nothing is freed and the handle stays valid. */
void heddle_close(struct heddle *h);
/* Text of the last call that failed; "" if none did. The next failure replaces it. Never NULL,
 * not even for h NULL. */
const char *heddle_error(const struct heddle *h);
/* Limits how long the driver's compiler may take for the code of heddle_corun or of a pool of
 * tasks (default: 300 s). -EINVAL: 0, or more than a day. */
int heddle_limit_compiling(struct heddle *h, unsigned seconds);
/* The device's name, as the driver reports it. */
const char *heddle_device(const struct heddle *h);

/* ---- kernels ---- */
/* Loads entry `entry` of a PTX text of this many bytes, and names it `name`. The text is copied.
 * Kernels of the same text share its module variables, in every way of running them. -EINVAL:
 * the text is no valid PTX, with file, line and column; -ENOENT: no such entry; -EEXIST: the
 * name is taken; -EIO: the driver refused the code. */
int heddle_load(
	struct heddle *h, const char *name, const char *ptx, size_t bytes, const char *entry);
/* The same, from a file. Also returns the errors of reading it. */
int heddle_load_file(struct heddle *h, const char *name, const char *path, const char *entry);

/* ---- device memory; kernels can also use memory of other CUDA code on the context ---- */
int heddle_alloc(struct heddle *h, size_t bytes, uint64_t *ret_address);
int heddle_free(struct heddle *h, uint64_t address);
int heddle_write(struct heddle *h, uint64_t to, const void *from, size_t bytes);
int heddle_read(struct heddle *h, void *to, uint64_t from, size_t bytes);

/* ---- running ---- */
struct heddle_launch {
	size_t size;
	const char *kernel; /* a name that heddle_load gave */
	unsigned grid[3], block[3];
	unsigned shared_bytes; /* dynamic shared memory */
	void **params;         /* a pointer to each parameter's value, as for cuLaunchKernel */
};

struct heddle_result {
	size_t size;
	double ms; /* from the first launch to the last end, by the device's events */
	/* on the device: 1 if all kernels ran as one launch that was not resumed */
	unsigned launches;
	/* merged: blocks of the launch and of the kernels' own launches; else 0 */
	unsigned workers;
	char way[96]; /* how the kernels ran: "vertical" if they could not be woven */
};

/* Runs n kernels together and waits for them, and for all other work of the context. The kernels
 * must not depend on each other.
 *
 * way: the words of heddle-corun(1) and heddle-tune(1).
 *   "sequential", "streams"    unchanged, one after another or each in a stream
 *   "green=3:1"                unchanged, with these shares of the SMs (CUDA 12.4 and later)
 *   "vertical", "horizontal"   fused, block by block
 *   "weave [unsliced] [branches] [registers=N]"
 *                              two kernels: the same threads run a block of each, instruction by
 *                              instruction. unsliced: long runs of instructions are not cut.
 *                              branches: short regions keep their branches instead of guards.
 *                              registers: at most so many a thread, 16 to 256; 256 is no limit.
 *                              Kernels that cannot be woven are fused as with "vertical": the
 *                              call succeeds, and heddle_error has the reason
 *   "merge ORDER [help] [chunk=N or N:N...] [total-workers=N] [per-sm=N] [own=K or K:K...]"
 *                              one launch of workers that take blocks of all kernels. ORDER is
 *                              "steal" or "steal:shared": each worker takes blocks of all
 *                              kernels in turn; or "partition=3:1", "mixed=1:2", "apart=1:1":
 *                              each worker keeps to one kernel, by these shares. own: these
 *                              kernels, by number from 1, also have a launch of their own
 *   "tuned"                    as heddle tune chose for these kernels and launches on this device
 *   NULL                       "tuned", or "sequential" if heddle tune has not measured them
 *
 * tuned: the file in which heddle tune keeps its results; NULL: the default file. The handle
 * keeps the code compiled for a way. ret may be NULL.
 *
 * -EINVAL: a launch or the way is wrong; -ENOENT: no kernel has this name, or heddle tune has
 * not measured these kernels; -ENOTSUP: these kernels cannot run in this way, or the driver's
 * compiler crashed on their code (in a separate process); -ETIMEDOUT: compilation timed out
 * (heddle_limit_compiling); -EIO: the driver reported an error. */
int heddle_corun(struct heddle *h, const struct heddle_launch *launches, unsigned n,
	const char *way, const char *tuned, struct heddle_result *ret);

#ifdef __cplusplus
}
#endif

#endif
