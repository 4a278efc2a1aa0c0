/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any text as an event log: the replay refuses it with a diagnostic, finds the first line at which
 * the engine decides otherwise than the log says, or finds no such line. It never crashes. An input
 * that begins with '{' is a log. Other inputs are edits of a simulation's log, four bytes each:
 * lines that are removed, duplicated or exchanged, changed digits, and arbitrary bytes. */
#include "sched/engine/journal.h"
#include "sched/engine/input.h"
#include "sim/replay.h"
#include "sim/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char trace[] = "device sms=4 policy=hpf\n"
			    "at 0ms join a prio=low\n"
			    "at 0ms join b prio=high weight=2\n"
			    "at 1ms launch a k blocks=40 block=100us count=4\n"
			    "at 1.2ms launch b m blocks=3 block=50us count=3 gap=300us\n"
			    "at 2ms opaque b on=300us\n"
			    "at 3ms pin a\n"
			    "at 3.1ms unpin a\n"
			    "at 3.2ms priority a high\n"
			    "at 3.3ms weight a 5\n"
			    "at 6ms leave b\n";

static struct sched_journal *journal;

static void write_log(void *user)
{
	sched_journal_write(journal, false, user);
}

static void make_log(struct strbuf *log)
{
	struct diag_list diags;
	struct arena arena;
	struct sim s;
	struct sim_reader r = {.sim = &s, .diags = &diags};

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "trace", NULL, 0);
	strbuf_printf(log, "{\"schema\": 2, \"log\": \"heddled-events\", \"inputs\": %d}\n",
		SCHED_INPUTS_VERSION);
	sim_init(&s);
	if (sched_journal_create(write_log, log, &journal) < 0)
		abort();
	s.o.journal = journal;
	if (sim_read(&r, trace, strlen(trace)) < 0 || sim_run(&s) < 0)
		abort();
	sim_finish(&s);
	sched_journal_write(journal, true, log);
	sched_journal_destroy(journal);
	arena_finish(&arena);
}

static const struct sched_policy *find_policy(
	void *user, const char *name, bool loaded, const char *options, uint32_t line)
{
	const struct sched_policy *p = sched_policy_find(name);
	char why[256];

	(void)loaded;
	if (p && sched_policy_check(p, options, why, sizeof(why)) == 0)
		return p;
	diag_line_error(user, line, "no policy %s", name);
	return NULL;
}

/* Returns whether the engine makes the same decisions as the log. */
static bool replay_text(const char *text, size_t len)
{
	struct strbuf actions = {0};
	struct replay_result result;
	struct diag_list diags;
	struct arena arena;
	struct replay_job job = {.text = text,
		.len = len,
		.diags = &diags,
		.policy = find_policy,
		.user = &diags,
		.actions = &actions};
	int status;

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "events", NULL, 0);
	status = replay_run(&job, &result);
	if ((status == -EINVAL) != (diags.errors > 0))
		abort();
	if (status == 0 && !result.line != !result.told.len)
		abort();
	status |= result.line != 0;
	replay_finish(&result);
	strbuf_finish(&actions);
	arena_finish(&arena);
	return status == 0;
}

/* Returns the start of the line that contains this byte, and its size with the newline. */
static size_t line_at(const char *text, size_t len, size_t at, size_t *ret_n)
{
	const char *end;

	while (at && text[at - 1] != '\n')
		at--;
	end = memchr(text + at, '\n', len - at);
	*ret_n = end ? (size_t)(end - text) + 1 - at : len - at;
	return at;
}

static void edit(struct strbuf *b, const uint8_t e[4])
{
	size_t at = (size_t)(e[1] | e[2] << 8) * 37 % b->len, n;
	size_t from = line_at(b->at, b->len, at, &n);
	char line[2048];

	if (n > sizeof(line) || b->len <= n)
		return;
	switch (e[0] % 5) {
	case 0:
		b->at[at] = (char)e[3];
		break;
	case 1: /* changes a digit */
		while (at < b->len && (b->at[at] < '0' || b->at[at] > '9'))
			at++;
		if (at < b->len)
			b->at[at] = (char)('0' + e[3] % 10);
		break;
	case 2: /* removes the line */
		memmove(b->at + from, b->at + from + n, b->len - from - n);
		b->len -= n;
		break;
	default: /* the line is copied to another place, or moved there */
		memcpy(line, b->at + from, n);
		if (e[0] % 5 == 3) {
			memmove(b->at + from, b->at + from + n, b->len - from - n);
			b->len -= n;
		}
		at = line_at(b->at, b->len, (size_t)e[3] * b->len / 256, &(size_t){0});
		strbuf_add(b, line, n); /* only to make room */
		if (b->failed)
			abort();
		memmove(b->at + at + n, b->at + at, b->len - n - at);
		memcpy(b->at + at, line, n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct strbuf log;
	struct strbuf copy = {0};

	if (!log.len) {
		make_log(&log);
		if (!replay_text(log.at, log.len))
			abort();
	}
	if (len && data[0] == '{') {
		replay_text((const char *)data, len);
		return 0;
	}
	strbuf_add(&copy, log.at, log.len);
	for (size_t i = 0; i + 4 <= len && i <= 4u * (data[0] % 8); i += 4)
		edit(&copy, data + i);
	replay_text(copy.at, copy.len);
	strbuf_finish(&copy);
	return 0;
}
