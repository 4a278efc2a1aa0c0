/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* libheddle runs several CUDA kernels, given as PTX, together on one GPU; see heddle(3).
 *
 * Functions return 0 or a negative errno. After an error, heddle_error says what is wrong, where,
 * and what to do. The library prints nothing and never ends the process. Only one thread at a time
 * can use a handle; several handles can be in use at once. Each structure begins with its size: set
 * it to sizeof. */
#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_MAX_KERNELS 8 /* maximum in one heddle_corun */

struct heddle;

/* Opens a device and its primary context. `device` is one of:
 * - "cuda": a GPU
 * - "cpu": the virtual GPU that comes with heddle
 * - "auto" or NULL: the GPU if there is one, else the virtual GPU
 *
 * Each of these selects the first such device. "cuda:1" and "cpu:1" select the second one, and so
 * on, among the devices that CUDA_VISIBLE_DEVICES lists. Handles of several devices can be open at
 * once. If the call fails, *ret can only be passed to heddle_error and heddle_close; it is NULL if
 * memory is exhausted. Returns -ENODEV if there is no such device, or if the process is the child
 * of a fork whose parent had used CUDA; -EINVAL if the text names no device; -EIO if the driver
 * reports an error. */
int heddle_open(const char *device, struct heddle **ret);
/* Frees the handle, and everything that was loaded and allocated through it. Does nothing if h is
 * NULL. If a task of a pool (task.h) does not end within 10 s, the handle stays valid, but some of
 * its pools may already be destroyed. */
void heddle_close(struct heddle *h);
/* Returns the error text of the last call that failed, or "" if none did. The next failure replaces
 * it. The result is never NULL, even if h is NULL. */
const char *heddle_error(const struct heddle *h);
/* Limits how long the driver's compiler can take for the code of heddle_corun or of a pool of tasks
 * (default: 300 s). Returns -EINVAL for 0, for more than a day, or if the device is not open. */
int heddle_limit_compiling(struct heddle *h, unsigned seconds);
/* The device's name, as the driver reports it. */
const char *heddle_device(const struct heddle *h);

/* ---- kernels ---- */
/* Loads the kernel entry `entry` from PTX text of this many bytes, and names it `name`. The text is
 * copied. Kernels of the same text share its module variables, however they run. Returns:
 * - -EINVAL: the text is no valid PTX; the error text has file, line and column
 * - -ENOENT: there is no such entry
 * - -EEXIST: the name is in use
 * - -EIO: the driver refuses the code
 * - -ETIMEDOUT: a task of a pool (task.h) has not ended within 10 s
 * - -ENOMEM */
int heddle_load(
	struct heddle *h, const char *name, const char *ptx, size_t bytes, const char *entry);
/* Loads a kernel like heddle_load, but from a file. Also returns the errors of reading the file. */
int heddle_load_file(struct heddle *h, const char *name, const char *path, const char *entry);

/* ---- device memory; kernels can also use memory that other CUDA code allocated in the context
 * ---- */
int heddle_alloc(struct heddle *h, size_t bytes, uint64_t *ret_address);
int heddle_free(struct heddle *h, uint64_t address);
int heddle_write(struct heddle *h, uint64_t to, const void *from, size_t bytes);
int heddle_read(struct heddle *h, void *to, uint64_t from, size_t bytes);

/* ---- running ---- */
struct heddle_launch {
	size_t size;
	const char *kernel; /* name of a kernel that heddle_load loaded */
	unsigned grid[3], block[3];
	unsigned shared_bytes; /* dynamic shared memory */
	void **params;         /* a pointer to each parameter's value, as for cuLaunchKernel */
};

struct heddle_result {
	size_t size;
	/* time from the first launch to the end of the last kernel, by the device's events */
	double ms;
	/* Number of launches on the device: 1 if all kernels ran as one launch that was not
	 * resumed. */
	unsigned launches;
	/* If merged: number of blocks in the merged launch and in the kernels' own launches; else
	 * 0. */
	unsigned workers;
	char way[96]; /* how the kernels ran: "vertical" if they could not be woven */
};

/* Runs n kernels together. Waits for them, and for all other work of the context. The kernels must
 * not depend on each other.
 *
 * `way` tells the way of running them, in the words of heddle-corun(1) and heddle-tune(1):
 *     "sequential", "streams"    unchanged, one after another, or each in a stream
 *     "green=3:1"                unchanged, with these shares of the SMs (CUDA 12.4 and later)
 *     "vertical", "horizontal"   fused, block by block
 *     "weave [unsliced] [branches] [registers=N]"
 *                                two kernels: the same threads run a block of each, instruction by
 *                                instruction. unsliced: long runs of instructions are not cut.
 *                                branches: short regions keep their branches instead of guards.
 *                                registers: at most N per thread, 16 to 256; 256 is no limit.
 *                                Kernels that cannot be woven are fused as with "vertical": the
 *                                call succeeds, and heddle_error has the reason
 *     "merge ORDER [help] [chunk=N or N:N...] [total-workers=N] [per-sm=N] [own=K or K:K...]"
 *                                one launch of workers that claim blocks of all kernels. ORDER is
 *                                "steal" or "steal:shared": each worker claims blocks of all
 *                                kernels alternately; or "partition=3:1", "mixed=1:2" or
 *                                "apart=1:1": each worker serves one kernel, by these shares.
 *                                own: these kernels (numbered from 1) also have their own launches
 *     "tuned"                    as heddle tune chose for these kernels and launches on this device
 *     NULL                       "tuned", or "sequential" if heddle tune has not measured them
 *
 * `tuned` is the file in which heddle tune keeps its results; NULL means the default file. The
 * handle keeps the compiled code of each way. ret can be NULL. Returns:
 * - -EINVAL: a launch or the way is wrong
 * - -ENOENT: no kernel has this name, or heddle tune has not measured these kernels
 * - -ENOTSUP: the kernels cannot run in this way, or the driver's compiler crashed on their
 *   code (in a separate process)
 * - -ETIMEDOUT: compilation timed out (heddle_limit_compiling)
 * - -EIO: the driver reported an error */
int heddle_corun(struct heddle *h, const struct heddle_launch *launches, unsigned n,
	const char *way, const char *tuned, struct heddle_result *ret);

#ifdef __cplusplus
}
#endif

#endif
