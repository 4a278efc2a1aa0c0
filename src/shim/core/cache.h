/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shim's cache on disk, which the program's next start reads. */
#ifndef HEDDLE_SHIM_CACHE_H
#define HEDDLE_SHIM_CACHE_H

#include "base/base.h"
#include "host/assembler.h"

/* Read and write files for the program's next start Errors are not reported: an entry
 * that cannot be read counts as a miss. */
bool cache_get(const uint8_t key[32], struct strbuf *ret);
void cache_put(const uint8_t key[32], const void *data, size_t len);
/* Write an entry in two steps, for an entry that may turn out not to be worth keeping. cache_commit
 * keeps the staged entry, cache_unstage drops it. */
bool cache_stage(const uint8_t key[32], const void *data, size_t len, struct staged *ret);
void cache_commit(const struct staged *s);
void cache_unstage(const struct staged *s);

#endif
