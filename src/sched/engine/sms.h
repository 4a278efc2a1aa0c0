/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sets of SMs, by number. */
#ifndef HEDDLE_SCHED_SMS_H
#define HEDDLE_SCHED_SMS_H

#include "ctl/control.h"

#define SM_WORDS (CTL_MAX_SMS / 64)

struct sms {
	uint64_t w[SM_WORDS];
};

static inline uint32_t sms_count(const struct sms *s)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < SM_WORDS; i++)
		n += (uint32_t)__builtin_popcountll(s->w[i]);
	return n;
}

static inline bool sms_has(const struct sms *s, uint32_t sm)
{
	return s->w[sm / 64] >> sm % 64 & 1;
}

static inline void sms_add(struct sms *s, uint32_t sm)
{
	s->w[sm / 64] |= 1ull << sm % 64;
}

#endif
