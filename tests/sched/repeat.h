/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Journals a simulation, and replays the journal. */
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
/* Replays what the journal has, and frees it. Returns whether all decisions came out equal; if not,
 * prints the difference, with the name. Call it after sim_finish. policy: that of the simulation.
 * Policy profile remembers across engines of a process which counts it has given, so that here it
 * decides differently the second time: then nothing is replayed. */
bool repeat_end(struct repeat *r, const char *name, const struct sched_policy *policy);

#endif
