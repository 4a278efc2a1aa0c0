/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Draws figures 10 and 11 of "Adaptive simultaneous multi-tenancy" as one picture. For each pair it
 * has one bar for each arrangement, such as MPS or policy greedy. The bar's height is the pair's
 * STP. The line at 1 is the STP of running one program after the other. Pairs that include a
 * program of low utilisation come first. */
#include "lab/share/bench_share.h"

#include <math.h>
#include <stdio.h>

#define BAR    9.0
#define GAP    16.0
#define LEFT   34.0
#define TOP    30.0
#define PLOT_H 200.0
#define BOTTOM 46.0

static const char *const colours[SHARE_ARRANGEMENTS] = {
	[SHARE_MPS] = "#adb5bd",
	[SHARE_MPS_PRIORITY] = "#868e96",
	[SHARE_WORKERS] = "#74c0fc",
	[SHARE_GREEDY] = "#1971c2",
	[SHARE_PROFILED] = "#0b3d66",
	[SHARE_PREDICT] = "#d9480f",
	[SHARE_WHOLE_25] = "#b2f2bb",
	[SHARE_WHOLE_50] = "#51cf66",
	[SHARE_WHOLE_75] = "#2b8a3e",
	[SHARE_MIXED_75] = "#e8590c",
};

struct picture {
	const struct share *s;
	struct strbuf *out;
	double most, x; /* the largest value; where the next bar goes */
};

static double at_y(const struct picture *p, double value)
{
	return TOP + PLOT_H * (1 - MIN(value, p->most) / p->most);
}

static bool is_drawn(const struct picture *p, enum share_arrangement k)
{
	return k != SHARE_SEQUENTIAL && share_arrangement_name(p->s, k);
}

static unsigned count_drawn(const struct picture *p)
{
	unsigned n = 0;

	for (unsigned k = 0; k < SHARE_ARRANGEMENTS; k++)
		n += is_drawn(p, k);
	return n;
}

static void draw_bars(struct picture *p, const struct share_pair *pair)
{
	const struct share *s = p->s;
	double from = p->x;

	for (unsigned k = 0; k < SHARE_ARRANGEMENTS; k++) {
		struct share_figures f;

		if (!is_drawn(p, k))
			continue;
		if (share_figures_of(s, pair, k, &f))
			strbuf_printf(p->out,
				"<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'>"
				"<title>%s: %.3f, ANTT %.2f</title></rect>\n",
				p->x, at_y(p, f.f.stp_makespan), BAR - 1,
				at_y(p, 0) - at_y(p, f.f.stp_makespan), colours[k],
				share_arrangement_name(s, k), f.f.stp_makespan, f.f.antt);
		p->x += BAR;
	}
	for (unsigned i = 0; i < 2; i++)
		strbuf_printf(p->out, "<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n",
			(from + p->x) / 2, TOP + PLOT_H + 12 + i * 11,
			s->programs[pair->program[i]]);
	p->x += GAP;
}

static void draw_group(struct picture *p, enum share_class class)
{
	const char *name = share_class_name(class);
	double from = p->x;

	for (unsigned i = 0; i < p->s->n_pairs; i++)
		if (p->s->pairs[i].class == class)
			draw_bars(p, &p->s->pairs[i]);
	if (p->x > from && name)
		strbuf_printf(p->out, "<text x='%.1f' y='%.1f'>%s utilisation</text>\n", from,
			TOP + PLOT_H + 38, name);
	p->x += p->x > from ? GAP : 0;
}

static void draw_axis(struct picture *p, double width)
{
	double step = p->most > 3 ? 1 : p->most > 1.5 ? 0.5 : 0.25;

	for (double v = 0; v <= p->most + 1e-9; v += step)
		strbuf_printf(p->out,
			"<text x='%.1f' y='%.1f' text-anchor='end'>%.2f</text>\n"
			"<path d='M%.1f %.1fH%.1f' stroke='%s'/>\n",
			LEFT - 6, at_y(p, v) + 3, v, LEFT - 3, at_y(p, v), width - 8,
			fabs(v - 1) < 1e-9 ? "#212529" : "#dee2e6");
}

static void draw_legend(struct picture *p)
{
	double x = LEFT;

	for (unsigned k = 0; k < SHARE_ARRANGEMENTS; k++) {
		if (!is_drawn(p, k))
			continue;
		strbuf_printf(p->out,
			"<rect x='%.1f' y='8' width='9' height='9' fill='%s'/>\n"
			"<text x='%.1f' y='16'>%s</text>\n",
			x, colours[k], x + 13, share_arrangement_name(p->s, k));
		x += 100;
	}
}

void share_svg(const struct share *s, struct strbuf *out)
{
	static const enum share_class classes[] = {
		SHARE_LOW_CLASS, SHARE_HIGH_CLASS, SHARE_UNKNOWN};
	struct picture p = {.s = s, .out = out, .most = 1, .x = LEFT};
	double width, most = 1;

	for (unsigned i = 0; i < s->n_pairs; i++)
		for (unsigned k = 0; k < SHARE_ARRANGEMENTS; k++) {
			struct share_figures f;

			if (is_drawn(&p, k) && share_figures_of(s, &s->pairs[i], k, &f))
				most = MAX(most, f.f.stp_makespan);
		}
	p.most = ceil(most * 10.5) / 10;
	width = MAX(LEFT + s->n_pairs * (count_drawn(&p) * BAR + GAP) + ARRAY_LEN(classes) * GAP,
		LEFT + count_drawn(&p) * 100);
	strbuf_printf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
		"font-family='sans-serif' font-size='9' fill='#495057'>\n"
		"<title>STP of pairs of programs, on %s</title>\n",
		width, TOP + PLOT_H + BOTTOM, s->b.device_name);
	draw_axis(&p, width);
	draw_legend(&p);
	for (unsigned i = 0; i < ARRAY_LEN(classes); i++)
		draw_group(&p, classes[i]);
	strbuf_puts(out, "</svg>\n");
}
