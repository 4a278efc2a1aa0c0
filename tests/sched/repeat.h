/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Journals a simulation and replays the journal. */
#ifndef TESTS_SCHED_REPEAT_H
#define TESTS_SCHED_REPEAT_H

#include "sched/engine/journal.h"
#include "sim/sim.h"

struct repeat {
	struct sched_journal *journal;
	struct strbuf log;
};

/* Begins a journal. Call it before the simulation runs. */
void repeat_begin(struct repeat *r, struct sim *s);
/* Replays the journal and frees it. Returns whether all decisions are equal; otherwise prints the
 * difference with the name. Call it after sim_finish. policy: the simulation's policy. Does not
 * replay policy profile, which remembers the counts it gave across engines in a process and so
 * would decide differently the second time. */
bool repeat_end(struct repeat *r, const char *name, const struct sched_policy *policy);

#endif
