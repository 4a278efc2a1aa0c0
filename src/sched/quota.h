/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How many workers of a launch may stay on each SM: a byte an SM, as in the page (ctl/words.h). 0:
 * none; 1 to QUOTA_MAX: so many; CTL_NO_QUOTA: no bound. Nothing else ever stands there, and bytes
 * of SMs that the device does not have are 0. */
#ifndef HEDDLE_SCHED_QUOTA_H
#define HEDDLE_SCHED_QUOTA_H

#include "base/base.h"
#include "sms.h"

#define QUOTA_MAX 31u /* a rank on an SM is a bit of a word (ctl/control.h) */

struct quota {
	uint8_t at[CTL_MAX_SMS];
};

/* No bound on the SMs of the set, none elsewhere. */
static inline struct quota quota_of(const struct sms *set)
{
	struct quota q;

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++)
		q.at[i] = sms_has(set, i) ? CTL_NO_QUOTA : 0;
	return q;
}

/* The SMs on which some worker may stay. */
static inline struct sms quota_sms(const struct quota *q)
{
	struct sms set = {0};

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++) {
		if (q->at[i])
			sms_add(&set, i);
	}
	return set;
}

static inline bool quota_any(const struct quota *q)
{
	uint8_t any = 0;

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++)
		any |= q->at[i];
	return any != 0;
}

/* SMs on which some worker may stay. */
static inline uint32_t quota_count(const struct quota *q)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++)
		n += q->at[i] != 0;
	return n;
}

/* Workers that may stay in all, where an SM holds workers_per_sm of them. */
static inline uint32_t quota_workers(const struct quota *q, uint32_t workers_per_sm)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++)
		n += MIN(q->at[i], workers_per_sm);
	return n;
}

/* On some SM a has less than b. */
static inline bool quota_less(const struct quota *a, const struct quota *b)
{
	bool less = false;

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++)
		less |= a->at[i] < b->at[i];
	return less;
}

#endif
