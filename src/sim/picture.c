/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Draws a simulation as a picture with one row for each tenant, which shows the tenant's number of
 * SMs over time. A row has COLUMNS columns of equal time. The height of a column is the mean number
 * of SMs during its time, so the size of a picture does not depend on the number of launches.
 * Adjacent columns of the same height are drawn as one rectangle. */
#include "sim/picture.h"
#include "base/svg.h"

#include <math.h>
#include <stdio.h>

#define COLUMNS 800u
#define LEFT    150.0
#define RIGHT   24.0
#define ROW     32.0
#define GAP     10.0 /* space between rows, in pixels */
#define TITLE   34.0
#define AXIS    30.0

static const char *const colors[] = {
	"#1971c2", "#d9480f", "#2f9e44", "#9c36b5", "#e8590c", "#0c8599", "#c2255c", "#5c940d"};

/* Computes the mean number of SMs in each column. */
static void fill_columns(
	const struct sim_tenant *t, uint64_t end_ns, double column_ns, double ret[COLUMNS])
{
	for (uint32_t c = 0; c < COLUMNS; c++)
		ret[c] = 0;
	for (size_t i = 0; i < t->stays.len; i++) {
		const struct sim_stay *stay = &t->stays.at[i];
		double from = (double)stay->t / column_ns;
		double to = (double)(i + 1 < t->stays.len ? stay[1].t : end_ns) / column_ns;

		for (uint32_t c = (uint32_t)from; stay->sms && c < COLUMNS && c < to; c++)
			ret[c] += stay->sms * (fmin(to, c + 1) - fmax(from, c));
	}
}

static void draw_row(
	struct sim_picture *p, const struct sim *s, const struct sim_tenant *t, const char *color)
{
	double column_ns = fmax((double)s->now / COLUMNS, 1), columns[COLUMNS];

	fill_columns(t, s->now, column_ns, columns);
	svg_text(&p->body, LEFT - 8, p->y + ROW - 10, "end", "", t->name);
	svg_line(&p->body, LEFT, p->y + ROW, COLUMNS, 0);
	for (uint32_t c = 0, from; c < COLUMNS; c++) {
		double h = ROW * columns[c] / s->o.n_sms;

		from = c;
		while (c + 1 < COLUMNS && fabs(columns[c + 1] - columns[from]) < 0.01)
			c++;
		if (h >= 0.05)
			svg_rect(&p->body, LEFT + from, p->y + ROW - h, c + 1 - from, h, color, "");
	}
	p->y += ROW + GAP;
}

void sim_picture_add(struct sim_picture *p, const struct sim *s, const char *title)
{
	char text[96];
	size_t i = 0;

	svg_text(&p->body, LEFT, p->y + TITLE - 14, "start", "", title);
	p->y += TITLE;
	for (const struct sim_tenant *t = s->tenants; t; t = t->next)
		draw_row(p, s, t, colors[i++ % ARRAY_LEN(colors)]);
	snprintf(text, sizeof(text), "%.3f ms; a row is %u SMs high", (double)s->now / 1e6,
		s->o.n_sms);
	svg_text(&p->body, LEFT, p->y + AXIS - 18, "start", "", "0");
	svg_text(&p->body, LEFT + COLUMNS, p->y + AXIS - 18, "end", "", text);
	p->y += AXIS;
}

void sim_picture_finish(struct sim_picture *p, struct strbuf *out)
{
	svg_begin(out, LEFT + COLUMNS + RIGHT, p->y, "#000", "SMs of each tenant over time");
	svg_rect(out, 0, 0, LEFT + COLUMNS + RIGHT, p->y, "#fff", "");
	if (p->body.failed)
		out->failed = true;
	else if (p->body.len)
		strbuf_add(out, p->body.at, p->body.len);
	svg_end(out);
	strbuf_finish(&p->body);
	*p = (struct sim_picture){0};
}
