/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implements heddle sim --replay. */
#ifndef HEDDLE_CLI_SIM_REPLAY_H
#define HEDDLE_CLI_SIM_REPLAY_H

#include "base/diag.h"
#include "base/json.h"
#include "cli/sim_policies.h"
#include "front/cli.h"

/* Replays an event log of heddled, and prints the resulting actions. policy replaces the policies
 * of the log; NULL: these are used. Returns CLI_OK if the actions equal those of the log. Otherwise
 * reports the first difference, or an error of the log, and returns CLI_FAILED. */
int sim_replay(struct cli *c, struct json *j, const char *file, struct sim_policies *policies,
	const struct sched_policy *policy);
/* Reports the errors found in the file. Returns CLI_FAILED. (cmd_sim.c) */
int sim_failed(const struct cli *c, const struct diag_list *d, int status);

#endif
