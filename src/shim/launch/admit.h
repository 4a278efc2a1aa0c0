/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides whether a launch is managed, and gives the reason if it is not. All rules are checked
 * here, in a fixed order. */
#ifndef HEDDLE_SHIM_ADMIT_H
#define HEDDLE_SHIM_ADMIT_H

#include "shim/launch/plan.h"

struct admission {
	enum wire_reason why;  /* the result; see wire_reason_rows */
	struct kernel *kernel; /* NULL: unknown kernel */
	/* Valid for managed launches: */
	struct form *form;
	struct stream *stream;
	uint64_t total; /* number of blocks */
	struct plan plan;
	bool open; /* the launch may use a form until admission_end */
};

/* Returns true if the launch's attributes mean the same for a grid of another size. */
bool launch_is_ordinary(const struct launch *l);
/* Checks the rules one after another, until one of them forbids to manage the launch
 * (wire/reasons.def lists the reasons). The shim holds launches back while it loads a form on the
 * device (hold_await). Meanwhile this function waits, unless the launch runs behind a gate. */
void admit(struct session *session, const struct launch *l, struct admission *ret);
/* Call this after the launch, whether it was managed or not. It ends what `admit` began: from then
 * on the launch no longer uses its form, so the form can be unloaded. */
void admission_end(struct admission *a);
/* The context may end: waits until no launch uses a form. Call it within a fence, because a fence
 * keeps new launches from using a form. */
struct session_ends;
void admissions_pause(struct session *session, const struct session_ends *ends);
void admissions_after_fork(void);

static inline bool admission_is_managed(const struct admission *a)
{
	return a->why == WIRE_WHY_WORKERS || a->why == WIRE_WHY_GUARD_FORM;
}

#endif
