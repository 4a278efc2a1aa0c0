/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ways of running kernels together, as words: of the command line, and of what is remembered. */
#ifndef HEDDLE_SCHEDULE_H
#define HEDDLE_SCHEDULE_H

#include "cli/corun.h"

/* "sequential", "streams", "green", "merge", "vertical", "horizontal". */
extern const char *const schedule_hows[CORUN_HOWS];
bool schedule_parse_how(const char *text, enum corun_how *ret);

/* "steal", "partition", "mixed" or "apart". */
const char *schedule_order_name(enum ctl_order order);
/* One of these, but for the first with =N:N... for n shares or without (each 1). Sets order and
 * share. NULL, or what is wrong with it, in the arena. */
const char *schedule_parse_order(
	struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* All of a way: "merge mixed=3:1 help chunk=4", "green=1:2". */
void schedule_print(
	enum corun_how how, const struct dev_merging *m, unsigned n, char *buf, size_t size);
/* false: no such way, of n kernels. The rest of *ret_m stays as it was. */
bool schedule_parse(
	const char *text, unsigned n, enum corun_how *ret_how, struct dev_merging *ret_m);

#endif
