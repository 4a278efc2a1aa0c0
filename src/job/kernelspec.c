/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses kernel specifications from command-line arguments. Options belong to one specification:
 * the arguments between two '+' are parsed like those of a verb, with their own table of
 * options. */
#include "job/kernelspec.h"
#include "job/recording.h"

#include <string.h>

static const struct cli_option options[] = {KERNELSPEC_OPTIONS, {0}};

/* The options of one specification. Errors show the name with the specification's number, such as
 * "kernel 2". */
static const struct cli_verb part = {
	.name = "kernel",
	.operands = "FILE KERNEL",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.flags = CLI_PART,
};

static int read_dims(const struct cli *c, const char *option, uint32_t ret[3])
{
	const char *text = cli_value(c, option);

	if (!text)
		return cli_usage(c, "--%s is missing", option);
	if (spec_parse_dims(text, ret))
		return cli_usage(c,
			"--%s %s: wants one to three whole numbers from 1, such as 64, 4,2 or "
			"4x2x1",
			option, text);
	return CLI_OK;
}

/* Reads a recorded launch, which has its own shape and arguments. */
static int read_recorded(const struct cli *c, struct spec *s)
{
	static const char *const known[] = {"grid", "block", "shared"};

	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		if (cli_has(c, known[i]))
			return cli_usage(c, "--%s: a recorded launch has its own", known[i]);
	if (c->n_operands > 2)
		return cli_usage(
			c, "'%s': a recorded launch has its own arguments", c->operands[2]);
	return recording_read(c, c->operands[0], c->operands[1], s);
}

static int read_one(const struct cli *c, bool any_grid, struct spec *s)
{
	struct strbuf err = {0};
	uint64_t shared = 0;
	int r = CLI_OK;

	if (recording_is(c->operands[0]))
		return read_recorded(c, s);
	if (c->n_operands < 2)
		return cli_misuse(c, "what is missing: %s", c->verb->operands);
	s->shape.grid[0] = s->shape.grid[1] = s->shape.grid[2] = 1;
	if (!any_grid || cli_has(c, "grid"))
		r = read_dims(c, "grid", s->shape.grid);
	if (r == CLI_OK)
		r = read_dims(c, "block", s->shape.block);
	if (r == CLI_OK)
		r = cli_number(c, "shared", 0, 1 << 20, &shared);
	if (r != CLI_OK)
		return r;
	s->shape.shared_bytes = (uint32_t)shared;
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

int kernelspec_read(const struct cli *c, struct spec *s)
{
	return read_one(c, false, s);
}

int kernelspec_will_write(const struct cli *c, const struct spec *specs, unsigned n)
{
	int r = CLI_OK;

	for (unsigned k = 0; k < n; k++)
		for (unsigned i = 0; r == CLI_OK && i < specs[k].n_args; i++) {
			const char *path = specs[k].args[i].out_path;

			if (path && strcmp(path, "-") != 0)
				r = cli_will_write(c, path, "name another file: ARG>FILE");
		}
	return r;
}

int kernelspec_read_words(const struct cli *whole, struct arena *arena, unsigned number,
	bool any_grid, char **words, int n, struct spec *ret)
{
	struct cli c = {.verb = &part, .whole = whole, .number = number};
	int r;

	c.operands = ARENA_ARRAY(arena, char *, (size_t)n + 1);
	if (!c.operands)
		return cli_error(whole, NULL, "out of memory");
	r = cli_parse(&c, n, words);
	*ret = (struct spec){.arena = arena};
	return r == CLI_OK ? read_one(&c, any_grid, ret) : r;
}

int kernelspec_read_all(const struct cli *c, struct arena *arena, unsigned max, bool any_grid,
	struct spec *ret, unsigned *ret_n)
{
	unsigned n = 0;
	int from = 0, r = CLI_OK;

	for (int i = 0; r == CLI_OK && i <= c->n_operands; i++) {
		if (i < c->n_operands && strcmp(c->operands[i], "+") != 0)
			continue;
		if (n == max)
			return cli_usage(c, "more than %u kernel%s", max, PLURAL(max, "s"));
		r = kernelspec_read_words(
			c, arena, n + 1, any_grid, c->operands + from, i - from, &ret[n]);
		n++;
		from = i + 1;
	}
	*ret_n = n;
	return r;
}
