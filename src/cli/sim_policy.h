/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The policy of heddle sim --policy. */
#ifndef HEDDLE_CLI_SIM_POLICY_H
#define HEDDLE_CLI_SIM_POLICY_H

#include "cli/cli.h"
#include "daemon/policy_file.h"
#include "sched/policy/policy.h"
#include "sim/sim.h"

struct sim_policy {
	const struct sched_policy *policy; /* NULL: that of the trace or log */
	struct policy_file file;           /* fd -1: none */
	struct sched_policy_watch watch;
	struct sched_policy loaded;
	const struct cli *c;
};

/* Finds the named policy (NULL: none is named). Returns 0, or CLI_FAILED after it reports the error.
 * The caller closes *ret in any case, which must not move until then. */
int sim_policy_choose(struct cli *c, const char *name, struct sim_policy *ret);
void sim_policy_close(struct sim_policy *p);
/* Names the simulation that runs, for messages about calls into the policy; NULL: none runs. */
void sim_policy_running(const struct sim *s);

#endif
