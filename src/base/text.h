/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles words that users type: counts with a unit, and suggestions for misspelled words. */
#ifndef HEDDLE_TEXT_H
#define HEDDLE_TEXT_H

#include "base/base.h"

/* Parses a count at the start of text: decimal digits, optionally followed by k, m or g (or K, M,
 * G) for a factor of 1024, 1024^2 or 1024^3. Returns a pointer to the text after the count. Returns
 * NULL and leaves *ret unchanged if there is no digit or the count does not fit in 64 bits. */
const char *text_count(const char *text, uint64_t *ret);

/* Returns true if word differs from known by at most one letter (added, missing or changed), or if
 * two adjacent letters are swapped. */
bool text_is_near(const char *word, size_t len, const char *known, size_t known_len);

#endif
