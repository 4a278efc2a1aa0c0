/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs programs that launch endlessly. This file starts them together, reads their output lines,
 * and ends them by creating a file. The programs measure the times themselves. heddled only reports
 * each program's share of GPU time, counted from when the weights were set. */
#include "stage/crowd.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "front/ask.h"
#include "stage/stage_command.h"

#define POLL_MS 20

struct crowd {
	struct stage *s;
	const struct crowd_run *run;
	struct crowd_result *res;
	struct child child[CROWD_MAX];
	char end_path[128], socket[108];
	uint32_t tenant[CROWD_MAX]; /* 0: not known yet */
};

static int crowd_start(struct crowd *w)
{
	const struct crowd_run *run = w->run;
	int r = CLI_OK;

	unlink(w->end_path);
	for (unsigned i = 0; r == CLI_OK && i < run->n; i++) {
		struct stage_command k;
		char weight[16];

		snprintf(weight, sizeof(weight), "%u", run->weight[i]);
		r = stage_command_begin(w->s, run->run, &run->program[i], "-w", weight, &k);
		if (r != CLI_OK)
			break;
		stage_command_add(&k, "--until", w->end_path);
		r = stage_command_start(w->s, &k, false, &w->child[i]);
	}
	return r;
}

/* ---- while the programs run ---- */

static unsigned rounds_so_far(const struct child *c)
{
	unsigned n = 0;

	for (const char *p = c->out.at; p && (p = strstr(p, "\"round\":")); p++)
		n++;
	return n;
}

static const char *crowd_names(const struct crowd *w, char *buf, size_t size)
{
	size_t at = 0;

	*buf = 0;
	for (unsigned i = 0; i < w->run->n && at < size; i++)
		at += (size_t)snprintf(
			buf + at, size - at, "%s%s", i ? "+" : "", w->run->program[i].name);
	return buf;
}

static int crowd_says(const struct crowd *w, const char *what)
{
	char names[64];

	return cli_error(w->s->c, NULL, "%s (%s): %s", crowd_names(w, names, sizeof(names)),
		w->s->spec.name, what);
}

static bool all_run(const struct crowd *w)
{
	for (unsigned i = 0; i < w->run->n; i++)
		if (w->child[i].fd < 0)
			return false;
	return true;
}

/* Waits until each program i has finished want[i] rounds. */
static int await_rounds(struct crowd *w, const unsigned want[CROWD_MAX])
{
	double end = clock_ms() + w->run->run->timeout_ms;

	for (;;) {
		bool all = true;

		if (child_collect(w->child, w->run->n, POLL_MS) == -EINTR)
			return CLI_FAILED;
		for (unsigned i = 0; i < w->run->n; i++)
			all = all && rounds_so_far(&w->child[i]) >= want[i];
		if (all)
			return CLI_OK;
		if (!all_run(w))
			return crowd_says(w, "a program ended too early");
		if (clock_ms() > end)
			return crowd_says(w, "a program finishes no rounds");
	}
}

static void take_row(void *user, const struct wire_row *row)
{
	struct crowd *w = user;

	for (unsigned i = 0; row->kind == 0 && i < w->run->n; i++) {
		if ((pid_t)row->pid != w->child[i].pid)
			continue;
		w->tenant[i] = row->tenant;
		if (row->share_had != UINT32_MAX)
			w->res->share_had[i] = row->share_had / 10.0;
	}
}

/* Makes heddled restart its count of shares, which it does when a weight is set. */
static int count_shares_anew(struct crowd *w)
{
	int r = ask_list(w->socket, take_row, w);

	for (unsigned i = 0; r == 0 && i < w->run->n; i++)
		r = w->tenant[i]
			    ? ask_set(w->socket, w->tenant[i], WIRE_AS_IT_IS, w->run->weight[i])
			    : -ESRCH;
	return r == 0 ? CLI_OK : crowd_says(w, "heddled does not take their weights");
}

static int crowd_measure(struct crowd *w)
{
	unsigned rounds[CROWD_MAX];
	int r;

	for (unsigned i = 0; i < w->run->n; i++)
		rounds[i] = MAX(w->run->warm_rounds, 1u);
	r = await_rounds(w, rounds);
	if (r == CLI_OK && w->s->spec.managed)
		r = count_shares_anew(w);
	if (r != CLI_OK)
		return r;
	w->res->from_ns = clock_ns();
	if (child_collect(w->child, w->run->n, (int)(w->run->window_ns / 1000000)) == -EINTR)
		return CLI_FAILED;
	if (w->s->spec.managed && ask_list(w->socket, take_row, w))
		return crowd_says(w, "heddled does not tell their shares");
	for (unsigned i = 0; i < w->run->n; i++)
		rounds[i] = rounds_so_far(&w->child[i]) + 1;
	return await_rounds(w, rounds);
}

/* ---- after the programs ended ---- */

struct crowd_reading {
	struct crowd_times *to;
	struct stage_verdict verdict;
};

static void take_line(void *user, const json_t *o)
{
	struct crowd_reading *rd = user;

	if (!stage_read_verdict(o, &rd->verdict) && json_object_get(o, "round"))
		rd->to->done_ns[rd->to->n++] = stage_get_u64(o, "done_ns");
}

static int crowd_read(struct crowd *w, struct arena *a, unsigned i)
{
	struct child *c = &w->child[i];
	struct crowd_reading rd = {.to = &w->res->of[i]};
	char status[64];

	rd.to->done_ns = ARENA_ARRAY(a, uint64_t, rounds_so_far(c) + 1);
	if (!rd.to->done_ns)
		return cli_error(w->s->c, NULL, "out of memory");
	stage_each_line(c->out.at, take_line, &rd);
	w->res->checked += rd.verdict.checked;
	w->res->wrong += rd.verdict.wrong;
	if (c->status || !rd.verdict.passed)
		return cli_error(w->s->c, NULL, "%s (%s): %s: %s, results %s",
			w->run->program[i].name, w->s->spec.name,
			child_status_text(c, status, sizeof(status)), COUNTED(rd.to->n, "round"),
			rd.verdict.passed ? "correct" : "not all correct");
	return CLI_OK;
}

static int crowd_end(struct crowd *w, struct arena *a)
{
	int fd = open(w->end_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	int e, r = CLI_OK;

	if (fd < 0)
		return cli_error(w->s->c, NULL, "%s: %s", w->end_path, strerror(errno));
	close(fd);
	e = child_wait(w->child, w->run->n, w->run->run->timeout_ms);
	if (e)
		return e == -EINTR ? CLI_FAILED : crowd_says(w, "they did not end in time");
	for (unsigned i = 0; r == CLI_OK && i < w->run->n; i++)
		r = crowd_read(w, a, i);
	return r;
}

int crowd_run(
	struct stage *s, struct arena *a, const struct crowd_run *run, struct crowd_result *ret)
{
	struct crowd_result res = {0};
	struct crowd w = {.s = s, .run = run, .res = &res};
	int r;

	for (unsigned i = 0; i < CROWD_MAX; i++) {
		w.child[i].fd = -1;
		res.share_had[i] = NAN;
	}
	snprintf(w.end_path, sizeof(w.end_path), "%s/end", s->dir);
	snprintf(w.socket, sizeof(w.socket), "%s/heddled.sock", s->dir);
	r = crowd_start(&w);
	if (r == CLI_OK)
		r = crowd_measure(&w);
	if (r == CLI_OK)
		r = crowd_end(&w, a);
	for (unsigned i = 0; i < run->n; i++)
		child_finish(&w.child[i]);
	if (r == CLI_OK)
		*ret = res;
	return r;
}
