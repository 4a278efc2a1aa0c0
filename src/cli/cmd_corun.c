/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle corun runs several kernels on one device: one after the other, in streams, in green
 * contexts, or as one launch. Every run starts with the same data. */
#include "base/demangle.h"
#include "base/text.h"
#include "job/kernelspec.h"
#include "job/run_specs.h"
#include "job/woven.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {
	{0, "how", "sequential|streams|green|merge|vertical|horizontal|weave|tuned|WAY",
		"sequential: one after another in one stream; streams: each in a stream of its "
		"own; green: each in a green context with an equal part of the SMs; merge: one "
		"launch whose workers take blocks of all kernels; vertical: fused, the same "
		"threads run a block of each, one after another; horizontal: fused, each kernel "
		"has warps of its own; weave: the same threads run the instructions of two kernels "
		"in turn; tuned: the fastest way that heddle tune measured; WAY: a way as heddle "
		"tune prints it ('merge partition=1:3 help chunk=8', 'green=1:3') (default: "
		"merge)"},
	{0, "store", "FILE",
		"tuned: the file in which heddle tune keeps its results (default: as heddle tune)"},
	{0, "schedule", "ORDER",
		"merge: steal (each worker takes blocks of the kernels in turn; steal:shared: all "
		"workers together do), or workers that keep to one kernel: partition (shares of "
		"the workers), mixed (shares of the workers on each SM), apart (shares of the "
		"SMs), with =N:N... for the kernels' shares"},
	{0, "help-others", NULL,
		"merge: workers whose kernel has no blocks left take blocks of others"},
	{0, "workers", "N", "merge: at most N workers for each SM, on average"},
	{0, "total-workers", "N", "merge: at most N workers on all SMs together"},
	{0, "own", "K[:K...]",
		"merge: kernels (by number) that also have a launch of workers of their own, with "
		"their own registers and shared memory, in the room that the merged launch leaves"},
	{0, "chunk", "N[:N...]", "merge: how many blocks a worker takes at a time, of each kernel"},
	{0, "yield-every", "N",
		"merge: after every N blocks of a kernel, set its quotas to 0, then resume it"},
	{0, "registers", "N", "weave: at most N registers for each thread (256: no limit)"},
	{0, "unsliced", NULL, "weave: do not cut long runs of instructions"},
	{0, "branches", NULL,
		"weave: short regions keep their branches, as in GoPTX, instead of guards"},
	{0, "no-times", NULL, "merge: do not time the kernels inside"},
	{0, "resident", NULL,
		"merge: count how many blocks of each kernel run at once (costs time)"},
	{0, "compile-s", "N", "compile timeout in seconds (default: 300)"},
	{0, "device", "auto|cpu|cuda",
		"where they run: cpu is the virtual GPU, cuda the GPU, cuda:1 the second GPU, auto "
		"the GPU if there is one, else the virtual GPU (default: auto)"},
	{0, "repeat", "N",
		"run them N times on the same data and print the median time (default: 1)"},
	{0, "check", NULL,
		"run each kernel alone first, and compare all buffers with its results; exit "
		"status 1 if one differs"},
	{0},
};

#define WORKERS_MAX 64

static int read_workers(struct cli *c, struct host_merging *m)
{
	uint64_t total = m->workers, per_sm = m->workers_per_sm;
	int r = cli_number(c, "total-workers", 1, UINT32_MAX, &total);

	if (r == CLI_OK)
		r = cli_number(c, "workers", 0, UINT32_MAX, &per_sm);
	/* In older versions --workers set the limit for all SMs together, so the error for a large
	 * number names --total-workers. */
	if (r == CLI_OK && cli_has(c, "workers") && (per_sm < 1 || per_sm > WORKERS_MAX))
		r = cli_usage(c,
			"--workers %s: 1 to %d for each SM; --total-workers sets the limit for all "
			"SMs together",
			cli_value(c, "workers"), WORKERS_MAX);
	m->workers = (uint32_t)total;
	m->workers_per_sm = (uint32_t)per_sm;
	return r;
}

/* Applies the given options to *m, which already has the defaults of --how. */
static int read_merging(struct cli *c, struct arena *arena, unsigned n, struct host_merging *m)
{
	static const struct {
		const char *option;
		const char *(*parse)(
			struct arena *a, const char *text, unsigned n, struct host_merging *ret);
	} texts[] = {{"schedule", host_order_parse}, {"chunk", host_chunk_parse},
		{"own", host_own_parse}};
	uint64_t yield = 0;
	int r = read_workers(c, m);

	for (unsigned i = 0; r == CLI_OK && i < ARRAY_LEN(texts); i++) {
		const char *text = cli_value(c, texts[i].option);
		const char *wrong = text ? texts[i].parse(arena, text, n, m) : NULL;

		if (wrong)
			r = cli_usage(c, "--%s: %s", texts[i].option, wrong);
	}
	if (r == CLI_OK)
		r = cli_number(c, "yield-every", 1, UINT32_MAX, &yield);
	m->help_others |= cli_has(c, "help-others");
	m->times = !cli_has(c, "no-times");
	m->count = cli_has(c, "resident");
	if (r == CLI_OK && m->count && !m->times)
		r = cli_usage(c, "--resident and --no-times exclude each other");
	m->yield_every = (uint32_t)yield;
	return r;
}

