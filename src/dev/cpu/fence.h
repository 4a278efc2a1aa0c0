/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Memory fences. Thread checkers such as ThreadSanitizer do not understand fences: they report two
 * accesses as a race if only a fence orders them. So builds for a thread checker differ in two
 * ways:
 * - Every fence is an operation on one shared atomic variable.
 * - Strong loads and stores of kernels are acquire and release operations themselves, because the
 *   program's host code may lack the matching fence.
 *
 * Fences that are missing in kernels are found by weak.h. */
#ifndef HEDDLE_CPU_FENCE_H
#define HEDDLE_CPU_FENCE_H

#include "base/base.h"

#if defined(__SANITIZE_THREAD__)
extern uint32_t vgpu_fenced;

#define VGPU_WATCHED_LOAD  __ATOMIC_ACQUIRE
#define VGPU_WATCHED_STORE __ATOMIC_RELEASE

static inline void vgpu_fence(int order)
{
	(void)order;
	__atomic_fetch_add(&vgpu_fenced, 1, __ATOMIC_SEQ_CST);
}
#else
#define vgpu_fence(order)  __atomic_thread_fence(order)
#define VGPU_WATCHED_LOAD  __ATOMIC_RELAXED
#define VGPU_WATCHED_STORE __ATOMIC_RELAXED
#endif

#endif
