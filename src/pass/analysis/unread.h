/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds atomics whose result is never used (unread.c). */
#ifndef HEDDLE_PASS_UNREAD_H
#define HEDDLE_PASS_UNREAD_H

#include "ptx/ptx.h"

/* Returns the set of registers that some instruction of f reads, as a malloc'ed bit set; NULL: out
 * of memory. */
uint64_t *pass_find_read(const struct ptx_func *f);
/* Returns whether s is an atomic that a `red` instruction can replace. */
bool pass_is_unread(const struct ptx_stmt *s, const uint64_t *read);
/* Returns whether `red` is the mnemonic that can replace `atom`. */
bool pass_is_reduction_of(const struct ptx_mnem *red, const struct ptx_mnem *atom);

#endif
