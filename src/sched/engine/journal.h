/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records all inputs of engines and of their model, and all actions that come out, so that a run can
 * be repeated (sim/replay.h). Recording copies a few words. The text is made later, when no decision
 * is pending. An input that changes nothing is not recorded. Of several reports of a launch's progress
 * with nothing between them, only the last one is kept. One thread. */
#ifndef HEDDLE_SCHED_JOURNAL_H
#define HEDDLE_SCHED_JOURNAL_H

#include "base/base.h"

struct sched_journal;

/* full: called with user when the journal holds so much that it should be written
 * (sched_journal_write); never from that function. Returns 0 or -ENOMEM. */
int sched_journal_create(void (*full)(void *user), void *user, struct sched_journal **ret);
/* Deletes all recorded inputs and stops recording. */
void sched_journal_stop(struct sched_journal *j);
/* Call it after all engines that use this journal are destroyed. */
void sched_journal_destroy(struct sched_journal *j);
/* Appends the text of all recorded inputs, and forgets them. Reports of progress at the end stay,
 * because later ones may replace them, unless `last` is set. If memory is exhausted, sets
 * out->failed. */
void sched_journal_write(struct sched_journal *j, bool last, struct strbuf *out);

#endif
