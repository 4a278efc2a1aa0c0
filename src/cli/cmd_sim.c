/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle sim replays a trace of launches on the scheduling engine in virtual time. */
#include "cli/recorded.h"
#include "cli/sim_policies.h"
#include "cli/sim_replay.h"
#include "front/ask.h"
#include "front/cli.h"
#include "sim/picture.h"
#include "sim/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- printing JSON ---- */

static void json_trace(struct json *j, const struct sim *s)
{
	char *copy = s->trace.at ? strdup(s->trace.at) : NULL, *rest = NULL;

	json_begin_array(j, "trace");
	for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest))
		json_str(j, NULL, line);
	json_end(j, ']');
	free(copy);
}

static void json_tenant(struct json *j, const struct sim_tenant_report *t)
{
	char buf[16];

	json_begin_object(j, NULL);
	json_str(j, "name", t->tenant->name);
	json_uint(j, "weight", t->tenant->weight);
	json_str(j, "priority", ask_priority_name(t->tenant->priority, buf, sizeof(buf)));
	json_uint(j, "finished", t->finished);
	json_uint(j, "unfinished", t->unfinished);
	json_num(j, "share_had", t->share);
	json_num(j, "share_wanted", t->share_wanted);
	json_num(j, "waiting_mean_ns", t->waiting_mean_ns);
	json_uint(j, "waiting_longest_ns", t->waiting_longest_ns);
	json_num(j, "turnaround_mean_ns", t->turnaround_mean_ns);
	json_num(j, "turnaround_alone_mean_ns", t->turnaround_alone_mean_ns);
	json_num(j, "ntt", t->ntt);
	json_end(j, '}');
}

static void json_report(struct cli *c, struct json *j, const char *file, const struct sim *s,
	const struct sim_report *r)
{
	json_begin_object(j, NULL);
	json_str(j, "file", file);
	json_str(j, "device", s->name[0] ? s->name : NULL);
	json_str(j, "policy", s->policy->name);
	json_uint(j, "sms", s->o.n_sms);
	json_begin_array(j, "tenants");
	for (size_t i = 0; i < r->tenants.len; i++)
		json_tenant(j, &r->tenants.at[i]);
	json_end(j, ']');
	json_uint(j, "preemptions", r->preemptions);
	json_uint(j, "makespan_ns", r->makespan_ns);
	json_num(j, "antt", r->antt);
	json_num(j, "stp", r->stp);
	json_num(j, "idle", r->idle);
	if (cli_has(c, "trace"))
		json_trace(j, s);
	json_end(j, '}');
}

/* ---- printing text ---- */

static void add_tenant(struct table *t, const struct sim_tenant_report *r)
{
	char buf[16];

	table_row(t);
	table_cell(t, "%s", r->tenant->name);
	table_cell(t, "%u", r->tenant->weight);
	table_cell(t, "%s", ask_priority_name(r->tenant->priority, buf, sizeof(buf)));
	table_cell(t, "%llu", (unsigned long long)r->finished);
	table_cell(t, "%llu", (unsigned long long)r->unfinished);
	table_number(t, 1, r->share, "%");
	table_number(t, 1, r->share_wanted, "%");
	table_number(t, 3, r->waiting_mean_ns / 1e6, "ms");
	table_number(t, 3, (double)r->waiting_longest_ns / 1e6, "ms");
	table_number(t, 3, r->turnaround_mean_ns / 1e6, "ms");
	table_number(t, 3, r->turnaround_alone_mean_ns / 1e6, "ms");
}

/* Adds a row with a figure that describes all tenants together. */
static void add_whole(struct table *t, const char *name, int digits, double v, const char *unit)
{
	table_row(t);
	table_cell(t, "%s", name);
	table_number(t, digits, v, unit);
}

static void show_report(
	struct cli *c, const char *file, const struct sim *s, const struct sim_report *r)
{
	static const char *const heads[] = {"TENANT", "WEIGHT", "PRIORITY", "FINISHED",
		"UNFINISHED", "SHARE", "ENTITLED", "WAITING", "LONGEST", "TURNAROUND", "ALONE"};
	struct table tenants = {0}, whole = {0};

