/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes the bars of the timeline, which has a panel without heddle (unmanaged) and a panel with
 * heddle (managed). Each panel shows one typical round. A bar runs from the launch call until the
 * program sees the completion, and is hollow where the program waited for the device:
 * - The high-priority program is assumed to wait for all of its time beyond its time alone, in both
 *   panels.
 * - The low-priority program's waits come from heddled's events in the managed panel (from drained
 *   to grant). In the unmanaged panel, none are shown. */
#include "stage/timeline.h"
#include "base/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH      860.0
#define LEFT       150.0
#define RIGHT      24.0
#define BAR        26.0
#define SPANS      256
#define MAX_ROUNDS 1000
#define SMALL      "font-size='11'"

struct span {
	double from_ns, to_ns; /* relative to the start of the panel */
	bool waiting;
};

struct row {
	const char *label, *color;
	struct span at[SPANS];
	unsigned n;
};

static void add_span(struct row *r, double from, double to, bool waiting)
{
	if (r->n < SPANS && to > from)
		r->at[r->n++] = (struct span){from, to, waiting};
}

static int by_turnaround(const void *a, const void *b)
{
	const struct stage_round *x = *(const struct stage_round *const *)a,
				 *y = *(const struct stage_round *const *)b;
	uint64_t tx = x->high_done_ns - x->high_launch_ns, ty = y->high_done_ns - y->high_launch_ns;

	return (tx > ty) - (tx < ty);
}

/* Returns the round with the median turnaround of the high-priority program. If the low-priority
 * program was preempted in any round, only rounds with a preemption are considered. The reason: the
 * first round may end before the low-priority kernel has its preemptible form. */
static const struct stage_round *typical_round(const struct stage_result *res)
{
	const struct stage_round *at[MAX_ROUNDS];
	unsigned rounds = MIN(res->rounds, MAX_ROUNDS), n = 0;
	const char *events = res->events;
	bool preempted[MAX_ROUNDS] = {false};
	struct stage_event e;

	while (stage_next_event(&events, &e))
		for (unsigned i = 0; !strcmp(e.what, "drained") && i < rounds; i++)
			if (e.t_ns >= res->at[i].low_launch_ns && e.t_ns <= res->at[i].low_done_ns)
				preempted[i] = true;
	for (unsigned i = 0; i < rounds; i++)
		if (preempted[i])
			at[n++] = &res->at[i];
	for (unsigned i = 0; !n && i < rounds; i++)
		at[i] = &res->at[i];
	n = n ? n : rounds;
	qsort(at, n, sizeof(at[0]), by_turnaround);
	return at[n / 2];
}

/* Adds the span [from, to) to a bar. Intervals in which the launch was preempted are added as
 * waiting. */
static void add_with_gaps(
	struct row *r, const char *events, uint64_t origin, uint64_t from, uint64_t to)
{
	double at = (double)(from - origin), off = -1;
	struct stage_event e;

	while (stage_next_event(&events, &e)) {
		if (e.t_ns < from || e.t_ns > to)
			continue;
		if (!strcmp(e.what, "drained") && off < 0) {
			off = (double)(e.t_ns - origin);
			add_span(r, at, off, false);
		} else if (!strcmp(e.what, "grant") && off >= 0) {
			at = (double)(e.t_ns - origin);
			add_span(r, off, at, true);
			off = -1;
		}
	}
	if (off < 0)
		add_span(r, at, (double)(to - origin), false);
	else
		add_span(r, off, (double)(to - origin), true);
}

static double panel_rows(
	const struct timeline *t, const struct stage_result *res, bool managed, struct row rows[2])
{
	const struct stage_round *r = typical_round(res);
	uint64_t origin = MIN(r->low_launch_ns, r->high_launch_ns);
	double launch = (double)(r->high_launch_ns - origin),
	       done = (double)(r->high_done_ns - origin);
	double start = MAX(launch, done - t->high_alone_ns);

	rows[0] = (struct row){.label = t->high, .color = "#d9480f"};
	rows[1] = (struct row){.label = t->low, .color = "#1971c2"};
	add_span(&rows[0], launch, start, true);
	add_span(&rows[0], start, done, false);
	if (managed)
		add_with_gaps(&rows[1], res->events, origin, r->low_launch_ns, r->low_done_ns);
	else
		add_span(&rows[1], (double)(r->low_launch_ns - origin),
			(double)(r->low_done_ns - origin), false);
	return (double)(MAX(r->low_done_ns, r->high_done_ns) - origin);
}

