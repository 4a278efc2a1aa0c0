/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle help: the list of verbs, or one verb's help. */
#include "cli/cli.h"

#include <string.h>

static int run(struct cli *c)
{
	struct strbuf name = {0};
	bool group = false;
	size_t len;

	if (!c->n_operands) {
		cli_help_all(NULL, &c->out);
		return CLI_OK;
	}
	strbuf_printf(&name, "%s%s%s", c->operands[0], c->n_operands > 1 ? " " : "",
		c->n_operands > 1 ? c->operands[1] : "");
	len = name.len;
	for (unsigned i = 0; !name.failed && i < cli_verbs_len; i++) {
		const struct cli_verb *v = cli_verbs[i];

		if (strcmp(v->name, name.at) == 0) {
			cli_help_verb(v, &c->out);
			strbuf_finish(&name);
			return CLI_OK;
		}
		group |= strncmp(v->name, name.at, len) == 0 && v->name[len] == ' ';
	}
	strbuf_finish(&name);
	if (!group)
		return cli_error(c, "heddle help lists them", "no such verb: '%s'", c->operands[0]);
	cli_help_all(c->operands[0], &c->out);
	return CLI_OK;
}

const struct cli_verb cli_verb_help = {
	.name = "help",
	.operands = "[VERB]",
	.summary = "list the verbs, or say more about one",
	.max_operands = 2,
	.run = run,
};
