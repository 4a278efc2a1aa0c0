/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle corun: several kernels on one device, one after the other or together, with equal data
 * each time. */
#include "cli/corun.h"
#include "cli/kernelspec.h"

#include <inttypes.h>
#include <string.h>

static const struct cli_option options[] = {
	{0, "how", "sequential|streams",
		"back to back in one stream, or each in a stream of its own"},
	{0, "device", "auto|cpu|cuda", "where they run (auto: the GPU if there is one)"},
	{0, "repeat", "N", "run them N times on the same data and tell the median time"},
	{0, "check", NULL,
		"run each kernel alone first, and compare all buffers with what it left; exit "
		"status 1 if one differs"},
	{0},
};

static const char *const hows[] = {"sequential", "streams"};

static int read_options(struct cli *c, struct corun_options *o)
{
	const char *device = cli_value(c, "device"), *how = cli_value(c, "how");
	uint64_t repeat = 1;
	int r = cli_number(c, "repeat", 1, 100000, &repeat);

	if (r != CLI_OK)
		return r;
	*o = (struct corun_options){
		.device = !device || !strcmp(device, "auto") ? DEV_AUTO
			  : !strcmp(device, "cpu")           ? DEV_CPU
							     : DEV_CUDA,
		.repeat = (unsigned)repeat,
		.check = cli_has(c, "check"),
	};
	for (unsigned i = 0; i < ARRAY_LEN(hows); i++)
		if (how && !strcmp(how, hows[i]))
			o->how = (enum corun_how)i;
	return CLI_OK;
}

static void report_json(struct cli *c, const struct spec *specs, unsigned n,
	const struct corun_options *o, const struct corun_result *res)
{
	struct json j;

	cli_json_open(c, &j, 1);
	json_str(&j, "device", res->device_name);
	json_str(&j, "how", hows[o->how]);
	json_num(&j, "ms", res->times.ms);
	json_uint(&j, "sms", res->n_sms);
	json_begin_array(&j, "kernels");
	for (unsigned i = 0; i < n; i++) {
		json_begin_object(&j, NULL);
		json_str(&j, "file", specs[i].file);
		json_str(&j, "kernel", specs[i].kernel);
		json_uint(&j, "blocks", spec_blocks(&specs[i]));
		json_uint(&j, "fit", (uint64_t)res->fit[i] * res->n_sms);
		json_num(&j, "began_ms", res->times.of[i].began_ms);
		json_num(&j, "ms", res->times.of[i].ms);
		json_end(&j, '}');
	}
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

static void report_table(struct cli *c, const struct spec *specs, unsigned n,
	const struct corun_options *o, const struct corun_result *res)
{
	strbuf_printf(&c->out, "%s: %s, %.4f ms\n", res->device_name, hows[o->how], res->times.ms);
	strbuf_printf(&c->out, "   %-24s %10s %8s %12s %12s\n", "kernel", "blocks", "fit",
		"began ms", "ms");
	for (unsigned i = 0; i < n; i++)
		strbuf_printf(&c->out, "%u  %-24s %10" PRIu64 " %8" PRIu64 " %12.4f %12.4f\n",
			i + 1, specs[i].kernel, spec_blocks(&specs[i]),
			(uint64_t)res->fit[i] * res->n_sms, res->times.of[i].began_ms,
			res->times.of[i].ms);
	if (o->check)
		strbuf_printf(&c->out, "%s\n",
			res->n_differences ? "memory differs from what the kernels leave alone"
					   : "memory is what the kernels leave alone");
}

static int run(struct cli *c)
{
	struct spec specs[CORUN_MAX];
	struct corun_options o;
	struct corun_result res;
	struct arena arena;
	unsigned n;
	int r;

	arena_init(&arena, 0);
	r = read_options(c, &o);
	if (r == CLI_OK)
		r = kernelspec_read_all(c, &arena, CORUN_MAX, specs, &n);
	if (r == CLI_OK)
		r = corun_run(c, &arena, specs, n, &o, &res);
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
		"KERNELSPEC is FILE.ptx KERNEL --grid X[,Y[,Z]] --block X[,Y[,Z]] "
		"[--shared BYTES] ARG..., with the arguments of heddle exec; up to eight of them, "
		"a + between two. fit is how many blocks of a kernel are on the device at once "
		"where it is alone there.",
	.json = "device, how, ms (of all, the median of the repeats), sms; kernels, an array of "
		"file, kernel, blocks, fit, began_ms, ms (in the run with the median time); "
		"checked; differences, an array of number (of the kernel, from 1), argument (from "
		"1), elements (how many are others), first (the first of them, from 0).",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_OPERANDS_LAST,
	.run = run,
};
