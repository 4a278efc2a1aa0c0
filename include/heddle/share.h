/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Thread blocks that a kernel may keep on each SM, as heddled decides; see heddle(3).
 *
 * This is the application API of "Adaptive simultaneous multi-tenancy" (section 3.3, table 1).
 * It is for a program whose kernel has persistent threads and that launches and stops thread
 * blocks itself (section 3.4, figure 5). heddle_share_init is init, heddle_share_obtain is
 * obtainParameters, heddle_share_release is release. The program owns its kernel's arguments and
 * streams, so init does not take them. Do not run such a program under heddle run, which steers
 * kernels by itself.
 *
 * Without heddled all calls succeed: the result is the number of blocks that fit on an SM, and
 * heddle_share_alone says why. The same holds if heddled ends or hangs later.
 *
 * Functions return 0 or a negative errno. heddle_share_error then says what is wrong, and what
 * to do. One thread may wait while another one reports progress; init and close are for one
 * thread. In a child of fork every call but heddle_share_error and heddle_share_close returns
 * -EINVAL. Structures begin with their size: set it to sizeof. */
#ifndef HEDDLE_SHARE_H
#define HEDDLE_SHARE_H

#include "heddle/heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_SHARE_MAX_SMS 256

struct heddle_share;

/* Becomes a tenant of heddled for the device of h. Each heddle_share steers one kernel at a
 * time; a program with several kernels makes several. HEDDLE_PRIORITY, HEDDLE_WEIGHT and
 * HEDDLE_CLASS set priority, weight and class (heddle-environment(7)). The heddle_share does not
 * use h later. If the call fails, *ret is NULL and heddle_error(h) says why. -EINVAL: h did not
 * open; -ENOMEM. */
int heddle_share_init(struct heddle *h, struct heddle_share **ret);
/* Releases the kernel, if one is obtained, leaves heddled and frees s. NULL: does nothing. */
void heddle_share_close(struct heddle_share *s);
/* The text of the last call that failed, of any thread; "" if none did. Read it while no other
 * thread is in a call. */
const char *heddle_share_error(const struct heddle_share *s);
/* NULL while heddled decides; else the reason why it does not. The text stays valid until the
 * next heddle_share_obtain, or close. */
const char *heddle_share_alone(struct heddle_share *s);

struct heddle_share_kernel {
	size_t size;
	const char *name;      /* heddled keeps its records of the kernel under this name */
	uint64_t blocks;       /* logical thread blocks of the whole kernel */
	unsigned block[3];     /* threads of a block, in each dimension; at most 1,024 in all */
	unsigned registers;    /* of a thread; 0: not known */
	unsigned shared_bytes; /* of a block, static and dynamic */
	/* Blocks of the kernel that fit on an SM (cuOccupancyMaxActiveBlocksPerMultiprocessor),
	 * at most 32. 0: computed from the limits of the device. */
	unsigned blocks_per_sm;
};

struct heddle_share_blocks {
	size_t size;
	unsigned blocks_per_sm; /* the greatest of all SMs; 0: leave the GPU */
	unsigned blocks;        /* the sum over all SMs */
	unsigned n_sms;
	/* How many blocks may stay on each SM, by %smid. A policy may leave SMs out. */
	unsigned char of_sm[HEDDLE_SHARE_MAX_SMS];
};

/* Looks for heddled again if it was not there: at most once a second, for at most 1 s. Then
 * requests one kernel, and waits up to timeout_ns (UINT64_MAX: for ever) until the kernel may
 * have blocks on some SM. -ETIMEDOUT: heddled gave it no blocks in time, and the request is
 * withdrawn. -EBUSY: a kernel is obtained already; -EINVAL: a field is wrong, or no block fits
 * on an SM. */
int heddle_share_obtain(struct heddle_share *s, const struct heddle_share_kernel *kernel,
	uint64_t timeout_ns, struct heddle_share_blocks *ret);
/* Returns the present numbers. If they fell, surplus blocks leave after their present logical
 * block; if they rose, the program may launch more. -EINVAL: no kernel is obtained. */
int heddle_share_quota(struct heddle_share *s, struct heddle_share_blocks *ret);
/* Waits until the numbers differ from those that obtain, quota or wait returned last. Checks
 * every millisecond. -ETIMEDOUT: they are the same, and *ret is unchanged. -ECANCELED: the
 * kernel was released during the wait; -EINVAL: no kernel is obtained. */
int heddle_share_wait(struct heddle_share *s, uint64_t timeout_ns, struct heddle_share_blocks *ret);

/* Reports the numbers of logical blocks that have started and finished so far. heddled takes the
 * difference as the blocks on the GPU. After it lowered the numbers, it waits until the
 * difference is small enough, so report at least every few milliseconds. Read `finished` from
 * the device before `started`. When started reaches the total, heddled plans without this kernel
 * (section 3.2). started may exceed the total, as a counter of claims does. -EINVAL: finished
 * exceeds started or the total, a number fell, or no kernel is obtained. */
int heddle_share_progress(struct heddle_share *s, uint64_t started, uint64_t finished);
/* Call it when the kernel has left the GPU. heddled learns its duration if all blocks were
 * reported as finished. Afterwards another kernel may be obtained. -EINVAL: no kernel is
 * obtained. */
int heddle_share_release(struct heddle_share *s);

#ifdef __cplusplus
}
#endif

#endif
