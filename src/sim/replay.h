/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Repeats what heddled's event log holds (sched/engine/journal.h): feeds its inputs to new engines, in
 * the log's order, and compares each decision with the one in the log. */
#ifndef HEDDLE_SIM_REPLAY_H
#define HEDDLE_SIM_REPLAY_H

#include "base/diag.h"
#include "sched/engine/sched.h"

struct replay_job {
	const char *text; /* text of the log */
	size_t len;
	struct diag_list *diags;
	/* Finds the policy that the log names. loaded: it came from a file. options: its
	 * policy_options. NULL: there is none, and the function has said so in diags, at this line.
	 * The result must outlive the replay. */
	const struct sched_policy *(*policy)(
		void *user, const char *name, bool loaded, const char *options, uint32_t line);
	void *user;
	struct strbuf *actions; /* receives a line for each action; NULL: not wanted */
};

struct replay_result {
	uint64_t inputs;    /* number of inputs, without decisions */
	uint64_t decisions; /* number of calls of sched_decide */
	uint64_t actions;
	uint32_t n_engines;
	bool cut;      /* the last line was incomplete, and was ignored */
	uint32_t line; /* line of the first difference; 0: there is no difference */
	/* that line of the log, and the same line as the replay produced it */
	struct strbuf logged, told;
};

/* Stops at the first difference. Returns 0 (equal, or a difference), -EINVAL with an error in diags if
 * the log cannot be repeated, or -ENOMEM. The caller frees *ret with replay_finish in any case. */
int replay_run(const struct replay_job *job, struct replay_result *ret);
void replay_finish(struct replay_result *r);

#endif
