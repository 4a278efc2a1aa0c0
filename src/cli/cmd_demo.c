/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle demo shows heddle's main purpose on this machine: a short program of high priority
 * overtakes a long one of low priority. The two programs do not know heddle. Each program runs
 * alone, then both run together without heddle, and then both run together under heddle. Every
 * result is compared with one computed on the host. */
#include "base/text.h"
#include "cli/bench/figures.h"
#include "cli/progress.h"
#include "cli/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {
	{0, "device", "auto|cpu|cuda",
		"where it runs: cpu is the virtual GPU, cuda the GPU, cuda:1 the second GPU, auto "
		"the GPU if there is one, else the virtual GPU (default: auto)"},
	{0, "rounds", "N",
		"launches of each program in each arrangement (default: 10; 2 on the virtual GPU)"},
	{0, "svg", "FILE", "write the timeline there (default: heddle-demo.svg)"},
	{0, "mps", "on|off", "GPU: run under MPS, both unmanaged and managed (default: off)"},
	{0},
};

static const struct {
	const char *low, *high;
	double scale; /* of the low one's work where an interpreter runs it */
} pairs[] = {{"cfd", "spmv", 1}, {"nn", "mm", 0.5}};
#define PAIRS ARRAY_LEN(pairs)

struct demo {
	struct cli *c;
	struct arena arena;
	enum dev_kind device;
	char device_name[128];
	bool mps;
	/* folder in which programs keep the results computed on the host; empty: none */
	char reference[64];
	unsigned rounds;
	struct stage_result alone_low[PAIRS], alone_high[PAIRS], unmanaged[PAIRS], managed[PAIRS];
};

/* Of pair i the one of low priority, the one of high priority, or both. */
static struct stage_run make_run(const struct demo *d, unsigned i, bool low, bool high)
{
	return (struct stage_run){.low = {low ? pairs[i].low : NULL, "large",
					  d->device == DEV_CPU ? pairs[i].scale : 0},
		.high = {high ? pairs[i].high : NULL, "small", 0},
		.rounds = d->rounds,
		.reference = d->reference[0] ? d->reference : NULL,
		.delay_us = d->device == DEV_CPU ? 100000 : 500,
		.check = "each",
		.timeout_ms = 120000};
}

static int run_one(struct demo *d, struct stage *stage, unsigned i, bool with_low, bool with_high,
	const char *how, struct stage_result *ret)
{
	struct stage_run run = make_run(d, i, with_low, with_high);

	progress_step("%s%s%s %s", with_low ? pairs[i].low : "",
		with_low && with_high ? " and " : "", with_high ? pairs[i].high : "", how);
	return stage_run(stage, &d->arena, &run, ret);
}

static int run_pairs(struct demo *d, bool managed)
{
	struct stage_spec spec = {.name = managed ? "heddle" : "unmanaged",
		.device = d->device,
		.managed = managed,
		.mps = d->mps};
	struct stage stage;
	int r = stage_open(d->c, &spec, &stage);

	if (r != CLI_OK)
		return r;
	for (unsigned i = 0; r == CLI_OK && i < PAIRS; i++) {
		if (managed) {
			r = run_one(d, &stage, i, true, true, "under heddle", &d->managed[i]);
			continue;
		}
		r = run_one(d, &stage, i, true, false, "alone", &d->alone_low[i]);
		if (r == CLI_OK)
			r = run_one(d, &stage, i, false, true, "alone", &d->alone_high[i]);
		if (r == CLI_OK)
			r = run_one(d, &stage, i, true, true, "as they are", &d->unmanaged[i]);
	}
	stage_close(&stage);
	return r;
}

/* ---- what is shown ---- */

static bool is_verified(const struct demo *d, unsigned i)
{
	const struct stage_result *all[] = {
		&d->alone_low[i], &d->alone_high[i], &d->unmanaged[i], &d->managed[i]};

	for (unsigned k = 0; k < ARRAY_LEN(all); k++)
		if (all[k]->wrong || !all[k]->checked)
			return false;
	return true;
}

static struct figures demo_figures(
	const struct demo *d, unsigned i, const struct stage_result *together)
{
	return figures_of(together, d->alone_low[i].low_ns, d->alone_high[i].high_ns);
}

/* Returns why the pair's figures are no valid result, or NULL if they are. */
static const char *find_noise(const struct demo *d, unsigned i, char *buf, size_t size)
{
	const struct stage_result *u = &d->unmanaged[i], *m = &d->managed[i];
	struct figures f[] = {demo_figures(d, i, u), demo_figures(d, i, m)};
	double spread = MAX(MAX(stage_spread(&d->alone_high[i], true), stage_spread(u, true)),
		stage_spread(m, true));
	const char *why = figures_noise(&f[1], 2, spread, buf, size);

	return why ? why : figures_noise(&f[0], 2, spread, buf, size);
}

