/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle set: another priority for a tenant that runs. */
#include <errno.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/cli.h"

static int run(struct cli *c)
{
	const char *word = cli_value(c, "priority"), *socket = cli_value(c, "socket");
	uint64_t tenant = 0;
	struct json j;
	int r = cli_parse_number(c, "TENANT", c->operands[0], 1, UINT32_MAX, &tenant);

	if (r)
		return r;
	if (!word)
		return cli_usage(c, "-p is missing");
	r = ask_set(socket, (uint32_t)tenant, ask_priority(word));
	if (r == -ESRCH)
		return cli_error(c, "heddle ps lists them", "no tenant %u", (unsigned)tenant);
	if (r == -EPERM)
		return cli_error(c,
			"one's own tenants, up to what is granted; the daemon's user and root may "
			"all",
			"tenant %u: priority %s is not for this user to give", (unsigned)tenant,
			word);
	if (r < 0)
		return ask_failed(c, socket, r);
	if (c->json) {
		cli_json_open(c, &j, 1);
		json_uint(&j, "tenant", tenant);
		json_str(&j, "priority", word);
		json_end(&j, '}');
	}
	return CLI_OK;
}

static const struct cli_option options[] = {
	{'p', "priority", "high|normal|low", "what it is worth from now on"},
	{0, "socket", "PATH", "the daemon's socket"},
	{0},
};

const struct cli_verb cli_verb_set = {
	.name = "set",
	.operands = "TENANT",
	.summary = "change the priority of a tenant that runs",
	.details =
		"TENANT is its number in heddle ps. For one's own tenants, as far as the "
		"priority would be granted to a new one; root and the daemon's user may set all. "
		"What the driver was told as the program started stays: stream priorities, and "
		"under MPS the client's.",
	.json = "tenant, priority.",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
