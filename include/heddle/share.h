/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Lets a program ask heddled how many thread blocks its kernel can keep on each SM; see heddle(3).
 *
 * This is the application API of "Adaptive simultaneous multi-tenancy" (section 3.3, table 1). It
 * is for a program whose kernel has persistent threads, and which launches and stops thread blocks
 * itself (section 3.4, figure 5). The paper's init, obtainParameters and release are
 * heddle_share_init, heddle_share_obtain and heddle_share_release. The program keeps its kernel's
 * arguments and streams, so init does not take them. Do not run such a program under `heddle run`,
 * which steers kernels itself.
 *
 * Without heddled the calls work as well: the result is the number of blocks that fit on an SM, and
 * heddle_share_alone gives the reason. The same is true if heddled ends or hangs later.
 *
 * Functions that return an int return 0 or a negative errno. heddle_share_error then says what is
 * wrong, and what to do. One thread can wait while another one reports progress; only one thread
 * can call init and close. In the child of a fork, no call with a heddle_share of the parent works,
 * except heddle_share_error and heddle_share_close. Each structure begins with its size: set it to
 * sizeof. */
#ifndef HEDDLE_SHARE_H
#define HEDDLE_SHARE_H

#include "heddle/heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_SHARE_MAX_SMS 256

struct heddle_share;

/* Makes the program a tenant of heddled for the device of h. Each heddle_share steers one kernel at
 * a time; a program with several kernels makes several. HEDDLE_PRIORITY, HEDDLE_WEIGHT and
 * HEDDLE_CLASS set priority, weight and class (heddle-environment(7)). h is not used after this
 * call. If the call fails, *ret is NULL and heddle_error(h) has the reason. Returns -EINVAL if h
 * was not opened successfully, or -ENOMEM. */
int heddle_share_init(struct heddle *h, struct heddle_share **ret);
/* Releases the kernel, if there is one, disconnects from heddled, and frees s. Does nothing if s is
 * NULL. */
void heddle_share_close(struct heddle_share *s);
/* Returns the error text of the last call that failed, in any thread, or "" if none did. Read it
 * while no other thread is in a call. */
const char *heddle_share_error(const struct heddle_share *s);
/* Returns NULL while heddled decides about the kernel's blocks, or else the reason why it does not.
 * The text stays valid until the next heddle_share_obtain, or until heddle_share_close. */
const char *heddle_share_alone(struct heddle_share *s);

struct heddle_share_kernel {
	size_t size;
	const char *name;      /* heddled keeps its records of the kernel under this name */
	uint64_t blocks;       /* logical thread blocks of the whole kernel */
	unsigned block[3];     /* threads of a block, in each dimension; at most 1,024 in all */
	unsigned registers;    /* per thread; 0: unknown */
	unsigned shared_bytes; /* per block, static and dynamic */
	/* Number of the kernel's blocks that fit on an SM (as
	 * cuOccupancyMaxActiveBlocksPerMultiprocessor returns), at most 32. 0: libheddle computes
	 * it from the limits of the device. */
	unsigned blocks_per_sm;
};

struct heddle_share_blocks {
	size_t size;
	unsigned blocks_per_sm; /* largest number on any one SM; 0: leave the GPU */
	unsigned blocks;        /* the sum over all SMs */
	unsigned n_sms;
	/* Number of blocks that can stay on each SM; the index is %smid. A policy may exclude
	 * SMs. */
	unsigned char of_sm[HEDDLE_SHARE_MAX_SMS];
};

/* Requests SMs for one kernel, and waits up to timeout_ns (UINT64_MAX: forever) until the kernel
 * can have blocks on some SM. If heddled was not running, first looks for it again, at most once a
 * second and for at most 1 s. Returns:
 * - -ETIMEDOUT: heddled granted no blocks in time; the request is withdrawn
 * - -EBUSY: s has a kernel already
 * - -EINVAL: a field is wrong, or no block fits on an SM */
int heddle_share_obtain(struct heddle_share *s, const struct heddle_share_kernel *kernel,
	uint64_t timeout_ns, struct heddle_share_blocks *ret);
/* Returns the current numbers of blocks. If they have fallen, surplus blocks must exit after their
 * current logical block. If they have risen, the program can launch more. Returns -EINVAL if s has
 * no kernel. */
int heddle_share_quota(struct heddle_share *s, struct heddle_share_blocks *ret);
/* Waits until the numbers of blocks differ from those that obtain, quota or wait returned last.
 * Checks every millisecond. Returns -ETIMEDOUT if they are still the same (*ret is unchanged),
 * -ECANCELED if the kernel was released during the wait, -EINVAL if s has no kernel. */
int heddle_share_wait(struct heddle_share *s, uint64_t timeout_ns, struct heddle_share_blocks *ret);

/* Reports how many logical blocks have started and finished so far. heddled assumes that the
 * difference is the number of blocks on the GPU. When heddled lowers the numbers of blocks, it
 * waits until the difference is small enough, so report at least every few milliseconds. Read
 * `finished` from the device before `started`. When `started` reaches the total, heddled plans
 * without this kernel ("Adaptive simultaneous multi-tenancy", section 3.2). `started` can exceed
 * the total, as a counter of claims does. Returns -EINVAL if `finished` exceeds `started` or the
 * total, if a number has decreased, or if s has no kernel. */
int heddle_share_progress(struct heddle_share *s, uint64_t started, uint64_t finished);
/* Releases the kernel. Call it when the kernel has left the GPU. If all blocks were reported as
 * finished, heddled learns the kernel's duration. Afterwards the program can obtain another kernel.
 * Returns -EINVAL if s has no kernel. */
int heddle_share_release(struct heddle_share *s);

#ifdef __cplusplus
}
#endif

#endif
