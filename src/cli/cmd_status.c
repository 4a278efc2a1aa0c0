/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle status prints the state of heddled, and its counters. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "front/ask.h"
#include "front/cli.h"
#include "front/progress.h"

static void add_text(struct strbuf *out, const struct wire_status *s)
{
	unsigned columns = terminal_columns(STDOUT_FILENO);
	char line[512];

	snprintf(line, sizeof(line), "heddled %s, pid %u, up %u s, on %s", s->version, s->pid,
		s->uptime_s, s->socket);
	text_wrap(line, columns, 2, out);
	snprintf(line, sizeof(line), "policy %s, MPS %s", s->policy, s->mps);
	text_wrap(line, columns, 2, out);
	snprintf(line, sizeof(line), "%u tenant%s, %u launch%s", s->tenants,
		PLURAL(s->tenants, "s"), s->launches, PLURAL(s->launches, "es"));
	text_wrap(line, columns, 2, out);
	snprintf(line, sizeof(line),
		"%" PRIu64 " decision%s, %" PRIu64 " grant%s, %" PRIu64 " preemption%s, %" PRIu64
		" refused, %" PRIu64 " bad message%s",
		s->decisions, PLURAL(s->decisions, "s"), s->grants, PLURAL(s->grants, "s"),
		s->preemptions, PLURAL(s->preemptions, "s"), s->refused, s->bad_messages,
		PLURAL(s->bad_messages, "s"));
	text_wrap(line, columns, 2, out);
	if (!s->handover_p50_ns)
		return;
	snprintf(line, sizeof(line), "hand-over: median %.1f us, 99th percentile %.1f us",
		(double)s->handover_p50_ns / 1e3, (double)s->handover_p99_ns / 1e3);
	text_wrap(line, columns, 2, out);
}

static void add_json(struct cli *c, const struct wire_status *s)
{
	struct json j;

	cli_json_open(c, &j, 1);
	json_str(&j, "version", s->version);
	json_uint(&j, "pid", s->pid);
	json_uint(&j, "uptime_s", s->uptime_s);
	json_str(&j, "socket", s->socket);
	json_str(&j, "policy", s->policy);
	json_str(&j, "mps", s->mps);
	json_uint(&j, "tenants", s->tenants);
	json_uint(&j, "launches", s->launches);
	json_uint(&j, "decisions", s->decisions);
	json_uint(&j, "grants", s->grants);
	json_uint(&j, "preemptions", s->preemptions);
	json_uint(&j, "refused", s->refused);
	json_uint(&j, "bad_messages", s->bad_messages);
	json_uint(&j, "handover_p50_ns", s->handover_p50_ns);
	json_uint(&j, "handover_p99_ns", s->handover_p99_ns);
	json_end(&j, '}');
}

static int run_status(struct cli *c)
{
	const char *socket = cli_value(c, "socket");
	struct wire_status s;
	int r = ask_status(socket, &s);

	if (r < 0)
		return ask_failed(c, socket, r);
	if (c->json)
		add_json(c, &s);
	else
		add_text(&c->out, &s);
	return CLI_OK;
}

static const struct cli_option options[] = {
	{0, "socket", "PATH", "the daemon's socket"},
	{0},
};

const struct cli_verb cli_verb_status = {
	.name = "status",
	.operands = "",
	.summary = "show the daemon and its figures",
	.details = "The hand-over is the time from the daemon's order to a running launch until "
		   "its last worker has left, over the last thousand preemptions.",
	.json = "version, pid, uptime_s, socket, policy, mps (on, off, not answering), tenants, "
		"launches, "
		"decisions, grants, preemptions, refused, bad_messages, handover_p50_ns and "
		"handover_p99_ns (0: none yet).",
	.options = options,
	.run = run_status,
};