/* Counts of rounds.
 * - together: the high-priority program launched while the low-priority one ran.
 * - overtook: the high-priority program also ended first, by at least a twentieth of the
 *   low-priority program's time. The margin is needed because without heddle both end at about the
 *   same time.
 *
 * On the virtual GPU, times depend on other load of the machine, so the demo's result there is
 * `overtook`. It depends only on the order in which blocks run. */
struct order {
	unsigned together, overtook;
};

static struct order order_of(const struct stage_result *r)
{
	struct order o = {0, 0};

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

static void show_order(struct demo *d, unsigned i)
{
	struct stage_result *m = &d->managed[i];
	struct order with = order_of(m), without = order_of(&d->unmanaged[i]);
	struct strbuf *o = &d->c->out;

	if (!with.together || !without.together) {
		strbuf_printf(o, "  no result: %s had ended each time before %s was launched\n",
			pairs[i].low, pairs[i].high);
		return;
	}
	strbuf_printf(o,
		"  order on the virtual GPU: %s clearly ended before %s in %u of %s under "
		"heddle, in %u of %u as they are\n",
		pairs[i].high, pairs[i].low, with.overtook, COUNTED(with.together, "round"),
		without.overtook, without.together);
	if (m->handovers)
		strbuf_printf(o,
			"  when it was preempted, %.0f of the %" PRIu64
			" blocks of %s, in the median, were left for later\n",
			median_of(m->put_off, m->handovers), m->low_blocks, pairs[i].low);
}

static void show_table(struct demo *d)
{
	struct strbuf *o = &d->c->out;
	char buf[96];

	strbuf_printf(o, "device: %s; %u round%s; medians\n\n", d->device_name, d->rounds,
		PLURAL(d->rounds, "s"));
	strbuf_printf(o, "turnaround from the launch call to completion, ms%s\n",
		d->device == DEV_CPU ? " of this machine's processors (of no GPU)" : "");
	strbuf_puts(o, "               alone  as it is    heddle\n");
	for (unsigned i = 0; i < PAIRS; i++) {
		const struct stage_result *u = &d->unmanaged[i], *m = &d->managed[i];
		struct figures fu = demo_figures(d, i, u), fm = demo_figures(d, i, m);
		const char *why = find_noise(d, i, buf, sizeof(buf));
		unsigned n = MIN(m->preemptions, 100000u);

		strbuf_printf(o, "%-5s high %9.2f %9.2f %9.2f\n", pairs[i].high,
			d->alone_high[i].high_ns / 1e6, u->high_ns / 1e6, m->high_ns / 1e6);
		strbuf_printf(o, "%-5s low  %9.2f %9.2f %9.2f\n", pairs[i].low,
			d->alone_low[i].low_ns / 1e6, u->low_ns / 1e6, m->low_ns / 1e6);
		strbuf_printf(o, "  ANTT %23.2f %9.2f  (1 at best)\n", fu.antt, fm.antt);
		strbuf_printf(o, "  STP  %23.2f %9.2f  (2 at best)\n", fu.stp, fm.stp);
		if (d->device == DEV_CPU)
			show_order(d, i);
		if (why)
			strbuf_printf(o, "  noise, no result: %s\n", why);
		else if (d->device != DEV_CPU)
			strbuf_printf(o, "  %s %.1f times faster\n", pairs[i].high,
				u->high_ns / m->high_ns);
		strbuf_printf(o, "  %u preemption%s, %.1f us%s\n", n, PLURAL(n, "s"),
			median_of(m->handover_ns, MIN(n, m->handovers)) / 1e3,
			n == 1 ? "" : " each in the median");
		strbuf_printf(o, "  results %s\n\n",
			is_verified(d, i) ? "all correct" : "NOT ALL CORRECT");
	}
}

static void show_json(struct demo *d, const char *svg)
{
	struct json j;
	char buf[96];

	cli_json_open(d->c, &j, 1);
	json_str(&j, "device", d->device_name);
	json_bool(&j, "mps", d->mps);
	json_uint(&j, "rounds", d->rounds);
	json_str(&j, "timeline", svg);
	json_begin_array(&j, "pairs");
	for (unsigned i = 0; i < PAIRS; i++) {
		const struct stage_result *u = &d->unmanaged[i], *m = &d->managed[i];
		struct figures fu = demo_figures(d, i, u), fm = demo_figures(d, i, m);

		json_begin_object(&j, NULL);
		json_str(&j, "noise", find_noise(d, i, buf, sizeof(buf)));
		json_uint(&j, "together", order_of(m).together);
		json_uint(&j, "overtook", order_of(m).overtook);
		json_uint(&j, "together_unmanaged", order_of(u).together);
		json_uint(&j, "overtook_unmanaged", order_of(u).overtook);
		json_num(&j, "put_off", median_of(m->put_off, m->handovers));
		json_uint(&j, "low_blocks", m->low_blocks);
		json_str(&j, "low", pairs[i].low);
		json_str(&j, "high", pairs[i].high);
		json_num(&j, "high_speedup", u->high_ns / m->high_ns);
		json_num(&j, "antt", fm.antt);
		json_num(&j, "stp", fm.stp);
		json_num(&j, "stp_makespan", fm.stp_makespan);
		json_num(&j, "antt_unmanaged", fu.antt);
		json_num(&j, "stp_unmanaged", fu.stp);
		json_uint(&j, "preemptions", m->preemptions);
		json_num(
			&j, "preemption_latency_us", median_of(m->handover_ns, m->handovers) / 1e3);
		json_bool(&j, "verified", is_verified(d, i));
		json_num(&j, "low_alone_ms", d->alone_low[i].low_ns / 1e6);
		json_num(&j, "high_alone_ms", d->alone_high[i].high_ns / 1e6);
		json_num(&j, "low_unmanaged_ms", u->low_ns / 1e6);
		json_num(&j, "high_unmanaged_ms", u->high_ns / 1e6);
		json_num(&j, "low_ms", m->low_ns / 1e6);
		json_num(&j, "high_ms", m->high_ns / 1e6);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_end(&j, '}');
}

static int write_svg(struct demo *d, const char *path)
{
	struct timeline t = {.low = pairs[0].low,
		.high = pairs[0].high,
		.device = d->device_name,
		.unmanaged = &d->unmanaged[0],
		.managed = &d->managed[0],
		.high_alone_ns = d->alone_high[0].high_ns};
	struct strbuf svg = {0};
	int r;

	timeline_svg(&t, &svg);
	r = cli_write_file(d->c, path, "--svg FILE puts it elsewhere", &svg);
	strbuf_finish(&svg);
	return r;
}

/* Prints the results before it writes the picture, which may fail. */
static int show_results(struct demo *d, const char *svg)
{
	int r = CLI_OK;

	if (!d->c->json)
		show_table(d);
	cli_emit(d->c);
	fflush(stdout);
	r = write_svg(d, svg);
	if (d->c->json)
		show_json(d, r == CLI_OK ? svg : NULL);
	else if (r == CLI_OK)
		strbuf_printf(&d->c->out, "timeline: %s\n", svg);
	for (unsigned i = 0; i < PAIRS; i++)
		if (!is_verified(d, i))
			r = CLI_FAILED;
	return r;
}

static int run_demo(struct cli *c)
{
	const char *svg = cli_value(c, "svg");
	struct demo d = {.c = c};
	uint64_t rounds = 0;
	unsigned sms;
	int r = cli_number(c, "rounds", 1, 1000, &rounds);

	svg = svg ? svg : "heddle-demo.svg";
	if (r == CLI_OK)
		r = cli_will_write(c, svg, "--svg FILE puts it elsewhere");
	d.mps = cli_value(c, "mps") && !strcmp(cli_value(c, "mps"), "on");
	arena_init(&d.arena, 0);
	if (r == CLI_OK)
		r = stage_device(c, cli_value(c, "device"), &d.device, d.device_name, &sms);
	d.rounds = rounds ? (unsigned)rounds : d.device == DEV_CPU ? 2 : 10;
	child_catch_signals();
	progress_begin(4 * PAIRS);
	if (r == CLI_OK)
		cli_make_folder("reference", d.reference);
	if (r == CLI_OK)
		r = run_pairs(&d, false);
	if (r == CLI_OK)
		r = run_pairs(&d, true);
	if (r == CLI_OK)
		r = show_results(&d, svg);
	if (d.reference[0])
		cli_remove_folder(d.reference);
	arena_finish(&d.arena);
	return r;
}

const struct cli_verb cli_verb_demo = {
	.name = "demo",
	.operands = "",
	.summary = "two programs on this machine, one preempts the other",
	.details = "Runs two pairs of example programs: each alone, both unmanaged, and both under "
		   "heddle. Compares every result with the host's, prints turnarounds, ANTT and "
		   "STP, and draws a timeline. Impossible figures (ANTT below 1, STP above 2), and "
		   "figures that differ by more than 10 % between rounds, are marked as noise.\nOn "
		   "the virtual GPU, times are those of this machine's processors and are no "
		   "result. There the result is the order: in how many rounds the program of high "
		   "priority, launched while the other ran, clearly ended first, and how many "
		   "blocks of the other were left when it was preempted.",
	.json = "device, mps, rounds, timeline (the picture's file; null: it could not be "
		"written), and pairs, an array of noise (why the figures are no result; null: they "
		"are one), together (rounds in which high was launched while low ran, managed), "
		"overtook (those of them in which it ended first, by a twentieth of low's time), "
		"together_unmanaged, overtook_unmanaged, put_off (blocks of low that were left "
		"when it was preempted, median), low_blocks, low, high (programs), high_speedup "
		"(unmanaged over managed turnaround of the high one), antt, stp, stp_makespan "
		"(managed), antt_unmanaged, stp_unmanaged, preemptions, preemption_latency_us, "
		"verified (every result was right), and turnarounds: low_alone_ms, high_alone_ms, "
		"low_unmanaged_ms, high_unmanaged_ms, low_ms, high_ms.",
	.options = options,
	.run = run_demo,
};
