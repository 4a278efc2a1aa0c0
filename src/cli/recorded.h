/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The event log of heddled (doc/events.md) as a trace of heddle sim (sim/trace.h). */
#ifndef HEDDLE_CLI_RECORDED_H
#define HEDDLE_CLI_RECORDED_H

#include "base/diag.h"

/* What the log does not say of what it tells. */
struct recorded_gaps {
	uint64_t unended;    /* launches whose end is not in it: left out */
	uint64_t unmeasured; /* launches that ended, with no time measured: left out */
	uint64_t unseen;     /* managed launches that were over before heddled looked */
	uint64_t assumed;    /* devices whose number of SMs it does not name: the most that a launch
				had */
};

/* Is it such a log? By its first line. */
bool recorded_is(const char *text, size_t len);
/* Adds the trace to *ret: a section for each device. 0; -EINVAL: said in diags, a line each; the
 * lines after it are read, too. The caller frees *ret in any case. */
int recorded_read(const char *text, size_t len, struct diag_list *diags, struct strbuf *ret,
	struct recorded_gaps *ret_gaps);

#endif
