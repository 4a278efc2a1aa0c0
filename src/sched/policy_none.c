/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The template: everything is granted, nobody is held. What a device does without heddle. */
#include "policy.h"

#include <limits.h>

static void decide(void *state, struct sched_view *v)
{
	(void)state;
	for (size_t i = 0; i < v->len; i++) {
		v->at[i]->lane = 0;
		v->at[i]->want_sms = v->n_sms;
	}
	v->hold_below = INT_MIN;
}

const struct sched_policy sched_policy_none = {.name = "none", .decide = decide};
