/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddled's command line. It reads the configuration files, applies the options, and then serves.
 * --set KEY=VALUE, and options that are named after a key, apply in the order in which they are
 * given. --events and --temporal apply after all of those. The exit status is 0, 1 after a failure,
 * or 2 for wrong usage. */
#include "cli/heddled.h"
#include "base/environment.h"
#include "commit_gen.h"
#include "daemon/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_verb *const verbs[] = {&cli_heddled};

/* KEY=VALUE from --set and from options that are named after a key, in order */
static VEC(const char *) pairs;
static const char *const keys[] = {"policy", "mps", "socket", "log"};

int heddled_option(struct cli *c, const struct cli_option *o, const char *value)
{
	char *pair = NULL;

	if (strcmp(o->name, "set") == 0 && !strchr(value, '='))
		return cli_usage(c, "--set: '%s' is not KEY=VALUE", value);
	if (strcmp(o->name, "set") == 0)
		return VEC_PUSH(&pairs, value) ? 0 : CLI_FAILED;
	for (unsigned i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(o->name, keys[i]) == 0 &&
			(asprintf(&pair, "%s=%s", keys[i], value) < 0 || !VEC_PUSH(&pairs, pair)))
			return CLI_FAILED;
	}
	return 0;
}

/* Applies the command line's options to config, which already has the values of the files. */
static int apply_options(struct cli *c, struct hd_config *config)
{
	const char *events = cli_value(c, "events");

	for (size_t i = 0; i < pairs.len; i++) {
		const char *eq = strchr(pairs.at[i], '=');
		char key[64], why[512];
		int r;

		snprintf(key, sizeof(key), "%.*s", (int)(eq - pairs.at[i]), pairs.at[i]);
		r = config_set(config, key, eq + 1);
		if (r < 0) {
			config_explain(r, key, eq + 1, why, sizeof(why));
			return cli_usage(c, "%s", why);
		}
	}
	if (events && snprintf(config->events, sizeof(config->events), "%s", events) >=
			      (int)sizeof(config->events))
		return cli_usage(c, "--events: too long");
	config->temporal |= cli_has(c, "temporal");
	return 0;
}

/* Reads the configuration files, and then applies the options. config_read itself reports errors in
 * the files. */
static int read_all(struct hd_config *ret, void *user)
{
	struct cli *c = user;
	const char *root = cli_value(c, "config-root");
	int r;

	config_defaults(ret);
	r = config_read(ret, root ? root : "") < 0 ? CLI_FAILED : apply_options(c, ret);
	return -r;
}

static int serve_heddled(struct cli *c)
{
	struct hd_config config;
	int r;

	if (cli_has(c, "version")) {
		puts("heddled " HEDDLE_VERSION " (commit " HEDDLE_COMMIT ")");
		return CLI_OK;
	}
	r = -read_all(&config, c);
	if (cli_has(c, "check-config")) {
		if (r == CLI_OK && policy_check(&config) < 0)
			r = CLI_FAILED;
		if (c->json)
			printf("{\n  \"schema\": 1,\n  \"command\": \"heddled\",\n  \"ok\": "
			       "%s\n}\n",
				r ? "false" : "true");
		else if (r == CLI_OK)
			puts("the configuration is in order");
		return r;
	}
	return r ? r : heddled_serve(&config, read_all, c);
}

static void warn_of_environment(void *user, enum env_variable which, const char *line)
{
	(void)which;
	cli_warn(user, "%s", line);
}

int main(int argc, char **argv)
{
	struct cli c = {.verb = &cli_heddled};
	int r;

	if (!heddled_open_standard_fds())
		return CLI_FAILED;
	cli_set_verbs(verbs, 1);
	c.operands = calloc((size_t)argc + 1, sizeof(*c.operands));
	if (!c.operands)
		return cli_error(&c, NULL, "out of memory");
	r = cli_parse(&c, argc - 1, argv + 1);
	if (r < 0) {
		cli_help_verb(&cli_heddled, &c.out);
		fputs(c.out.at ? c.out.at : "", stdout);
		strbuf_finish(&c.out);
		r = CLI_OK;
	} else if (r == CLI_OK) {
		env_check(warn_of_environment, &c);
		r = serve_heddled(&c);
	}
	free(c.operands);
	return r;
}
