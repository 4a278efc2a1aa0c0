/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implementation of repeat.h. */
#include "repeat.h"

#include "sched/engine/input.h"
#include "sim/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_log(void *user)
{
	struct repeat *r = user;

	sched_journal_write(r->journal, false, &r->log);
}

void repeat_begin(struct repeat *r, struct sim *s)
{
	memset(r, 0, sizeof(*r));
	strbuf_printf(&r->log, "{\"schema\": 2, \"log\": \"heddled-events\", \"inputs\": %d}\n",
		SCHED_INPUTS_VERSION);
	if (sched_journal_create(write_log, r, &r->journal) < 0)
		abort();
	s->o.journal = r->journal;
}

static const struct sched_policy *find_policy(
	void *user, const char *name, bool loaded, const char *options, uint32_t line)
{
	(void)name;
	(void)loaded;
	(void)options;
	(void)line;
	return user;
}

bool repeat_end(struct repeat *r, const char *name, const struct sched_policy *policy)
{
	struct diag_list diags;
	struct arena arena;
	struct replay_job job = {.diags = &diags, .policy = find_policy, .user = (void *)policy};
	struct replay_result result = {0};
	int status = 0;

	sched_journal_write(r->journal, true, &r->log);
	sched_journal_destroy(r->journal);
	job.text = r->log.at;
	job.len = r->log.len;
	arena_init(&arena, 0);
	diag_init(&diags, &arena, name, NULL, 0);
	if (strcmp(policy->name, "profile") != 0)
		status = replay_run(&job, &result);
	if (result.line)
		fprintf(stderr, "%s: replayed differently, line %u of the journal\n-%s\n+%s\n",
			name, result.line, result.logged.at, result.told.at);
	if (status < 0)
		fprintf(stderr, "%s: not replayed: line %u: %s\n", name,
			diags.len ? diags.at[0].line : 0, diags.len ? diags.at[0].message : "");
	status = status < 0 || result.line;
	if (status && getenv("VERBOSE"))
		fputs(r->log.at, stderr);
	replay_finish(&result);
	arena_finish(&arena);
	strbuf_finish(&r->log);
	return !status;
}
