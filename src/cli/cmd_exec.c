/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle exec runs one kernel on a device, plain or in its preemptible form. Every run starts with
 * the same data, so the kernel's output shows whether a transformation keeps the kernel's
 * results. */
#include "job/job.h"
#include "job/job_kernel.h"
#include "job/kernelspec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {
	KERNELSPEC_OPTIONS,
	{0, "device", "auto|cpu|cuda|tenant",
		"where it runs: cpu is the virtual GPU, cuda the GPU, cuda:1 the second GPU, auto "
		"the GPU if there is one, else the virtual GPU; tenant: as a program would, for "
		"heddle run -- heddle exec (default: auto)"},
	{0, "as", "plain|preempt", "the plain kernel, or its preemptible form (default: plain)"},
	{0, "yield-every", "N",
		"preemptible form: after every N blocks, set all quotas to 0, then resume the "
		"launch"},
	{0, "chunk", "N",
		"preemptible form: how many blocks a worker takes at a time (default: 1)"},
	{0, "pull-ahead", NULL,
		"preemptible form: claim the next blocks while the present ones run"},
	{0, "order", PASS_ORDER_WORDS,
		"preemptible form: order in which workers take blocks (default: row)"},
	{0, "workers", "N", "preemptible form: at most N workers on each SM"},
	{0, "total-workers", "N", "preemptible form: at most N workers on all SMs together"},
	{0, "first", "N",
		"preemptible form: begin at block N, as if earlier blocks had run already"},
	{0, "check", NULL,
		"recorded:...: compare the resulting memory with that of the recorded launch"},
	{0, "repeat", "N",
		"run it N times on the same data and print the median time (default: 1)"},
	{0},
};

static int read_options(struct cli *c, struct job_options *o)
{
	const char *as = cli_value(c, "as"), *order = cli_value(c, "order");
	uint64_t yield = 0, chunk = 1, workers = 0, all = 0, repeat = 1, first = 0;
	int r = cli_number(c, "yield-every", 1, UINT32_MAX, &yield);

	if (r == CLI_OK)
		r = cli_number(c, "chunk", 1, 1 << 20, &chunk);
	if (r == CLI_OK)
		r = cli_number(c, "workers", 1, 64, &workers);
	if (r == CLI_OK)
		r = cli_number(c, "total-workers", 1, UINT32_MAX, &all);
	if (r == CLI_OK)
		r = cli_number(c, "repeat", 1, 100000, &repeat);
	if (r == CLI_OK)
		r = cli_number(c, "first", 0, UINT64_MAX, &first);
	if (r != CLI_OK)
		return r;
	*o = (struct job_options){
		.device = job_device_kind(c),
		.preempt = as && !strcmp(as, "preempt"),
		.check = cli_has(c, "check"),
		.repeat = (unsigned)repeat,
		.steering = {.chunk = (uint32_t)chunk,
			.pull_ahead = cli_has(c, "pull-ahead"),
			.yield_every = (uint32_t)yield,
			.workers_per_sm = (uint32_t)workers,
			.workers = (uint32_t)all,
			.first = first},
	};
	if (order)
		pass_order_find(order, &o->order);
	if (!o->preempt &&
		(yield || chunk > 1 || workers || all || first || order || o->steering.pull_ahead))
		return cli_usage(c, "--yield-every, --chunk, --pull-ahead, --order, --workers, "
				    "--total-workers and --first need --as preempt");
	return CLI_OK;
}

/* Returns whether the values of a buffer are printed (ARG>-). */
static bool prints_values(const struct spec *s)
{
	for (unsigned i = 0; i < s->n_args; i++)
		if (s->args[i].out_path && !strcmp(s->args[i].out_path, "-"))
			return true;
	return false;
}

/* Prints one line with the kernel's time. The line goes to standard error if the kernel's output
 * goes to standard output, so that nothing else is mixed into the output. */
static void report_text(struct cli *c, const struct spec *s, const struct job_options *o,
	const struct job_result *res)
{
	struct strbuf line = {0};

	strbuf_printf(&line, "%s on %s:", s->kernel, res->device_name);
	if (res->ms >= 0)
		strbuf_printf(&line, " %.4f ms", res->ms);
	else
		strbuf_puts(&line, " done");
	if (res->ms >= 0 && o->repeat > 1)
		strbuf_printf(&line, ", the median of %u", o->repeat);
	strbuf_puts(&line, "\n");
	if (line.at && prints_values(s))
		fputs(line.at, stderr);
	else if (line.at)
		strbuf_add(&c->out, line.at, line.len);
	strbuf_finish(&line);
}

