/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle help prints the list of verbs, or the help of one verb. */
#include "front/cli.h"

#include <string.h>

/* Returns whether the verb has this name or belongs to the group of this name. */
static bool is_selected(const struct cli_verb *v, const char *name)
{
	size_t len = strlen(name);

	return !len || (strncmp(v->name, name, len) == 0 && (!v->name[len] || v->name[len] == ' '));
}

static void print_json(struct cli *c, const char *name)
{
	struct json j;

	cli_json_open(c, &j, 1);
	json_begin_array(&j, "verbs");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		struct strbuf synopsis = {0};

		if (!is_selected(cli_verbs[i], name))
			continue;
		cli_synopsis(cli_verbs[i], &synopsis);
		json_begin_object(&j, NULL);
		json_str(&j, "name", cli_verbs[i]->name);
		json_str(&j, "summary", cli_verbs[i]->summary);
		json_str(&j, "synopsis", synopsis.at);
		json_end(&j, '}');
		strbuf_finish(&synopsis);
	}
	json_end(&j, ']');
	json_end(&j, '}');
}

static void no_such_verb(const struct cli *c, const char *name)
{
	const struct cli_verb *near = cli_near_verb(
		c->n_operands > 1 ? c->operands[0] : NULL, c->operands[c->n_operands - 1]);

	if (near)
		cli_usage(c, "no such verb: '%s'; %s is one", name, near->name);
	else
		cli_usage(c, "no such verb: '%s'", name);
}

static int run_help(struct cli *c)
{
	const struct cli_verb *one = NULL;
	struct strbuf name = {0};
	unsigned n = 0;

	strbuf_puts(&name, c->n_operands ? c->operands[0] : "");
	for (int i = 1; i < c->n_operands; i++)
		strbuf_printf(&name, " %s", c->operands[i]);
	if (name.failed)
		return cli_error(c, NULL, "out of memory");
	for (unsigned i = 0; i < cli_verbs_len; i++)
		if (is_selected(cli_verbs[i], name.at)) {
			one = cli_verbs[i];
			n++;
		}
	if (!n)
		no_such_verb(c, name.at);
	else if (c->json)
		print_json(c, name.at);
	else if (n == 1 && strcmp(one->name, name.at) == 0)
		cli_help_verb(one, &c->out);
	else
		cli_help_all(name.len ? c->operands[0] : NULL, &c->out);
	strbuf_finish(&name);
	return n ? CLI_OK : CLI_USAGE;
}

const struct cli_verb cli_verb_help = {
	.name = "help",
	.operands = "[VERB]",
	.summary = "list the verbs, or describe one",
	.json = "verbs, an array of name, summary, synopsis.",
	.max_operands = 2,
	.run = run_help,
};
