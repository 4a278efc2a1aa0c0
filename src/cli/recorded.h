/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Converts heddled's event log (doc/events.md) to a trace for heddle sim (sim/trace.h). */
#ifndef HEDDLE_CLI_RECORDED_H
#define HEDDLE_CLI_RECORDED_H

#include "base/diag.h"

/* Counts of launches and devices whose data is missing in an event log. */
struct recorded_gaps {
	uint64_t unended; /* launches that had not ended; left out of the trace */
	/* launches that ended without a measured time; left out of the trace */
	uint64_t unmeasured;
	uint64_t unseen; /* managed launches that ended before heddled noticed them */
	/* devices for which the log has no number of SMs; the largest number that a launch used is
	 * assumed */
	uint64_t assumed;
};

/* Returns whether the text is an event log of heddled. Only its first line is examined. */
bool recorded_is(const char *text, size_t len);
/* Appends the trace to *ret, with a section for each device. Returns 0, or -EINVAL with a
 * diagnostic for each faulty line; lines after a faulty one are still read. The caller frees *ret
 * in any case. */
int recorded_read(const char *text, size_t len, struct diag_list *diags, struct strbuf *ret,
	struct recorded_gaps *ret_gaps);

#endif