static int read_weaving(struct cli *c, struct host_merging *m)
{
	uint64_t registers = m->registers ? m->registers : HOST_REGISTERS_NONE;
	int r = cli_number(c, "registers", HOST_REGISTERS_MIN, HOST_REGISTERS_NONE, &registers);

	m->registers = registers < HOST_REGISTERS_NONE ? (uint32_t)registers : 0;
	m->unsliced |= cli_has(c, "unsliced");
	m->branches |= cli_has(c, "branches");
	return r;
}

/* Reads --how, and the options that belong to the chosen way. */
static int read_way(struct cli *c, struct arena *arena, unsigned n, struct corun_options *o)
{
	static const struct {
		enum host_way way;
		const char *option;
	} only[] = {
		{HOST_WAY_MERGE, "schedule"},
		{HOST_WAY_MERGE, "help-others"},
		{HOST_WAY_MERGE, "workers"},
		{HOST_WAY_MERGE, "total-workers"},
		{HOST_WAY_MERGE, "own"},
		{HOST_WAY_MERGE, "chunk"},
		{HOST_WAY_MERGE, "yield-every"},
		{HOST_WAY_MERGE, "no-times"},
		{HOST_WAY_MERGE, "resident"},
		{HOST_WAY_WEAVE, "registers"},
		{HOST_WAY_WEAVE, "unsliced"},
		{HOST_WAY_WEAVE, "branches"},
	};
	const char *way = cli_value(c, "how"), *wrong = NULL;

	o->way = HOST_WAY_MERGE;
	o->tuned = way && !strcmp(way, "tuned");
	if (!o->tuned)
		wrong = host_way_parse(arena, way ? way : "merge", n, &o->way, &o->merging);
	if (wrong)
		return cli_usage(c, "--how '%s': %s", way, wrong);
	for (unsigned i = 0; i < ARRAY_LEN(only); i++)
		if ((o->way != only[i].way || o->tuned) && cli_has(c, only[i].option))
			return cli_usage(c, "--%s needs --how %s", only[i].option,
				host_way_names[only[i].way]);
	return o->tuned || (o->way != HOST_WAY_MERGE && o->way != HOST_WAY_WEAVE) ? CLI_OK
	       : o->way == HOST_WAY_MERGE ? read_merging(c, arena, n, &o->merging)
					  : read_weaving(c, &o->merging);
}

static int read_options(struct cli *c, struct arena *arena, unsigned n, struct corun_options *o)
{
	uint64_t repeat = 1, compile_s = ASSEMBLER_LIMIT_S;
	int r = cli_number(c, "repeat", 1, 100000, &repeat);

	if (r == CLI_OK)
		r = cli_number(c, "compile-s", 1, 86400, &compile_s);

	*o = (struct corun_options){
		.device = job_device_kind(c),
		.repeat = (unsigned)repeat,
		.compile_s = (unsigned)compile_s,
		.check = cli_has(c, "check"),
	};
	if (r == CLI_OK)
		r = read_way(c, arena, n, o);
	o->store = cli_value(c, "store");
	if (r == CLI_OK && o->store && !o->tuned)
		r = cli_usage(c, "--store needs --how tuned");
	return r;
}

/* ---- reporting results ---- */
/* Returns whether the result has a time for each kernel. */
static bool is_timed(const struct corun_options *o)
{
	return o->way < HOST_WAY_MERGE || (o->way == HOST_WAY_MERGE && o->merging.times);
}

static void json_merge(struct json *j, const struct spec *specs, const struct corun_options *o,
	const struct corun_result *r)
{
	if (o->way < HOST_WAY_MERGE)
		return;
	if (o->way == HOST_WAY_MERGE) {
		json_str(j, "schedule", host_order_name(o->merging.order));
		json_bool(j, "help_others", o->merging.help_others);
	}
	json_uint(j, "fit", (uint64_t)r->plan.per_sm * r->n_sms);
	json_uint(j, "workers", r->plan.workers);
	json_uint(j, "launches", r->times.launches);
	if (o->way == HOST_WAY_WEAVE)
		woven_json(j, specs, &r->woven);
}

