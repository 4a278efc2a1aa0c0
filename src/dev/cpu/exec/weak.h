/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Weak memory, as the PTX memory model allows it: a block's stores to global memory reach memory
 * later and in any order, and plain loads may return old contents (seeded: vgpu_set_weak). A
 * release writes all of the block's stores, and an acquire drops its old contents. All warps of a
 * block share both. So a missing release or acquire between warps of one block does not show, nor
 * one between two strong loads. Units are 8 bytes of host memory. Only one thread at a time uses a
 * block's part. */
#ifndef HEDDLE_CPU_WEAK_H
#define HEDDLE_CPU_WEAK_H

#include "dev/cpu/mem.h"

struct weak;

bool weak_on(void); /* vgpu_set_weak was given a seed */
/* NULL: no memory. The block's number selects the random sequence, besides the seed. */
struct weak *weak_create(struct vgpu_mem *m);
void weak_reset(struct weak *w, uint64_t block_index); /* drops its content */
void weak_destroy(struct weak *w);

/* Bytes at p, up to 8 within one unit, in the low bytes of the result. */
uint64_t weak_load(struct weak *w, const void *p, unsigned bytes, bool strong);
void weak_store(struct weak *w, void *p, unsigned bytes, uint64_t v);
/* Before an atomic operation on these bytes, which goes to memory. */
void weak_atomic(struct weak *w, void *p, unsigned bytes);
void weak_release(struct weak *w); /* writes all of the block's stores to memory */
void weak_acquire(struct weak *w);
/* Writes some of the block's stores to memory; idle: at least one. */
void weak_pass(struct weak *w, bool idle);

#endif