	if (cli_has(c, "trace"))
		cli_show(c, "%s", s->trace.at ? s->trace.at : "");
	cli_show(c, "%s%s%s: policy %s, %u SMs\n", file, s->name[0] ? ": device " : "", s->name,
		s->policy->name, s->o.n_sms);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_column(&tenants, i ? 0 : -1, heads[i]);
	for (size_t i = 0; i < r->tenants.len; i++)
		add_tenant(&tenants, &r->tenants.at[i]);
	cli_show_table(c, &tenants);
	table_column(&whole, -1, "");
	table_column(&whole, 12, "");
	add_whole(&whole, "preemptions", 0, (double)r->preemptions, "");
	add_whole(&whole, "makespan", 3, (double)r->makespan_ns / 1e6, "ms");
	add_whole(&whole, "ANTT", 3, r->antt, "");
	add_whole(&whole, "STP", 3, r->stp, "");
	add_whole(&whole, "idle", 1, r->idle, "%");
	cli_show_table(c, &whole);
}

/* ---- running the simulation ---- */

int sim_failed(const struct cli *c, const struct diag_list *d, int status)
{
	for (unsigned i = 0; i < d->len; i++) {
		if (d->at[i].line)
			cli_error(c, NULL, "%s:%u: %s", d->file, d->at[i].line, d->at[i].message);
		else
			cli_error(c, NULL, "%s: %s", d->file, d->at[i].message);
	}
	if (d->dropped)
		cli_error(c, NULL, "%s: %u more errors", d->file, d->dropped);
	if (!d->len)
		cli_error(c, NULL, "%s: %s", d->file, strerror(-status));
	return CLI_FAILED;
}

static void add_panel(struct sim_picture *p, const char *file, const struct sim *s)
{
	char title[160];

	snprintf(title, sizeof(title), "%.60s%s%s: policy %s", file, s->name[0] ? " " : "", s->name,
		s->policy->name);
	sim_picture_add(p, s, title);
}

/* Simulates one section of a trace, and prints the report. picture may be NULL. */
static int simulate_trace(
	struct cli *c, struct json *j, const struct sim_job *job, struct sim_picture *picture)
{
	struct sim_report report = {0};
	struct sim s;
	int status;

	s.now = 0;
	sim_policies_watch(&s);
	status = sim_job_run(job, NULL, &s);
	sim_policies_watch(NULL);
	if (status == 0)
		status = sim_report_make(job, &s, &report);
	if (status == 0 && picture)
		add_panel(picture, job->diags->file, &s);
	if (status == 0 && c->json)
		json_report(c, j, job->diags->file, &s, &report);
	else if (status == 0)
		show_report(c, job->diags->file, &s, &report);
	sim_report_finish(&report);
	sim_finish(&s);
	return status < 0 ? sim_failed(c, job->diags, status) : CLI_OK;
}

/* Simulates each device of the trace separately, with an engine of its own. */
static int simulate_all(
	struct cli *c, struct json *j, const struct sim_job *whole, struct sim_picture *picture)
{
	struct sim_job job = *whole;
	int status = CLI_OK;
	size_t at = 0;

	do {
		uint32_t lines;
		int its;

		job.text = whole->text + at;
		job.len = sim_section(job.text, whole->len - at, &lines);
		its = simulate_trace(c, j, &job, picture);
		status = MAX(status, its);
		/* Each section counts its own errors. */
		diag_init(job.diags, job.diags->arena, job.diags->file, NULL, 0);
		job.line += lines;
		at += job.len;
	} while (at < whole->len);
	return status;
}

#ifdef HEDDLE_RECORDED
/* Prints one warning that lists the gaps of an event log. */
static void tell_gaps(const struct cli *c, const char *file, const struct recorded_gaps *g)
{
	struct strbuf b = {0};

	if (g->unended)
		strbuf_printf(&b, "; left out: %llu launch%s that had not ended",
			(unsigned long long)g->unended, PLURAL(g->unended, "es"));
	if (g->unseen)
		strbuf_printf(&b, "; it misses %llu launch%s that ended before heddled looked",
			(unsigned long long)g->unseen, PLURAL(g->unseen, "es"));
	if (g->unmeasured)
		strbuf_printf(&b, "; left out: %llu launch%s whose blocks were not measured",
			(unsigned long long)g->unmeasured, PLURAL(g->unmeasured, "es"));
	if (g->assumed)
		strbuf_puts(&b, "; it does not say how many SMs a device has: as many as were "
				"used at once");
	cli_warn(c,
		"%s: an event log names no streams: launches come when they came then, one "
		"stream a program%s",
		file, b.at ? b.at : "");
	strbuf_finish(&b);
}
#endif

/* Converts *io_text to a trace if the text is an event log. Returns 0, or CLI_FAILED after it
 * reports the error. */