/* Returns how many workers on average served the kernel between its first and its last block. */
static double resident_mean(const struct corun_result *r, unsigned i)
{
	return r->times.of[i].ms > 0 ? r->times.of[i].busy_ms / r->times.of[i].ms : 0;
}

static void json_kernel(struct json *j, const struct spec *s, unsigned i,
	const struct corun_options *o, const struct corun_result *r)
{
	json_begin_object(j, NULL);
	json_str(j, "file", s->file);
	json_str(j, "kernel", s->kernel);
	json_uint(j, "blocks", host_total_blocks(&s->shape));
	json_uint(j, "fit", (uint64_t)r->fit[i] * r->n_sms);
	if (is_timed(o)) {
		json_num(j, "began_ms", r->times.of[i].began_ms);
		json_num(j, "ms", r->times.of[i].ms);
	}
	if (o->way == HOST_WAY_MERGE && o->merging.times)
		json_num(j, "busy_ms", r->times.of[i].busy_ms);
	if (o->way == HOST_WAY_MERGE && o->merging.count) {
		json_uint(j, "resident", r->times.of[i].most);
		json_num(j, "resident_mean", resident_mean(r, i));
		json_uint(j, "resident_threads",
			(uint64_t)r->times.of[i].most * s->shape.block[0] * s->shape.block[1] *
				s->shape.block[2]);
	}
	if (o->way == HOST_WAY_MERGE) {
		json_uint(j, "own_fit", (uint64_t)r->plan.own[i].per_sm * r->n_sms);
		json_uint(j, "own_workers", r->plan.own[i].workers);
		json_bool(j, "together", r->plan.together[i]);
	}
	json_end(j, '}');
}

