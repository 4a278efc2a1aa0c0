/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle ps lists the tenants, and below each tenant its launches. */
#include <unistd.h>

#include "cli/listing.h"
#include "front/ask.h"
#include "front/cli.h"
#include "front/progress.h"

static int run_ps(struct cli *c)
{
	const char *socket = cli_value(c, "socket");
	struct listing l = {0};
	struct json j;
	int r = listing_ask(socket, &l);

	if (r < 0) {
		listing_finish(&l);
		return ask_failed(c, socket, r);
	}
	if (c->json) {
		cli_json_open(c, &j, 2);
		listing_json(&l, &j);
		json_end(&j, '}');
	} else {
		listing_text(&l, terminal_columns(STDOUT_FILENO), &c->out);
	}
	listing_finish(&l);
	return CLI_OK;
}

static const struct cli_option options[] = {
	{0, "socket", "PATH", "the daemon's socket"},
	{0},
};

const struct cli_verb cli_verb_ps = {
	.name = "ps",
	.operands = "",
	.summary = "list tenants and their kernels",
	.details = "One line for each tenant, and below it one for each launch that heddled knows: "
		   "how often it was preempted, how much of it is done, how long it ran, how long "
		   "it waited for SMs, and how long it may still take. The times of a tenant are "
		   "the sums of those of its launches, and RAN includes no wait. SHARE (policy "
		   "ffs): the tenant's part of the time since tenants last changed, and the part "
		   "that its weight entitles it to. UNMANAGED: the most frequent reason of "
		   "launches that are not managed (heddle run -v explains it). A dash is an "
		   "unknown value. A narrow terminal shows fewer columns; a line below the table "
		   "names the missing ones.",
	.json = LISTING_JSON,
	.options = options,
	.run = run_ps,
};
