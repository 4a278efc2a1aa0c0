/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads policies for heddle sim that are not built in. */
#include "cli/sim_policies.h"

#include "daemon/policy_calls.h"
#include "daemon/policy_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sim_policy {
	struct sim_policy *next; /* next in the list sim_policies.first */
	char *name;              /* the name as the caller gave it */
	struct policy_file file;
	struct sched_policy_watch watch;
	struct sched_policy policy;
	const struct cli *c;
};

static const struct sim *running;

void sim_policies_watch(const struct sim *now)
{
	running = now;
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

static bool load_policy(struct sim_policies *ps, struct sim_policy *p, struct strbuf *err)
{
	const char *options = cli_value(ps->c, "policy-options");
	int r = strchr(p->name, '/') ? policy_file_open(p->name, &p->file, err)
				     : policy_file_open_own(p->name, &p->file, err);

	if (r < 0)
		return false;
	p->file.enter = policy_calls_enter;
	p->file.leave = policy_calls_leave;
	if (!ps->first && policy_calls_watch(calls_ended) < 0) {
		strbuf_puts(err, "policy: out of memory");
		return false;
	}
	if (policy_file_load(&p->file, err) < 0)
		return false;
	p->c = ps->c;
	p->watch = (struct sched_policy_watch){
		.enter = calls_enter, .leave = calls_leave, .say = policy_says, .user = p};
	p->policy = (struct sched_policy){.name = p->file.name,
		.table = p->file.table,
		.options = strchr(p->name, '/') ? options ? options : "" : NULL,
		.watch = &p->watch};
	return true;
}

static void policy_free(struct sim_policy *p)
{
	if (p->file.fd >= 0)
		policy_file_close(&p->file);
	free(p->name);
	free(p);
}

const struct sched_policy *sim_policies_find(void *user, const char *name)
{
	const struct sched_policy *built_in = sched_policy_find(name);
	struct sim_policies *ps = user;
	struct strbuf err = {0};
	struct sim_policy *p;

	if (built_in)
		return built_in;
	for (p = ps->first; p; p = p->next) {
		if (strcmp(p->name, name) == 0)
			return &p->policy;
	}
	p = calloc(1, sizeof(*p));
	if (p) {
		p->file.fd = -1;
		p->name = strdup(name);
	}
	if (p && p->name && load_policy(ps, p, &err)) {
		p->next = ps->first;
		ps->first = p;
		strbuf_finish(&err);
		return &p->policy;
	}
	cli_error(ps->c, NULL, "%s", err.at ? err.at : "policy: out of memory");
	strbuf_finish(&err);
	if (p)
		policy_free(p);
	return NULL;
}

void sim_policies_finish(struct sim_policies *ps)
{
	for (struct sim_policy *p = ps->first, *next; p; p = next) {
		next = p->next;
		policy_free(p);
	}
	ps->first = NULL;
}