static void report_json(struct cli *c, const struct spec *specs, unsigned n,
	const struct corun_options *o, const struct corun_result *res)
{
	struct json j;

	cli_json_open(c, &j, 1);
	json_str(&j, "device", res->device_name);
	json_uint(&j, "sms", res->n_sms);
	json_str(&j, "how", host_way_names[o->way]);
	json_num(&j, "ms", res->times.ms);
	json_merge(&j, specs, o, res);
	json_begin_array(&j, "kernels");
	for (unsigned i = 0; i < n; i++)
		json_kernel(&j, &specs[i], i, o, res);
	json_end(&j, ']');
	json_bool(&j, "checked", o->check);
	json_begin_array(&j, "differences");
	for (unsigned i = 0; i < res->n_differences; i++) {
		const struct corun_difference *d = &res->differences[i];

		json_begin_object(&j, NULL);
		json_uint(&j, "number", d->kernel + 1);
		json_uint(&j, "argument", d->arg + 1);
		json_uint(&j, "elements", d->elements);
		json_uint(&j, "first", d->first);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_end(&j, '}');
}

/* Reports kernel i's workers or blocks, compared with those that fit if it runs alone. */
static void report_own(struct strbuf *out, const struct spec *s, unsigned i,
	const struct corun_options *o, const struct corun_result *res)
{
	uint32_t threads = s->shape.block[0] * s->shape.block[1] * s->shape.block[2],
		 most = res->times.of[i].most;
	uint64_t fit = (uint64_t)res->fit[i] * res->n_sms;

	if (res->plan.own[i].workers)
		strbuf_printf(out, "%u: a launch of its own, of %s; %" PRIu64 " fit\n", i + 1,
			COUNTED(res->plan.own[i].workers, "worker"),
			(uint64_t)res->plan.own[i].per_sm * res->n_sms);
	if (o->merging.count)
		strbuf_printf(out, "%u: %s at once, %s, %.1f in the mean; alone %" PRIu64 ", %s\n",
			i + 1, COUNTED(most, "block"), COUNTED((uint64_t)most * threads, "thread"),
			resident_mean(res, i), fit, COUNTED(fit * threads, "thread"));
}

static void report_table(struct cli *c, const struct spec *specs, unsigned n,
	const struct corun_options *o, const struct corun_result *res)
{
	static const char *const heads[] = {
		"", "kernel", "blocks", "fit", "began ms", "ms", "busy ms"};
	static const int widths[] = {-2, -24, 10, 8, 12, 12, 12};
	bool merged = o->way == HOST_WAY_MERGE, timed = is_timed(o);
	struct strbuf *out = &c->out;
	struct table t = {0};

	strbuf_printf(
		out, "%s: %s, %.4f ms\n", res->device_name, host_way_names[o->way], res->times.ms);
	if (merged)
		strbuf_printf(out, "%s%s; %s, %" PRIu64 " fit; launched %s\n",
			host_order_name(o->merging.order),
			o->merging.help_others ? ", helping others" : "",
			COUNTED(res->plan.workers, "worker"),
			(uint64_t)res->plan.per_sm * res->n_sms,
			COUNTED(res->times.launches, "time"));
	if (o->way > HOST_WAY_MERGE)
		strbuf_printf(out, "%s, %" PRIu64 " fit\n", COUNTED(res->plan.workers, "block"),
			(uint64_t)res->plan.per_sm * res->n_sms);
	if (o->way == HOST_WAY_WEAVE)
		woven_print(specs, &res->woven, "", out);
	for (unsigned i = 0; i < (!timed ? 4u : merged ? 7u : 6u); i++)
		table_column(&t, widths[i], heads[i]);
	for (unsigned i = 0; i < n; i++) {
		table_row(&t);
		table_cell(&t, "%u", i + 1);
		table_cell(&t, "%s", demangle_name(specs[i].kernel, (char[300]){0}, 300));
		table_cell(&t, "%" PRIu64, host_total_blocks(&specs[i].shape));
		table_cell(&t, "%" PRIu64, (uint64_t)res->fit[i] * res->n_sms);
		table_number(&t, 4, res->times.of[i].began_ms, "");
		table_number(&t, 4, res->times.of[i].ms, "");
		table_number(&t, 4, res->times.of[i].busy_ms, "");
	}
	table_print(&t, out);
	table_finish(&t);
	for (unsigned i = 0; merged && i < n; i++)
		report_own(out, &specs[i], i, o, res);
	if (o->check)
		strbuf_printf(out, "%s\n",
			res->n_differences ? "memory differs from what the kernels leave alone"
					   : "memory is what the kernels leave alone");
}

static void warn_of_yield(struct cli *c, const struct spec *specs, unsigned n,
	const struct corun_options *o, const struct corun_result *res)
{
	for (unsigned i = 0; i < n; i++)
		if (o->way == HOST_WAY_MERGE && o->merging.yield_every && res->plan.together[i])
			cli_warn(c,
				"kernel '%s': its blocks may wait for each other, so all %" PRIu64
				" were there at once, whatever --yield-every says",
				specs[i].kernel, host_total_blocks(&specs[i].shape));
}

static int run_corun(struct cli *c)
{
	struct spec specs[CORUN_MAX];
	struct corun_options o;
	struct corun_result res;
	struct arena arena;
	unsigned n;
	int r;

	arena_init(&arena, 0);
	r = kernelspec_read_all(c, &arena, CORUN_MAX, false, specs, &n);
	if (r == CLI_OK)
		r = read_options(c, &arena, n, &o);
	if (r == CLI_OK)
		r = kernelspec_will_write(c, specs, n);
	if (r == CLI_OK)
		r = corun_run(c, &arena, specs, n, &o, &res);
	if (r == CLI_OK)
		warn_of_yield(c, specs, n, &o, &res);
	if (r == CLI_OK)
		(c->json ? report_json : report_table)(c, specs, n, &o, &res);
	if (r == CLI_OK && res.n_differences)
		r = CLI_FAILED;
	arena_finish(&arena);
	return r;
}

const struct cli_verb cli_verb_corun = {
	.name = "corun",
	.operands = "-- KERNELSPEC [+ KERNELSPEC...]",
	.summary = "run several kernels together on a device",
	.details =
		"KERNELSPEC is FILE KERNEL --grid X[,Y[,Z]] --block X[,Y[,Z]] [--shared BYTES] "
		"ARG..., with the files, arguments and numbers of heddle exec; or recorded:PROG "
		"[KERNEL], a launch that heddle record wrote. There may be up to eight, with + "
		"between them. A single kernel, merged, shows what merging costs. fit is how many "
		"blocks of a kernel (workers of the merged launch) the device holds at once.\nIn a "
		"merged launch, began is when a worker claimed the kernel's first block, counted "
		"from the earliest of these; ms is the time from then until its last block had "
		"run; busy is the time that all workers together spent on it. Shares are parts of "
		"the workers; with apart, of the SMs. --workers limits each SM, as in heddle exec.",
	.json = "device, sms, how, ms (of all, the median of the repeats); merged: schedule, "
		"help_others; merged or fused: fit (workers, or blocks, that fit), workers (there "
		"were), launches; woven: why_not (fused vertically, since), kernels (instructions, "
		"woven), apart (number of the kernel, from 1, line, why); kernels, an array of "
		"file, kernel, blocks, fit (blocks of it that fit alone), began_ms, ms, busy_ms "
		"(in the run with the median time), resident (blocks of it that were there at "
		"once, with --resident), resident_mean (in the mean, from its first to its last), "
		"resident_threads, own_fit (workers of a launch of its own that fit), own_workers "
		"(that it had; 0: none), together (all its blocks were there at once, since they "
		"may wait for each other); checked; differences, an array of number (of the "
		"kernel, from 1), argument (from 1), elements (how many differ), first (the first "
		"of them, from 0).",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST,
	.run = run_corun,
};
