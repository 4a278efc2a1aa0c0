/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle demo shows heddle's main purpose on this machine: a short program of high priority
 * overtakes a long one of low priority. The two programs do not know heddle. Each program runs
 * alone, then both run together without heddle, and then both run together under heddle. Every
 * result is compared with one computed on the host. */
#include "cli/demo.h"
#include "front/progress.h"
#include "stage/timeline.h"

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

/* Returns a run of pair i with its low-priority program, its high-priority program, or both. */
static struct stage_run make_run(const struct demo *d, unsigned i, bool low, bool high)
{
	return (struct stage_run){.low = {low ? demo_pairs[i].low : NULL, "large",
					  d->device == DEV_CPU ? demo_pairs[i].scale : 0},
		.high = {high ? demo_pairs[i].high : NULL, "small", 0},
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

	progress_step("%s%s%s %s", with_low ? demo_pairs[i].low : "",
		with_low && with_high ? " and " : "", with_high ? demo_pairs[i].high : "", how);
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
	for (unsigned i = 0; r == CLI_OK && i < DEMO_PAIRS; i++) {
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

/* ---- showing the results ---- */

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
	for (unsigned i = 0; i < DEMO_PAIRS; i++) {
		const struct stage_result *u = &d->unmanaged[i], *m = &d->managed[i];
		struct figures fu = demo_figures(d, i, u), fm = demo_figures(d, i, m);

		json_begin_object(&j, NULL);
		json_str(&j, "noise", demo_noise(d, i, buf, sizeof(buf)));
		json_uint(&j, "together", demo_order(m).together);
		json_uint(&j, "overtook", demo_order(m).overtook);
		json_uint(&j, "together_unmanaged", demo_order(u).together);
		json_uint(&j, "overtook_unmanaged", demo_order(u).overtook);
		json_num(&j, "put_off", median_of(m->put_off, m->handovers));
		json_uint(&j, "low_blocks", m->low_blocks);
		json_str(&j, "low", demo_pairs[i].low);
		json_str(&j, "high", demo_pairs[i].high);
		json_num(&j, "high_speedup", u->high_ns / m->high_ns);
		json_num(&j, "antt", fm.antt);
		json_num(&j, "stp", fm.stp);
		json_num(&j, "stp_makespan", fm.stp_makespan);
		json_num(&j, "antt_unmanaged", fu.antt);
		json_num(&j, "stp_unmanaged", fu.stp);
		json_uint(&j, "preemptions", m->preemptions);
		json_num(
			&j, "preemption_latency_us", median_of(m->handover_ns, m->handovers) / 1e3);
		json_bool(&j, "verified", demo_is_verified(d, i));
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
	char noise[96];
	struct timeline t = {.low = demo_pairs[0].low,
		.high = demo_pairs[0].high,
		.device = d->device_name,
		.unmanaged = &d->unmanaged[0],
		.managed = &d->managed[0],
		.high_alone_ns = d->alone_high[0].high_ns,
		.is_virtual = d->device == DEV_CPU,
		.noise = demo_noise(d, 0, noise, sizeof(noise))};
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
		demo_table(d, &d->c->out);
	cli_emit(d->c);
	fflush(stdout);
	r = write_svg(d, svg);
	if (d->c->json)
		show_json(d, r == CLI_OK ? svg : NULL);
	else if (r == CLI_OK)
		strbuf_printf(&d->c->out, "timeline: %s\n", svg);
	for (unsigned i = 0; i < DEMO_PAIRS; i++)
		if (!demo_is_verified(d, i))
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
	progress_begin(4 * DEMO_PAIRS);
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
		   "turnarounds of the program of high priority that differ by more than 10 % "
		   "between rounds, are marked as noise.\nOn "
		   "the virtual GPU, times are those of this machine's processors and are no "
		   "result: the arrangements run one after another, so other load of the machine "
		   "makes one of them faster or slower than another. There the result is the "
		   "order: in how many rounds the program of high priority, launched while the "
		   "other ran, clearly ended first, and how many blocks of the other were left "
		   "when it was preempted. The timeline's panels then have a scale each, of "
		   "their own whole time, and no milliseconds.",
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
