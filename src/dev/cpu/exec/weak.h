/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Weak memory, as the PTX memory model allows it. A block's stores to global memory reach memory
 * later and in any order, and its plain loads can return old contents. The choices are random, from
 * the seed of vgpu_set_weak. A release writes all of the block's stores to memory, and an acquire
 * discards its old contents.
 *
 * All warps of a block share the stores and the old contents. So this does not find a missing
 * release or acquire between warps of one block, or between two strong loads. A unit is 8 bytes of
 * host memory. Only one thread at a time may use a block's struct weak. */
#ifndef HEDDLE_CPU_WEAK_H
#define HEDDLE_CPU_WEAK_H

#include "dev/cpu/mem.h"

struct weak;

bool weak_on(void); /* true if vgpu_set_weak was given a seed */
/* Returns NULL if out of memory. Each block has its own random sequence, which weak_reset derives
 * from the seed and the block's number. */
struct weak *weak_create(struct vgpu_mem *m);
void weak_reset(struct weak *w, uint64_t block_index); /* drops all pending stores */
void weak_destroy(struct weak *w);

/* Returns the bytes at p (up to 8, within one unit) in the low bytes of the result. */
uint64_t weak_load(struct weak *w, const void *p, unsigned bytes, bool strong);
void weak_store(struct weak *w, void *p, unsigned bytes, uint64_t v);
/* Call this before an atomic operation on these bytes, which accesses memory directly. */
void weak_atomic(struct weak *w, void *p, unsigned bytes);
void weak_release(struct weak *w); /* writes all pending stores of the block to memory */
void weak_acquire(struct weak *w);
/* Writes some of the block's stores to memory, at least one if `idle` is set. */
void weak_pass(struct weak *w, bool idle);

#endif
