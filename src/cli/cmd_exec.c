/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle exec: one kernel on a device, plain or in its preemptible form, with equal data each time.
 * Its outputs are how every transform is compared with the original. */
#include "cli/job.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct cli_option options[] = {
	{0, "grid", "X[,Y[,Z]]", "blocks in the grid"},
	{0, "block", "X[,Y[,Z]]", "threads in a block"},
	{0, "shared", "BYTES", "dynamic shared memory of a block"},
	{0, "device", "auto|cpu|cuda", "where it runs (auto: the GPU if there is one)"},
	{0, "as", "plain|preempt", "the kernel as it is, or its preemptible form"},
	{0, "yield-every", "N",
		"preemptible form: every N blocks all quotas drop to 0, then "
		"the launch is resumed"},
	{0, "chunk", "N", "preemptible form: blocks a worker takes at a time"},
	{0, "pull-ahead", NULL, "preemptible form: take the next blocks while these run"},
	{0, "workers", "N", "preemptible form: workers per SM at most"},
	{0, "all-workers", "N", "preemptible form: workers on all SMs together at most"},
	{0, "first", "N", "preemptible form: begin at block N, as if those before had run already"},
	{0, "repeat", "N", "run it N times on the same data and tell the median time"},
	{0},
};

static int read_dims(struct cli *c, const char *option, uint32_t ret[3])
{
	const char *text = cli_value(c, option);

	if (!text)
		return cli_usage(c, "--%s is missing", option);
	if (spec_parse_dims(text, ret))
		return cli_usage(c, "--%s %s: wants one to three whole numbers from 1, with commas",
			option, text);
	return CLI_OK;
}

static int read_spec(struct cli *c, struct spec *s)
{
	struct strbuf err = {0};
	uint64_t shared = 0;
	int r = read_dims(c, "grid", s->grid);

	if (r == CLI_OK)
		r = read_dims(c, "block", s->block);
	if (r == CLI_OK)
		r = cli_number(c, "shared", 0, 1 << 20, &shared);
	if (r != CLI_OK)
		return r;
	s->shared_bytes = (uint32_t)shared;
	s->file = c->operands[0];
	s->kernel = c->operands[1];
	s->n_args = (unsigned)c->n_operands - 2;
	s->args = ARENA_ARRAY(s->arena, struct spec_arg, s->n_args + 1);
	if (!s->args)
		return cli_error(c, NULL, "out of memory");
	for (unsigned i = 0; r == CLI_OK && i < s->n_args; i++)
		if (spec_parse_arg(s->arena, c->operands[i + 2], &s->args[i], &err))
			r = cli_usage(c, "%s", err.at ? err.at : "out of memory");
	strbuf_finish(&err);
	return r;
}

static int read_options(struct cli *c, struct job_options *o)
{
	const char *device = cli_value(c, "device"), *as = cli_value(c, "as");
	uint64_t yield = 0, chunk = 1, workers = 0, all = 0, repeat = 1, first = 0;
	int r = cli_number(c, "yield-every", 1, UINT32_MAX, &yield);

	if (r == CLI_OK)
		r = cli_number(c, "chunk", 1, 1 << 20, &chunk);
	if (r == CLI_OK)
		r = cli_number(c, "workers", 1, 64, &workers);
	if (r == CLI_OK)
		r = cli_number(c, "all-workers", 1, UINT32_MAX, &all);
	if (r == CLI_OK)
		r = cli_number(c, "repeat", 1, 100000, &repeat);
	if (r == CLI_OK)
		r = cli_number(c, "first", 0, UINT64_MAX, &first);
	if (r != CLI_OK)
		return r;
	*o = (struct job_options){
		.device = !device || !strcmp(device, "auto") ? DEV_AUTO
			  : !strcmp(device, "cpu")           ? DEV_CPU
							     : DEV_CUDA,
		.preempt = as && !strcmp(as, "preempt"),
		.repeat = (unsigned)repeat,
		.steering = {.chunk = (uint32_t)chunk,
			.pull_ahead = cli_has(c, "pull-ahead"),
			.yield_every = (uint32_t)yield,
			.workers_per_sm = (uint32_t)workers,
			.workers = (uint32_t)all,
			.first = first},
	};
	if (!o->preempt &&
		(yield || chunk > 1 || workers || all || first || o->steering.pull_ahead))
		return cli_usage(c, "--yield-every, --chunk, --pull-ahead, --workers, "
				    "--all-workers and --first need --as preempt");
	return CLI_OK;
}

static uint64_t blocks(const struct spec *s)
{
	return (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
}

static const char *tier_name(enum pass_tier tier)
{
	return tier == PASS_MANAGED ? "managed" : tier == PASS_GUARD ? "guard" : "held";
}

static void report(struct cli *c, const struct spec *s, const struct job_options *o,
	const struct job_result *res)
{
	struct json j;

	if (o->preempt && res->stats.together)
		cli_warn(c,
			"kernel '%s': its blocks may wait for each other, so all %" PRIu64
			" were there at once, whatever --yield-every, --workers and --all-workers "
			"say",
			s->kernel, res->stats.total);
	if (!c->json) {
		if (o->preempt && res->reason)
			cli_warn(c, "kernel '%s' is not managed but %s: %s", s->kernel,
				tier_name(res->tier), res->reason);
		return;
	}
	cli_json_open(c, &j, 1);
	json_str(&j, "device", res->device_name);
	json_str(&j, "kernel", s->kernel);
	json_str(&j, "form", o->preempt ? "preempt" : "plain");
	json_num(&j, "ms", res->ms);
	if (o->preempt) {
		json_str(&j, "tier", tier_name(res->tier));
		json_str(&j, "reason", res->reason);
		json_uint(&j, "blocks", res->stats.total);
		json_uint(&j, "workers", res->stats.workers);
		json_uint(&j, "launches", res->stats.launches);
		json_bool(&j, "together", res->stats.together);
	}
	json_end(&j, '}');
}

static int run(struct cli *c)
{
	struct arena arena;
	struct spec spec = {.arena = &arena};
	struct job_options o;
	struct job_result res;
	int r;

	arena_init(&arena, 0);
	r = read_spec(c, &spec);
	if (r == CLI_OK)
		r = read_options(c, &o);
	if (r == CLI_OK && o.steering.first && o.steering.first >= blocks(&spec))
		r = cli_usage(c, "--first: the grid has %" PRIu64 " blocks", blocks(&spec));
	if (r == CLI_OK)
		r = job_run(c, &spec, &o, &res);
	if (r == CLI_OK)
		report(c, &spec, &o, &res);
	arena_finish(&arena);
	return r;
}

const struct cli_verb cli_verb_exec = {
	.name = "exec",
	.operands = "FILE.ptx KERNEL [ARG...]",
	.summary = "run one kernel on a device",
	.details = "ARG is TYPE:VALUE for a scalar (i32:5, f32:0.5), hex:BYTES for a structure, "
		   "or TYPE[N]:INIT for a buffer, INIT one of zero, iota, const(V), rand(SEED), "
		   "@FILE. A buffer with >FILE appended is written there as raw bytes after the "
		   "kernel; >- prints one value a line.",
	.json = "device, kernel, form (plain, preempt), ms; and in the preemptible form tier, "
		"reason, blocks, "
		"workers, launches, together (workers and turns were left aside, since its "
		"blocks may wait for each other).",
	.options = options,
	.min_operands = 2,
	.max_operands = -1,
	.run = run,
};
