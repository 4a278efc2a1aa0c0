/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Draws KernelMerge's figure 6 as small plots side by side, one for each pair of kernels.
 * - The x axis is the first kernel's share of the workers.
 * - The y axis is the pair's time, divided by the time of the two kernels one after the other. A
 *   line marks the value 1.
 * - The dashed line is the time with work stealing.
 * - The fastest point is filled. */
#include "lab/merge/bench_merge.h"

#include <math.h>

#define COLUMNS 4
#define WIDTH   210.0
#define HEIGHT  150.0
#define LEFT    34.0
#define TOP     26.0
#define PLOT_W  (WIDTH - LEFT - 12)
#define PLOT_H  (HEIGHT - TOP - 26)

struct scale {
	double x, y, most; /* the picture's corner; the largest value */
};

static double at_x(const struct scale *s, double part)
{
	return s->x + LEFT + part * PLOT_W;
}

static double at_y(const struct scale *s, double value)
{
	return s->y + TOP + PLOT_H * (1 - MIN(value, s->most) / s->most);
}

static void draw_level(struct strbuf *out, const struct scale *s, double value, const char *style)
{
	strbuf_printf(out, "<path d='M%.1f %.1fH%.1f' %s/>\n", at_x(s, 0), at_y(s, value),
		at_x(s, 1), style);
}

static void draw_axes(struct strbuf *out, const struct scale *s, const struct merge_pair *p)
{
	double step = s->most > 4 ? 2 : s->most > 1.6 ? 0.5 : 0.2;
	char name[64];

	strbuf_printf(out, "<text x='%.1f' y='%.1f' font-weight='bold'>%s</text>\n", at_x(s, 0),
		s->y + 16, merge_pair_name(p, name, sizeof(name)));
	strbuf_printf(out, "<path d='M%.1f %.1fV%.1fH%.1f' fill='none' stroke='#868e96'/>\n",
		at_x(s, 0), s->y + TOP, s->y + TOP + PLOT_H, at_x(s, 1));
	for (double v = 0; v <= s->most + 1e-9; v += step)
		strbuf_printf(out, "<text x='%.1f' y='%.1f' text-anchor='end'>%.1f</text>\n",
			at_x(s, 0) - 4, at_y(s, v) + 3, v);
	for (int k = 0; k <= 4; k++)
		strbuf_printf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>%g</text>\n",
			at_x(s, k / 4.0), s->y + TOP + PLOT_H + 13, k / 4.0);
}

static void draw_curve(struct strbuf *out, const struct scale *s, const struct merge_pair *p)
{
	const struct merge_curve *c = &p->curve;
	unsigned best = 0;

	strbuf_puts(out, "<path fill='none' stroke='#1971c2' stroke-width='1.5' d='");
	for (unsigned i = 0; i < c->n; i++) {
		strbuf_printf(out, "%c%.1f %.1f", i ? 'L' : 'M', at_x(s, c->part[i]),
			at_y(s, c->ms[i] / p->sequential));
		if (c->ms[i] < c->ms[best])
			best = i;
	}
	strbuf_puts(out, "'/>\n");
	for (unsigned i = 0; i < c->n; i++)
		strbuf_printf(out,
			"<circle cx='%.1f' cy='%.1f' r='%s' fill='%s' stroke='#1971c2'><title>%.3f "
			"of "
			"the workers: %.4f ms</title></circle>\n",
			at_x(s, c->part[i]), at_y(s, c->ms[i] / p->sequential),
			i == best ? "3" : "1.6", i == best ? "#1971c2" : "white", c->part[i],
			c->ms[i]);
}

static void draw_pair(struct strbuf *out, const struct merge_pair *p, unsigned number)
{
	struct scale s = {.x = number % COLUMNS * WIDTH, .y = (number / COLUMNS) * HEIGHT};
	double most = 1;

	for (unsigned i = 0; i < p->curve.n; i++)
		most = MAX(most, p->curve.ms[i] / p->sequential);
	s.most = MIN(ceil(most * 10.5) / 10, 8);
	draw_axes(out, &s, p);
	draw_level(out, &s, 1, "stroke='#868e96'");
	if (p->steal_best > 0)
		draw_level(out, &s, p->steal_best / p->sequential,
			"stroke='#d9480f' stroke-dasharray='4 3'");
	if (p->curve.n)
		draw_curve(out, &s, p);
}

void bathtub_svg(const struct merge_bench *b, struct strbuf *out)
{
	unsigned n = 0, number = 0;

	for (unsigned i = 0; i < b->n_pairs; i++)
		n += b->pairs[i].done;
	strbuf_printf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
		"font-family='sans-serif' font-size='9' fill='#495057'>\n"
		"<title>pairs of kernels merged, on %s</title>\n",
		COLUMNS * WIDTH, (n + COLUMNS - 1) / COLUMNS * HEIGHT + 24, b->device.d.name);
	for (unsigned i = 0; i < b->n_pairs; i++)
		if (b->pairs[i].done)
			draw_pair(out, &b->pairs[i], number++);
	strbuf_printf(out,
		"<text x='10' y='%.0f'>time by that of one after the other (1), over the first "
		"kernel's part of the workers; dashed: stealing</text>\n</svg>\n",
		(n + COLUMNS - 1) / COLUMNS * HEIGHT + 14);
}
