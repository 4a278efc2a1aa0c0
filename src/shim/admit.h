/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Whether a launch is managed, and if not, why. All rules are asked here, in one order. */
#ifndef HEDDLE_SHIM_ADMIT_H
#define HEDDLE_SHIM_ADMIT_H

#include "shim/plan.h"

struct admission {
	enum wire_reason why;  /* its outcome: wire_reason_rows */
	struct kernel *kernel; /* NULL: not known */
	/* Of managed launches: */
	struct form *form;
	struct stream *stream;
	uint64_t total; /* blocks */
	struct plan plan;
	bool open; /* it may use a form until admission_end */
};

/* Whether its attributes mean the same for any other grid. */
bool launch_is_ordinary(const struct launch *l);
/* Asks the rules (wire/reasons.def) until one keeps the launch from being managed. While
 * launches are held so that forms can be placed (placing_await), it waits; but not for a launch
 * with a gate. */
void admit(const struct launch *l, struct admission *ret);
/* Call after the launch, managed or not. The launch no longer uses its form. */
void admission_end(struct admission *a);
/* Waits until no launch uses a form. Within a fence, so that no new use begins. */
void admissions_await_end(void);

static inline enum wire_outcome admission_outcome(const struct admission *a)
{
	return wire_reason_rows[a->why].outcome;
}
static inline bool admission_is_managed(const struct admission *a)
{
	return a->why == WIRE_WHY_WORKERS || a->why == WIRE_WHY_GUARD_FORM;
}

#endif
