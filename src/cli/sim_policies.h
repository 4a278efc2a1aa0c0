/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The policies of heddle sim that are not built in. They are loaded as heddled loads them. If a
 * call of a policy does not return or ends the process, a message says so. */
#ifndef HEDDLE_CLI_SIM_POLICIES_H
#define HEDDLE_CLI_SIM_POLICIES_H

#include "front/cli.h"
#include "sim/sim.h"

struct sim_policy;

struct sim_policies {
	struct cli *c;
	struct sim_policy *first; /* list of the loaded policies, which it owns */
};

/* Finds the policy of this name (policies.def), or loads the file if the name has a slash. Options
 * are those of --policy-options. Returns NULL after it reports an error. ps is a
 * struct sim_policies. */
const struct sched_policy *sim_policies_find(void *ps, const char *name);
void sim_policies_finish(struct sim_policies *ps);
/* Sets the simulation that is running, which messages name; NULL: none. */
void sim_policies_watch(const struct sim *running);

#endif
