/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle version prints the version of the release and the commit that it was built from. */
#include "commit_gen.h"
#include "front/cli.h"

#include <string.h>

static int run_version(struct cli *c)
{
	struct json j;

	cli_show(c, "heddle " HEDDLE_VERSION " (commit " HEDDLE_COMMIT ")\n");
	cli_json_open(c, &j, 1);
	json_str(&j, "version", HEDDLE_VERSION);
	json_str(&j, "commit", strcmp(HEDDLE_COMMIT, "unknown") ? HEDDLE_COMMIT : NULL);
	json_end(&j, '}');
	return CLI_OK;
}

const struct cli_verb cli_verb_version = {
	.name = "version",
	.operands = "",
	.summary = "print the version and its commit",
	.json = "version, commit (null: not known; -dirty at the end: built with local changes).",
	.run = run_version,
};