static int read_recorded(struct cli *c, struct diag_list *diags, char **io_text, size_t *io_len)
{
#ifdef HEDDLE_RECORDED
	struct recorded_gaps gaps;
	struct strbuf trace = {0};
	int status;

	if (!*io_text || !recorded_is(*io_text, *io_len))
		return CLI_OK;
	status = recorded_read(*io_text, *io_len, diags, &trace, &gaps);
	free(*io_text);
	*io_text = trace.at;
	*io_len = trace.len;
	if (status == 0 && trace.failed)
		status = -ENOMEM;
	if (status < 0)
		return sim_failed(c, diags, status);
	tell_gaps(c, diags->file, &gaps);
#endif
	return CLI_OK;
}

/* Simulates a trace file. policy replaces the policies that the file names; NULL: they are used. */
static int run_file(struct cli *c, struct json *j, const char *file, struct sim_policies *policies,
	const struct sched_policy *policy, struct sim_picture *picture)
{
	struct diag_list diags;
	struct sim_job job = {.diags = &diags,
		.policy = policy,
		.find = sim_policies_find,
		.find_user = policies,
		.policy_options = cli_value(c, "policy-options"),
		.quiet = !cli_has(c, "trace"),
		.keeps_stays = picture != NULL};
	struct arena arena;
	char *text = NULL;
	int status = cli_read_file(c, file, &text, &job.len);

	if (status)
		return status;
	if (text)
		cli_plain(text, job.len);
	arena_init(&arena, 0);
	diag_init(&diags, &arena, file, NULL, 0);
	status = read_recorded(c, &diags, &text, &job.len);
	job.text = text ? text : "";
	if (status == CLI_OK)
		status = simulate_all(c, j, &job, picture);
	arena_finish(&arena);
	free(text);
	return status;
}

static int write_picture(struct cli *c, struct sim_picture *picture)
{
	struct strbuf svg = {0};
	int status;

	sim_picture_finish(picture, &svg);
	status = cli_write_file(c, cli_value(c, "svg"), "--svg FILE puts it elsewhere", &svg);
	strbuf_finish(&svg);
	return status;
}

static int run_sim(struct cli *c)
{
	const char *name = cli_value(c, "policy");
	struct sim_policies policies = {.c = c};
	const struct sched_policy *policy = NULL;
	struct sim_picture picture = {0};
	struct json j;
	int status = CLI_OK;

	if (name && !sched_policy_find(name) && !sched_policy_is_file(name) && !strchr(name, '/'))
		return cli_usage(c, "--policy: '%s' is not one of %s", name, sched_policy_values);
	if (cli_has(c, "replay") && (cli_has(c, "svg") || cli_has(c, "policy-options")))
		return cli_usage(c, "--replay: takes neither --svg nor --policy-options");
	if (cli_will_write(c, cli_value(c, "svg"), "--svg FILE puts it elsewhere") != CLI_OK)
		return CLI_FAILED;
	if (name)
		policy = sim_policies_find(&policies, name);
	if (name && !policy)
		status = CLI_FAILED;
	cli_json_open(c, &j, 1);
	json_begin_array(&j, "files");
	for (int i = 0; (policy || !name) && i < c->n_operands; i++) {
		int its = cli_has(c, "replay")
				  ? sim_replay(c, &j, c->operands[i], &policies, policy)
				  : run_file(c, &j, c->operands[i], &policies, policy,
					    cli_has(c, "svg") ? &picture : NULL);

		status = MAX(status, its);
	}
	json_end(&j, ']');
	json_end(&j, '}');
	if (cli_has(c, "svg") && status == CLI_OK)
		status = write_picture(c, &picture);
	strbuf_finish(&picture.body);
	sim_policies_finish(&policies);
	return status;
}

static const struct cli_option options[] = {
	{0, "policy", sched_policy_words,
		"the policy (default: the one in the trace, else hpf); FILE, with a slash in it, "
		"is a policy of your own, as heddled loads it (heddled(8))"},
	{0, "policy-options", "TEXT",
		"options of the policy (default: those in the trace); of greedy: pairs=on|off; of "
		"split: "
		"whole=PERCENT, mixed=PERCENT"},
	{0, "replay", NULL,
		"FILE is a log of heddled --events: feed its inputs to the engine, print the "
		"actions, and compare them with those in the log"},
	{0, "svg", "FILE", "also draw on how many SMs each tenant had blocks over time"},
	{0, "trace", NULL, "also print every event, one a line"},
	{0},
};

