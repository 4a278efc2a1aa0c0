/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See sim_policy.h. */
#include "cli/sim_policy.h"

#include "daemon/policy_calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The simulation that runs, for messages; NULL: none. */
static const struct sim *running;

void sim_policy_running(const struct sim *s)
{
	running = s;
}

static void policy_says(void *user, const char *what)
{
	const struct sim_policy *p = user;

	cli_warn(p->c, "policy %s: %s", p->file.name, what);
}

static void calls_enter(void *user, const char *call)
{
	const struct sim_policy *p = user;

	policy_calls_enter(p->file.name, call);
}

static void calls_leave(void *user)
{
	(void)user;
	policy_calls_leave();
}

static void calls_ended(const char *name, const char *call, const char *how)
{
	char at[64] = "", line[512];

	if (running)
		snprintf(at, sizeof(at), ", at %.3f ms of the trace", (double)running->now / 1e6);
	if (call)
		snprintf(line, sizeof(line), "heddle sim: error: policy %s: %s %s%s\n", name, call,
			how, at);
	else
		snprintf(line, sizeof(line), "heddle sim: error: heddle %s, outside of policy %s\n",
			how, name);
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return;
}

int sim_policy_choose(struct cli *c, const char *name, struct sim_policy *ret)
{
	struct strbuf err = {0};
	int r;

	*ret = (struct sim_policy){
		.c = c, .file.fd = -1, .policy = name ? sched_policy_find(name) : NULL};
	if (!name || ret->policy)
		return CLI_OK;
	r = policy_file_open(name, &ret->file, &err);
	ret->file.enter = policy_calls_enter;
	ret->file.leave = policy_calls_leave;
	if (r == 0 && policy_calls_watch(calls_ended) < 0) {
		strbuf_puts(&err, "policy: out of memory");
		r = -ENOMEM;
	}
	if (r == 0)
		r = policy_file_load(&ret->file, &err);
	if (r < 0)
		cli_error(c, NULL, "%s", err.at);
	strbuf_finish(&err);
	ret->watch = (struct sched_policy_watch){
		.enter = calls_enter, .leave = calls_leave, .say = policy_says, .user = ret};
	ret->loaded = (struct sched_policy){.name = ret->file.name,
		.table = ret->file.table,
		.options = cli_value(c, "policy-options") ? cli_value(c, "policy-options") : "",
		.watch = &ret->watch};
	ret->policy = &ret->loaded;
	return r < 0 ? CLI_FAILED : CLI_OK;
}

void sim_policy_close(struct sim_policy *p)
{
	if (p->file.fd >= 0)
		policy_file_close(&p->file);
}
