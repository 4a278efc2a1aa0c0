/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts with units. No locale has a say in it. */
#include "base/text.h"

#include <string.h>

const char *text_count(const char *text, uint64_t *ret)
{
	static const char units[] = "kmg";
	const char *unit;
	uint64_t v = 0;

	if (*text < '0' || *text > '9')
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
			return NULL;
	unit = *text ? strchr(units, *text | 32) : NULL;
	if (unit) {
		unsigned shift = 10 * (unsigned)(unit - units + 1);

		if (v > UINT64_MAX >> shift)
			return NULL;
		v <<= shift;
		text++;
	}
	*ret = v;
	return text;
}