static void report_result(struct cli *c, const struct spec *s, const struct job_options *o,
	const struct job_result *res)
{
	struct json j;

	if (o->preempt && res->stats.together)
		cli_warn(c,
			"kernel '%s': its blocks may wait for each other, so all %" PRIu64
			" were there at once, whatever --yield-every, --workers and "
			"--total-workers "
			"say",
			s->kernel, res->stats.total);
	if (!c->json) {
		if (o->preempt && res->reason)
			cli_warn(c, "kernel '%s' is not managed but %s: %s", s->kernel,
				pass_tier_name(res->tier), res->reason);
		report_text(c, s, o, res);
		return;
	}
	cli_json_open(c, &j, 1);
	json_str(&j, "device", res->device_name);
	json_str(&j, "kernel", s->kernel);
	json_str(&j, "form", o->preempt ? "preempt" : "plain");
	json_num(&j, "ms", res->ms);
	if (o->check)
		json_bool(&j, "same", res->same);
	if (o->preempt) {
		json_str(&j, "tier", pass_tier_name(res->tier));
		json_str(&j, "reason", res->reason);
		json_str(&j, "order", pass_order_name(res->order));
		json_uint(&j, "blocks", res->stats.total);
		json_uint(&j, "workers", res->stats.workers);
		json_uint(&j, "launches", res->stats.launches);
		json_bool(&j, "together", res->stats.together);
	}
	json_end(&j, '}');
}

static int run_verb_exec(struct cli *c)
{
	struct arena arena;
	struct spec spec = {.arena = &arena};
	struct job_options o;
	struct job_result res;
	int r;

	arena_init(&arena, 0);
	r = kernelspec_read(c, &spec);
	if (r == CLI_OK)
		r = read_options(c, &o);
	if (r == CLI_OK && o.check && !spec.record)
		r = cli_usage(c, "--check: FILE is no recording (recorded:...)");
	if (r == CLI_OK && o.steering.first && o.steering.first >= host_total_blocks(&spec.shape))
		r = cli_usage(c, "--first: the grid has %" PRIu64 " block%s",
			host_total_blocks(&spec.shape),
			PLURAL(host_total_blocks(&spec.shape), "s"));
	if (r == CLI_OK)
		r = kernelspec_will_write(c, &spec, 1);
	if (r == CLI_OK)
		r = job_run(c, &spec, &o, &res);
	if (r == CLI_OK)
		report_result(c, &spec, &o, &res);
	if (r == CLI_OK && !res.same)
		r = CLI_FAILED;
	arena_finish(&arena);
	return r;
}

const struct cli_verb cli_verb_exec = {
	.name = "exec",
	.operands = "FILE KERNEL [ARG...]",
	.summary = "run one kernel on a device",
	.details =
		"FILE is PTX, or a program, library or fatbin that holds the kernel's PTX (of "
		"several, the one for the oldest architecture is taken). KERNEL is its symbol, or "
		"its name in C++ if only one has it: scale, 'scale<float>'. recorded:PROG is a "
		"launch that heddle record wrote, with its own shape and arguments; --check "
		"compares the resulting memory with that of the recorded launch. ARG is TYPE:VALUE "
		"for a scalar (i32:5, f32:0.5), hex:BYTES for a structure, or TYPE[N]:INIT for a "
		"buffer of N elements (1000, 64K), INIT one of zero, iota, const(V), rand(SEED), "
		"@FILE. With >FILE appended, heddle writes the buffer there after the kernel, as "
		"raw bytes; >- prints one value a line. The last line says on which device the "
		"kernel ran, and for how long: on standard output, or with >- on standard error.",
	.json = "device, kernel, form (plain, preempt), ms, same (with --check: memory is as the "
		"recorded launch left it); and in the preemptible form tier, reason, order (row, "
		"column, hilbert), blocks, workers, launches, together (its blocks may wait for "
		"each other, so the options for workers had no effect).",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.run = run_verb_exec,
};
