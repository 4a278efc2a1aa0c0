/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses counts with units and finds nearly matching words, independently of the locale. */
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

bool text_is_near(const char *word, size_t len, const char *known, size_t known_len)
{
	size_t same = 0, tail = 0;

	if (len > known_len + 1 || known_len > len + 1)
		return false;
	while (same < MIN(len, known_len) && word[same] == known[same])
		same++;
	while (tail < MIN(len, known_len) - same &&
		word[len - 1 - tail] == known[known_len - 1 - tail])
		tail++;
	if (MAX(len, known_len) - same - tail <= 1)
		return true;
	return len == known_len && len - same - tail == 2 && word[same] == known[same + 1] &&
	       word[same + 1] == known[same];
}