static void draw_panel(
	struct strbuf *out, const char *title, struct row rows[2], double y, double scale)
{
	char style[96];

	svg_text(out, 12, y - 10, "start", "font-weight='bold'", title);
	for (unsigned i = 0; i < 2; i++, y += BAR + 8) {
		svg_text(out, LEFT - 10, y + BAR * 0.68, "end", "", rows[i].label);
		for (unsigned k = 0; k < rows[i].n; k++) {
			const struct span *s = &rows[i].at[k];

			snprintf(style, sizeof(style), "fill-opacity='%s' stroke='%s'%s",
				s->waiting ? "0.08" : "0.85", rows[i].color,
				s->waiting ? " stroke-dasharray='3 3'" : "");
			svg_rect(out, LEFT + s->from_ns * scale, y,
				MAX((s->to_ns - s->from_ns) * scale, 0.5), BAR, rows[i].color,
				style);
		}
	}
}

static void draw_tick(struct strbuf *out, double x, double y, double value, const char *unit)
{
	char text[32];

	snprintf(text, sizeof(text), "%g %s", value, unit);
	svg_line(out, x, y, 0, 5);
	svg_text(out, x, y + 18, "middle", SMALL, text);
}

/* Draws the axis for panels with different scales: percent of each panel's duration. */
static void draw_parts(struct strbuf *out, double y)
{
	svg_line(out, LEFT, y, WIDTH - RIGHT - LEFT, 0);
	for (int i = 0; i <= 100; i += 20)
		draw_tick(out, LEFT + (WIDTH - LEFT - RIGHT) * i / 100, y, i, "%");
}

static void draw_axis(struct strbuf *out, double y, double span_ns, double scale)
{
	double step = 1e3;

	while (span_ns / step > 10)
		step *= span_ns / step > 50 ? 10 : span_ns / step > 20 ? 5 : 2;
	svg_line(out, LEFT, y, WIDTH - RIGHT - LEFT, 0);
	for (double t = 0; t <= span_ns; t += step)
		draw_tick(out, LEFT + t * scale, y, t / 1e6, "ms");
}

/* Writes a line of text below the picture. number is the line's index, from 0. */
static void draw_note(struct strbuf *out, unsigned number, const char *text)
{
	svg_text(out, LEFT, 272 + 18 * number, "start", SMALL, text);
}

void timeline_svg(const struct timeline *t, struct strbuf *out)
{
	struct row above[2], below[2];
	double a = panel_rows(t, t->unmanaged, false, above);
	double b = panel_rows(t, t->managed, true, below);
	double span = MAX(MAX(a, b), 1), scale = (WIDTH - LEFT - RIGHT) / span;
	double own[2] = {(WIDTH - LEFT - RIGHT) / MAX(a, 1), (WIDTH - LEFT - RIGHT) / MAX(b, 1)};
	char text[160];

	snprintf(text, sizeof(text), "%s (high) beside %s (low) on %s", t->high, t->low, t->device);
	svg_begin(out, WIDTH, 306, "#868e96", text);
	draw_panel(out, "as it is", above, 34, t->is_virtual ? own[0] : scale);
	draw_panel(out, "under heddle", below, 144, t->is_virtual ? own[1] : scale);
	if (t->is_virtual)
		draw_parts(out, 224);
	else
		draw_axis(out, 224, span, scale);
	draw_note(out, 0,
		"solid: has the device; dashed: waits (high priority above, low below, from launch "
		"call to completion)");
	if (t->is_virtual) {
		draw_note(out, 1,
			"virtual GPU: each panel has its own scale; the result is the order, not "
			"the time, which this machine's other load changes");
	} else if (t->noise) {
		snprintf(text, sizeof(text), "noise, no result: %s", t->noise);
		draw_note(out, 1, text);
	}
	svg_end(out);
}
