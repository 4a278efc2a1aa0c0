/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Words that people type: counts with a unit, and what a misspelled word probably means. */
#ifndef HEDDLE_TEXT_H
#define HEDDLE_TEXT_H

#include "base/base.h"

/* The count that text begins with: decimal digits, then k, m or g (or K, M, G) for a power of 1024,
 * or none. Returns what follows it; NULL, and *ret as it was, if no digit is there or the count is
 * larger than 64 bits. */
const char *text_count(const char *text, uint64_t *ret);

/* Whether word is nearly so spelt: one letter too many, too few, another, or two letters that
 * changed places. */
bool text_is_near(const char *word, size_t len, const char *known, size_t known_len);

#endif
