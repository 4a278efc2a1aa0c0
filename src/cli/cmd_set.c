/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle set changes the priority or weight of a running tenant. */
#include <errno.h>
#include <string.h>

#include "front/ask.h"
#include "front/cli.h"

static int run_set(struct cli *c)
{
	const char *word = cli_value(c, "priority"), *socket = cli_value(c, "socket");
	uint64_t tenant = 0, weight = 0;
	struct json j;
	int r = cli_parse_number(c, "TENANT", c->operands[0], 1, UINT32_MAX, &tenant);

	if (r)
		return r;
	if (cli_has(c, "weight"))
		r = cli_number(c, "weight", 1, WIRE_WEIGHT_MAX, &weight);
	if (r)
		return r;
	if (!word && !weight)
		return cli_usage(c, "-p or -w is missing");
	r = ask_set(socket, (uint32_t)tenant, word ? ask_priority(word) : WIRE_AS_IT_IS,
		(uint32_t)weight);
	if (r == -ESRCH)
		return cli_error(c, "heddle ps lists them", "no tenant %u", (unsigned)tenant);
	if (r == -EPERM)
		return cli_error(c,
			"one's own tenants, up to what is granted; the daemon's user and root may "
			"all",
			"tenant %u: %s%s%s is not for this user to give", (unsigned)tenant,
			word ? "priority " : "this weight", word ? word : "",
			word && weight ? ", or this weight," : "");
	if (r < 0)
		return ask_failed(c, socket, r);
	cli_json_open(c, &j, 1);
	json_uint(&j, "tenant", tenant);
	if (word)
		json_str(&j, "priority", word);
	if (weight)
		json_uint(&j, "weight", weight);
	json_end(&j, '}');
	return CLI_OK;
}

static const struct cli_option options[] = {
	{'p', "priority", "high|normal|low", "new scheduling priority"},
	{'w', "weight", "N", "new weight, its share of time, 1 to 1000 (policy ffs)"},
	{0, "socket", "PATH", "the daemon's socket"},
	{0},
};

const struct cli_verb cli_verb_set = {
	.name = "set",
	.operands = "TENANT",
	.summary = "change the priority or the weight of a tenant",
	.details = "TENANT is its number in heddle ps. You may set your own tenants, to a priority "
		   "and weight that heddled would grant to a new one; root and the daemon's user "
		   "may set all. Priorities that the driver got when the program started do not "
		   "change: those of streams, and under MPS that of the client.",
	.json = "tenant, priority (if given), weight (if given).",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
	.run = run_set,
};
