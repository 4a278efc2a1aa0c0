/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See sim_replay.h. Code from a file is loaded only if the user names the file, whatever the log
 * says. */
#include "cli/sim_replay.h"

#include "sim/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	struct diag_list *diags;
	struct sim_policies *policies;
	const struct sched_policy *given;
	struct sched_policy given_file; /* `given` with the options of the log */
	bool of_file;                   /* a policy of the log was loaded from a user's file */
};

/* Finds the policy to use for a policy of the log. A built-in policy given on the command line
 * replaces all policies of the log. A given policy from a file replaces only those that came from
 * users' files, if the log has any. */
static const struct sched_policy *find_policy(
	void *user, const char *name, bool loaded, const char *options, uint32_t line)
{
	const struct finding *f = user;
	const struct sched_policy *given = f->given, *p = NULL;
	bool own = !loaded || sched_policy_is_file(name);
	char why[256];

	if (given && sched_policy_find(given->name) == given)
		p = given;
	else if (given && (!own || !f->of_file))
		p = &f->given_file;
	else if (own && (sched_policy_find(name) || sched_policy_is_file(name)))
		p = sim_policies_find(f->policies, name);
	if (!p && !own)
		diag_line_error(f->diags, line,
			"policy %s was loaded from a file: name the file with --policy ./FILE",
			name);
	else if (!p)
		diag_line_error(f->diags, line, "this heddle has no policy '%s'", name);
	else if (sched_policy_check(p, options, why, sizeof(why)) < 0) {
		diag_line_error(f->diags, line, "%s", why);
		p = NULL;
	}
	return p;
}

/* Returns whether a policy of the log came from a user's file. */
static bool has_policy_of_file(const char *text)
{
	static const char key[] = "\"policy\": \"", loaded[] = "\", \"loaded\": true";
	char name[64];

	for (const char *at = text; (at = strstr(at, loaded)); at++) {
		const char *from = at;

		while (from > text && from[-1] != '"')
			from--;
		if ((size_t)(from - text) < sizeof(key) - 1 ||
			memcmp(from - (sizeof(key) - 1), key, sizeof(key) - 1) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)MIN((size_t)(at - from), 63), from);
		if (!sched_policy_is_file(name))
			return true;
	}
	return false;
}

static void json_result(
	struct json *j, const char *file, const struct replay_result *r, char *actions)
{
	char *rest = NULL;

	json_begin_object(j, NULL);
	json_str(j, "file", file);
	json_uint(j, "inputs", r->inputs);
	json_uint(j, "decisions", r->decisions);
	json_bool(j, "equal", !r->line);
	if (r->line) {
		json_uint(j, "line", r->line);
		json_str(j, "logged", r->logged.at);
		json_str(j, "replayed", r->told.at);
	}
	json_begin_array(j, "actions");
	for (char *line = actions ? strtok_r(actions, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest))
		json_str(j, NULL, line);
	json_end(j, ']');
	json_end(j, '}');
}

static int show_result(struct cli *c, const char *file, const struct replay_result *r)
{
	if (r->cut)
		cli_warn(c, "%s: its last line is incomplete, and left out", file);
	if (r->line)
		return cli_error(c, NULL,
			"%s:%u: the decisions differ from here on, after %llu inputs and %llu "
			"decisions\nheddled: %s\nreplay:  %s",
			file, r->line, (unsigned long long)r->inputs,
			(unsigned long long)r->decisions, r->logged.at, r->told.at);
	cli_show(c, "%s: %llu input%s, %llu decision%s, %llu action%s: all equal\n", file,
		(unsigned long long)r->inputs, PLURAL(r->inputs, "s"),
		(unsigned long long)r->decisions, PLURAL(r->decisions, "s"),
		(unsigned long long)r->actions, PLURAL(r->actions, "s"));
	return CLI_OK;
}

int sim_replay(struct cli *c, struct json *j, const char *file, struct sim_policies *policies,
	const struct sched_policy *policy)
{
	struct diag_list diags;
	struct strbuf actions = {0};
	struct finding f = {.diags = &diags, .policies = policies, .given = policy};
	struct replay_job job = {
		.diags = &diags, .policy = find_policy, .user = &f, .actions = &actions};
	struct replay_result result;
	struct arena arena;
	char *text = NULL;
	int status = cli_read_file(c, file, &text, &job.len);

	if (status)
		return status;
	if (text)
		cli_plain(text, job.len);
	job.text = text ? text : "";
	f.of_file = has_policy_of_file(job.text);
	if (policy)
		f.given_file = *policy;
	f.given_file.options = NULL;
	arena_init(&arena, 0);
	diag_init(&diags, &arena, file, NULL, 0);
	status = replay_run(&job, &result);
	if (actions.len && !c->json)
		cli_show(c, "%s", actions.at);
	if (status < 0) {
		status = sim_failed(c, &diags, status);
	} else {
		if (c->json)
			json_result(j, file, &result, actions.at);
		status = show_result(c, file, &result);
	}
	replay_finish(&result);
	strbuf_finish(&actions);
	arena_finish(&arena);
	free(text);
	return status;
}
