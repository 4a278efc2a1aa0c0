/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Quotas: how many workers of a launch may stay on each SM. There is one byte for each SM, as in
 * the page (ctl/words.h):
 * - 0: none
 * - 1 to QUOTA_MAX: this many
 * - CTL_NO_QUOTA: no bound
 *
 * No other value occurs. Bytes for SM numbers that the device does not have are 0. */
#ifndef HEDDLE_SCHED_QUOTA_H
#define HEDDLE_SCHED_QUOTA_H

#include "base/base.h"
#include "sms.h"

#include <string.h>

/* the greatest quota that is a bound: an SM holds at most SCHED_PER_SM (32) workers, so 32 would be
 * no bound */
#define QUOTA_MAX 31u

struct quota {
	uint8_t at[CTL_MAX_SMS];
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte i of a word is that of SM i");

#define QUOTA_WORDS (CTL_MAX_SMS / 8)
#define QUOTA_ONES  0x0101010101010101ull

/* Returns the quotas of eight SMs, one in each byte. */
static inline uint64_t quota_word(const struct quota *q, uint32_t i)
{
	uint64_t word;

	memcpy(&word, q->at + 8 * (size_t)i, 8);
	return word;
}

/* Returns no bound for the SMs of the set, and 0 for all others. */
static inline struct quota quota_of(const struct sms *set)
{
	struct quota q;

	for (uint32_t i = 0; i < QUOTA_WORDS; i++) {
		/* Puts bit i into byte i, then sets each byte that is not 0 to 1. */
		uint64_t eight = set->w[i / 8] >> i % 8 * 8 & 0xff;
		uint64_t bit = eight * QUOTA_ONES & 0x8040201008040201ull;
		uint64_t any = (bit + 0x7f * QUOTA_ONES) >> 7 & QUOTA_ONES;
		uint64_t word = any * CTL_NO_QUOTA;

		memcpy(q.at + 8 * (size_t)i, &word, 8);
	}
	return q;
}

/* Sets the lowest bit of each byte that is not 0, and clears all other bits. */
static inline uint64_t quota_used(uint64_t word)
{
	uint64_t low = (word & 0x7f * QUOTA_ONES) + 0x7f * QUOTA_ONES;

	return (low | word) >> 7 & QUOTA_ONES;
}

static inline bool quota_any(const struct quota *q)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < QUOTA_WORDS; i++)
		any |= quota_word(q, i);
	return any != 0;
}

/* Returns the number of SMs with a nonzero quota. */
static inline uint32_t quota_count(const struct quota *q)
{
	uint32_t n = 0;

	/* The multiplication sums all bytes in the highest byte. */
	for (uint32_t i = 0; i < QUOTA_WORDS; i++)
		n += (uint32_t)(quota_used(quota_word(q, i)) * QUOTA_ONES >> 56);
	return n;
}

/* Returns the number of workers that may stay on all SMs together, if workers_per_sm workers fit on
 * an SM. */
static inline uint32_t quota_workers(const struct quota *q, uint32_t workers_per_sm)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < QUOTA_WORDS; i++) {
		uint64_t word = quota_word(q, i);

		if (!word)
			continue;
		if (word == UINT64_MAX)
			n += 8 * MIN(CTL_NO_QUOTA, workers_per_sm);
		for (uint32_t k = 0; word != UINT64_MAX && k < 8; k++)
			n += MIN(q->at[8 * i + k], workers_per_sm);
	}
	return n;
}

static inline bool quota_same(const struct quota *a, const struct quota *b)
{
	return memcmp(a->at, b->at, CTL_MAX_SMS) == 0;
}

/* Returns true if a is less than b on at least one SM. */
static inline bool quota_less(const struct quota *a, const struct quota *b)
{
	for (uint32_t i = 0; i < QUOTA_WORDS; i++) {
		if (quota_word(a, i) == quota_word(b, i))
			continue;
		for (uint32_t k = 8 * i; k < 8 * i + 8; k++) {
			if (a->at[k] < b->at[k])
				return true;
		}
	}
	return false;
}

#endif