const struct cli_verb cli_verb_sim = {
	.name = "sim",
	.operands = "FILE...",
	.summary = "run a trace of launches through the scheduler, in virtual time",
	.details =
		"Needs no GPU: the engine of heddled decides, a simulated device runs the blocks. "
		"A file has lines of these forms; '#' begins a comment, and a time is a number and "
		"ns, us, ms or s:\n\ndevice sms=N policy=NAME "
		"mode=simultaneous|turns ...\nat TIME join TENANT [prio=low|normal|high|N] "
		"[weight=N]\nat TIME launch TENANT KERNEL [blocks=N] [block=TIME] [wps=N] "
		"[stream=N] ...\nat TIME priority TENANT low|normal|high|N\nat TIME weight TENANT "
		"N\nat TIME leave TENANT\nrun TIME\n\nA device has 4 SMs unless sms says "
		"otherwise. NAME is one that --policy takes, other than a FILE. device also takes "
		"options=TEXT (of the policy, as policy_options of "
		"heddled), preempt=spatial|temporal, numbering=device|own, within=order|srt, "
		"extra=N (SMs), overhead=N (of 1000), and the times linger, grace, cost, opaque, "
		"hold, still, relay, relaunch. block is how long a block runs (default: 10us), wps "
		"how many blocks an SM holds (default: 2). launch also takes count=N (the launch "
		"is made so many times, each after the end of the one before), gap=TIME (the pause "
		"between them), before=TIME (a copy ahead of it), sprio=N (the stream's priority), "
		"use=N (percent of an SM's bottleneck that a block needs: where the blocks on an "
		"SM need more than 100, those that begin then take longer; default: 0). Other "
		"lines are at TIME opaque TENANT [on=TIME] [gap=TIME] [count=N] [copy=TIME] "
		"[waited=yes|no] (work that is not managed; it occupies no SM here), at TIME idle "
		"TENANT KERNEL [until=TIME], at TIME pin TENANT, at TIME unpin TENANT. Without a "
		"line run, a trace ends when no work is left, after at most an hour. Lines that "
		"begin with expect, and all lines after a line ---, are ignored. Each further line "
		"device begins the part of another device (name=NAME names it), with its own "
		"tenants and times; heddle reports each part by itself.\n\nFILE may also be a log "
		"of heddled --events. Then programs join and change as they did (they leave where "
		"they left launches unfinished), and launches arrive when they arrived then, "
		"whatever happens to earlier launches; a block takes as long as the mean of its "
		"launch. The policy is hpf unless --policy says otherwise.\n\n--replay instead "
		"repeats such a log exactly: each event that heddled reported to its engine, at "
		"its "
		"time, with the records of kernels that it had. It prints each action that a "
		"decision returns, and compares it with the one in the log. The exit status is 1 "
		"at the first difference, which heddle prints with its line. The policy and its "
		"options are those of the log. --policy replaces the policy, to see what it would "
		"decide instead; a policy of your own must be named with "
		"--policy ./FILE.\n\nSHARE is the "
		"tenant's part of the SM-time of all finished blocks, ENTITLED its weight over the "
		"sum of all weights. WAITING is the time from a launch's submission to its end in "
		"which none of its blocks is on the device: the mean, then the LONGEST. TURNAROUND "
		"is the mean time from submission to end of finished launches; ALONE is the same "
		"if only the tenant's launches are simulated (of launches that finish in both "
		"runs). ANTT is the mean over tenants of TURNAROUND over ALONE (1 is best; a dash: "
		"a tenant finishes launches only alone). STP is the sum of the inverse ratios (the "
		"number of tenants is best). idle is the part of the device's SM-time, from the "
		"first submission to the last end, in which no block ran.",
	.json = "files, an array of file, device (its name, or null), policy, sms, tenants: an "
		"array of name, weight, priority "
		"(high, normal, low, or a number), finished and unfinished (launches), share_had "
		"and share_wanted (percent), waiting_mean_ns, waiting_longest_ns, "
		"turnaround_mean_ns, turnaround_alone_mean_ns, ntt (turnaround together over "
		"alone); and preemptions, makespan_ns, antt, stp, idle (percent), and with --trace "
		"trace, an array of lines. With --replay files has instead: file, inputs, "
		"decisions, "
		"equal, actions (an array of lines), and at a difference line, logged, replayed. "
		"Values that cannot be computed are null.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.run = run_sim,
};
