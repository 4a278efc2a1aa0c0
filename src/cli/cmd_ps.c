/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle ps: tenants, and below each its launches. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/cli.h"

static const char *const states[] = {"idle", "queued", "running", "preempted", "held"};

struct listing {
	struct cli *c;
	struct json json;
	bool in_tenant, any;
};

static const char *state_name(uint32_t state)
{
	return state < ARRAY_LEN(states) ? states[state] : "?";
}

/* Names come from other programs: no control characters on a terminal. */
static void plain(char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < ' ' || *s == 127)
			*s = '?';
	}
}

static void add_time(struct strbuf *out, uint64_t ns)
{
	char text[24] = "-";

	if (ns != UINT64_MAX)
		snprintf(text, sizeof(text), "%.3f", (double)ns / 1e6);
	strbuf_printf(out, " %11s", text);
}

static void add_text(struct listing *l, const struct wire_row *r)
{
	struct strbuf *out = &l->c->out;
	struct wire_row row = *r;
	char buf[16];

	plain(row.name);
	plain(row.group);
	if (!l->any)
		strbuf_puts(out,
			"TENANT     PID PRIORITY WEIGHT STATE     PREEMPTED    DONE     RAN(ms)  "
			"WAITED(ms)    LEFT(ms) NAME\n");
	l->any = true;
	if (row.kind == 0)
		strbuf_printf(out, "%6u %7u %8s %6u %-9s %9u %7s", row.tenant, row.pid,
			ask_priority_name(row.priority, buf, sizeof(buf)), row.weight,
			state_name(row.state), row.preemptions, "");
	else
		strbuf_printf(out, "%6s %7s %8s %6s %-9s %9u %6.1f%%", "", "", "", "",
			state_name(row.state), row.preemptions,
			row.total ? 100.0 * (double)row.finished / (double)row.total : 0.0);
	add_time(out, row.ran_ns);
	add_time(out, row.waited_ns);
	add_time(out, row.kind ? row.remaining_ns : UINT64_MAX);
	strbuf_printf(out, " %s%s", row.kind ? "  " : "", row.name);
	if (row.kind == 0 && row.group[0])
		strbuf_printf(out, " [%s]", row.group);
	strbuf_puts(out, "\n");
}

static void time_or_null(struct json *j, const char *key, uint64_t ns)
{
	if (ns == UINT64_MAX)
		json_num(j, key, 0.0 / 0.0);
	else
		json_uint(j, key, ns);
}

static void close_tenant(struct listing *l)
{
	if (!l->in_tenant)
		return;
	json_end(&l->json, ']');
	json_end(&l->json, '}');
	l->in_tenant = false;
}

static void add_json(struct listing *l, const struct wire_row *r)
{
	struct json *j = &l->json;

	if (r->kind == 0)
		close_tenant(l);
	json_begin_object(j, NULL);
	if (r->kind == 0) {
		json_uint(j, "tenant", r->tenant);
		json_uint(j, "pid", r->pid);
		json_uint(j, "uid", r->uid);
		json_int(j, "priority", r->priority);
		json_uint(j, "weight", r->weight);
		json_str(j, "class", r->group);
		json_str(j, "device", r->device);
	} else {
		json_uint(j, "launch", r->id);
		json_uint(j, "blocks", r->total);
		json_uint(j, "finished", r->finished);
		time_or_null(j, "predicted_ns", r->predicted_ns);
		time_or_null(j, "remaining_ns", r->remaining_ns);
	}
	json_str(j, "name", r->name);
	json_str(j, "state", state_name(r->state));
	json_uint(j, "preemptions", r->preemptions);
	json_uint(j, "ran_ns", r->ran_ns);
	json_uint(j, "waited_ns", r->waited_ns);
	if (r->kind == 0) {
		json_uint(j, "launched", r->launches);
		json_begin_array(j, "launches");
		l->in_tenant = true;
	} else {
		json_end(j, '}');
	}
}

static void add_row(void *user, const struct wire_row *r)
{
	struct listing *l = user;

	if (!l->c->json)
		add_text(l, r);
	else if (r->kind == 0 || l->in_tenant)
		add_json(l, r);
}

static int run(struct cli *c)
{
	const char *socket = cli_value(c, "socket");
	struct listing l = {.c = c};
	int r;

	if (c->json) {
		cli_json_open(c, &l.json, 1);
		json_begin_array(&l.json, "tenants");
	}
	r = ask_list(socket, add_row, &l);
	if (r < 0) {
		strbuf_finish(&c->out);
		return ask_failed(c, socket, r);
	}
	if (c->json) {
		close_tenant(&l);
		json_end(&l.json, ']');
		json_end(&l.json, '}');
	} else if (!l.any) {
		strbuf_puts(&c->out, "no tenants\n");
	}
	return CLI_OK;
}

static const struct cli_option options[] = {
	{0, "socket", "PATH", "the daemon's socket"},
	{0},
};

const struct cli_verb cli_verb_ps = {
	.name = "ps",
	.operands = "",
	.summary = "list tenants and their kernels",
	.details = "One line a tenant, and one below it for each of its launches: how often it was "
		   "preempted, how much of it is done, how long it ran and waited, and how long it "
		   "may still take.",
	.json = "tenants, an array of tenant, pid, uid, priority (0 low, 1 normal, 2 high), "
		"weight, class, device, name, state (idle, queued, running, preempted, held), "
		"preemptions, ran_ns, waited_ns, launched (how many so far) and launches: an array "
		"of launch, blocks, finished, predicted_ns and remaining_ns (null: not known), "
		"name, state, preemptions, ran_ns, waited_ns.",
	.options = options,
	.run = run,
};
