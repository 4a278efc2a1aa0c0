/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Processes eight characters of a text at once, as a 64-bit number whose lowest byte is the first
 * character (little-endian machines only). The character tests return a mask with 0x80 in each
 * matching byte. Where a comment says so, only the lowest match of a mask is reliable; PTX_FIRST
 * reads that one. The caller guarantees that eight characters are readable. */
#ifndef HEDDLE_PTX_EIGHT_H
#define HEDDLE_PTX_EIGHT_H

#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "texts are read as little-endian words");

#define PTX_EACH(byte) (0x0101010101010101u * (uint64_t)(byte))
/* PTX_FIRST is the index of the first matching byte of a mask that is not 0. PTX_BELOW is a mask
 * with ones in all bytes below that byte. */
#define PTX_FIRST(mask) ((unsigned)__builtin_ctzll(mask) >> 3)
#define PTX_BELOW(mask) ((((mask) & -(mask)) >> 7) - 1)

static inline uint64_t ptx_eight(const char *s)
{
	uint64_t w;

	memcpy(&w, s, 8);
	return w;
}

/* Finds blanks and control characters. Only the lowest match in the mask is reliable. */
static inline uint64_t ptx_eight_gaps(uint64_t w)
{
	return (w - PTX_EACH(0x21)) & ~w & PTX_EACH(0x80);
}

/* Finds characters that cannot be part of an identifier: all except letters, digits, '_' and
 * '$'. */
static inline uint64_t ptx_eight_ends(uint64_t w)
{
	uint64_t c = w & PTX_EACH(0x7f), small = c | PTX_EACH(0x20);
	uint64_t letter = (small + PTX_EACH(0x80 - 'a')) & ~(small + PTX_EACH(0x7f - 'z'));
	uint64_t digit = (c + PTX_EACH(0x80 - '0')) & ~(c + PTX_EACH(0x7f - '9'));
	uint64_t neither =
		((c ^ PTX_EACH('_')) + PTX_EACH(0x7f)) & ((c ^ PTX_EACH('$')) + PTX_EACH(0x7f));

	return (~(letter | digit | ~neither) | w) & PTX_EACH(0x80);
}

/* Finds all characters except digits. Only the lowest match in the mask is reliable. */
static inline uint64_t ptx_eight_nondigits(uint64_t w)
{
	uint64_t d = w ^ PTX_EACH('0');

	return ((d + PTX_EACH(0x7f - 9)) | d) & PTX_EACH(0x80);
}

/* Returns the value of the first n (1 to 8) characters, which must be decimal digits. */
static inline uint32_t ptx_eight_value(uint64_t w, unsigned n)
{
	w = (w ^ PTX_EACH('0')) << (64 - 8 * n);
	w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ffu;
	w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffffu;
	return (uint32_t)(w * 10000 + (w >> 32));
}

#endif
