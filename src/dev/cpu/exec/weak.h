/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Weak memory: what a block stores to global memory stays with it for a while and comes to memory
 * in any order, and plain loads may give what was there before, as the PTX memory model allows
 * (seeded: vgpu_set_weak). A release lets all of the block's stores go first, an acquire forgets
 * what is old; by warps of one block both are shared, so what is missing between them does not
 * show, nor what is missing between two strong loads. Places are units of 8 bytes of host memory.
 * Each block's part is used by one thread at a time. */
#ifndef HEDDLE_CPU_WEAK_H
#define HEDDLE_CPU_WEAK_H

#include "dev/cpu/mem.h"

struct weak;

bool weak_on(void); /* vgpu_set_weak was given a seed */
/* NULL: no memory. The block's number chooses what happens, beside the seed. */
struct weak *weak_create(struct vgpu_mem *m);
void weak_reset(struct weak *w, uint64_t block_index); /* what it holds is dropped */
void weak_destroy(struct weak *w);

/* Bytes at p, up to 8 that do not cross a unit, in the low bytes of the result. */
uint64_t weak_load(struct weak *w, const void *p, unsigned bytes, bool strong);
void weak_store(struct weak *w, void *p, unsigned bytes, uint64_t v);
/* Ahead of an atomic operation on them, which goes to memory. */
void weak_atomic(struct weak *w, void *p, unsigned bytes);
void weak_release(struct weak *w); /* everything that the block stored is in memory */
void weak_acquire(struct weak *w);
/* Some of what the block stored comes to memory; idle: one at least. */
void weak_pass(struct weak *w, bool idle);

#endif
