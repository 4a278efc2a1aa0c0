/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle version. */
#include "cli/cli.h"

static int run(struct cli *c)
{
	struct json j;

	if (!c->json) {
		strbuf_puts(&c->out, "heddle " HEDDLE_VERSION "\n");
		return CLI_OK;
	}
	cli_json_open(c, &j, 1);
	json_str(&j, "version", HEDDLE_VERSION);
	json_end(&j, '}');
	return CLI_OK;
}

const struct cli_verb cli_verb_version = {
	.name = "version",
	.operands = "",
	.summary = "print the version",
	.json = "version.",
	.run = run,
};
