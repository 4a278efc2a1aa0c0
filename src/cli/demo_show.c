/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes the table of heddle demo from its results (demo.h). Figures that cannot be right, and those
 * of rounds that differ much, are marked as noise on every device. The virtual GPU's result is the
 * order in which programs end, because its times are those of this machine's processors. */
#include "base/table.h"
#include "base/text.h"
#include "cli/demo.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const struct demo_pair demo_pairs[DEMO_PAIRS] = {{"cfd", "spmv", 1}, {"nn", "mm", 0.5}};

bool demo_is_verified(const struct demo *d, unsigned i)
{
	const struct stage_result *all[] = {
		&d->alone_low[i], &d->alone_high[i], &d->unmanaged[i], &d->managed[i]};

	for (unsigned k = 0; k < ARRAY_LEN(all); k++)
		if (all[k]->wrong || !all[k]->checked)
			return false;
	return true;
}

struct figures demo_figures(const struct demo *d, unsigned i, const struct stage_result *together)
{
	return figures_of(together, d->alone_low[i].low_ns, d->alone_high[i].high_ns);
}

const char *demo_noise(const struct demo *d, unsigned i, char *buf, size_t size)
{
	const struct stage_result *u = &d->unmanaged[i], *m = &d->managed[i];
	struct figures f[] = {demo_figures(d, i, u), demo_figures(d, i, m)};
	double spread = MAX(MAX(stage_spread(&d->alone_high[i], true), stage_spread(u, true)),
		stage_spread(m, true));
	const char *why = figures_noise(&f[1], 2, spread, buf, size);

	return why ? why : figures_noise(&f[0], 2, spread, buf, size);
}

struct demo_order demo_order(const struct stage_result *r)
{
	struct demo_order o = {0, 0};

	for (unsigned i = 0; i < r->rounds; i++) {
		const struct stage_round *at = &r->at[i];
		bool together = at->high_launch_ns < at->low_done_ns;

		o.together += together;
		o.overtook +=
			together && at->high_done_ns + (at->low_done_ns - at->low_launch_ns) / 20 <
					    at->low_done_ns;
	}
	return o;
}

static void show_order(const struct demo *d, unsigned i, struct strbuf *o)
{
	const struct stage_result *m = &d->managed[i];
	struct demo_order with = demo_order(m), without = demo_order(&d->unmanaged[i]);

	if (!with.together || !without.together) {
		strbuf_printf(o, "  no result: %s had ended each time before %s was launched\n",
			demo_pairs[i].low, demo_pairs[i].high);
		return;
	}
	strbuf_printf(o,
		"  order on the virtual GPU: %s clearly ended before %s in %u of %s under "
		"heddle, in %u of %u as they are\n",
		demo_pairs[i].high, demo_pairs[i].low, with.overtook,
		COUNTED(with.together, "round"), without.overtook, without.together);
	if (m->handovers)
		strbuf_printf(o,
			"  when it was preempted, %.0f of the %" PRIu64
			" blocks of %s, in the median, were left for later\n",
			median_of(m->put_off, m->handovers), m->low_blocks, demo_pairs[i].low);
}

/* Adds a row with a program's times: alone, beside the other program without heddle, and under
 * heddle. */
static void add_row(struct table *t, const char *name, double alone, double without, double under)
{
	table_row(t);
	table_cell(t, "%s", name);
	if (isfinite(alone))
		table_number(t, 2, alone, "");
	else
		table_cell(t, "%s", "");
	table_number(t, 2, without, "");
	table_number(t, 2, under, "");
}

static void add_times(const struct demo *d, unsigned i, struct strbuf *o)
{
	static const char *const heads[] = {"", "alone", "as it is", "heddle"};
	const struct stage_result *u = &d->unmanaged[i], *m = &d->managed[i];
	struct figures fu = demo_figures(d, i, u), fm = demo_figures(d, i, m);
	struct table t = {0};
	char name[32];

	for (unsigned k = 0; k < ARRAY_LEN(heads); k++)
		table_column(&t, k ? 9 : -10, heads[k]);
	snprintf(name, sizeof(name), "%s high", demo_pairs[i].high);
	add_row(&t, name, d->alone_high[i].high_ns / 1e6, u->high_ns / 1e6, m->high_ns / 1e6);
	snprintf(name, sizeof(name), "%s low", demo_pairs[i].low);
	add_row(&t, name, d->alone_low[i].low_ns / 1e6, u->low_ns / 1e6, m->low_ns / 1e6);
	add_row(&t, "ANTT", NAN, fu.antt, fm.antt);
	table_note(&t, "(1 at best)");
	add_row(&t, "STP", NAN, fu.stp, fm.stp);
	table_note(&t, "(2 at best)");
	table_print(&t, o);
	table_finish(&t);
}

void demo_table(const struct demo *d, struct strbuf *o)
{
	char buf[96];

	strbuf_printf(o, "device: %s; %u round%s; medians\n\n", d->device_name, d->rounds,
		PLURAL(d->rounds, "s"));
	strbuf_printf(o, "turnaround from the launch call to completion, ms%s\n",
		d->device == DEV_CPU ? " of this machine's processors (of no GPU)" : "");
	for (unsigned i = 0; i < DEMO_PAIRS; i++) {
		const struct stage_result *u = &d->unmanaged[i], *m = &d->managed[i];
		const char *why = demo_noise(d, i, buf, sizeof(buf));
		unsigned n = MIN(m->preemptions, 100000u);

		add_times(d, i, o);
		if (d->device == DEV_CPU)
			show_order(d, i, o);
		if (why)
			strbuf_printf(o, "  noise, no result: %s\n", why);
		else if (d->device != DEV_CPU)
			strbuf_printf(o, "  %s %.1f times faster\n", demo_pairs[i].high,
				u->high_ns / m->high_ns);
		strbuf_printf(o, "  %u preemption%s, %.1f us%s\n", n, PLURAL(n, "s"),
			median_of(m->handover_ns, MIN(n, m->handovers)) / 1e3,
			n == 1 ? "" : " each in the median");
		strbuf_printf(o, "  results %s\n\n",
			demo_is_verified(d, i) ? "all correct" : "NOT ALL CORRECT");
	}
}
