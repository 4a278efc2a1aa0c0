/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The policies of heddle sim that are not built in: they are loaded as heddled loads them, and watched:
 * if a call of one does not return, or ends the process, a message says so. */
#ifndef HEDDLE_CLI_SIM_POLICIES_H
#define HEDDLE_CLI_SIM_POLICIES_H

#include "front/cli.h"
#include "sim/sim.h"

struct sim_policy;

struct sim_policies {
	struct cli *c;
	struct sim_policy *first; /* those that are loaded; the list owns them */
};

/* Finds the policy of this name (policies.def), or loads the file if the name has a slash. Options
 * are those of --policy-options. Returns NULL after it reports an error. ps: a struct
 * sim_policies. */
const struct sched_policy *sim_policies_find(void *ps, const char *name);
void sim_policies_finish(struct sim_policies *ps);
/* The simulation that runs now, for messages; NULL: none. */
void sim_policies_watch(const struct sim *running);

#endif
