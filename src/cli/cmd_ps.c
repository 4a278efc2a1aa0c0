/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle ps: tenants, and below each its launches. */
#include <errno.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/listing.h"
#include "cli/progress.h"

static int run_ps(struct cli *c)
{
	const char *socket = cli_value(c, "socket");
	struct listing l = {0};
	struct json j;
	int r = ask_list(socket, listing_add, &l);

	if (r == 0 && l.failed)
		r = -ENOMEM;
	if (r < 0) {
		listing_finish(&l);
		return ask_failed(c, socket, r);
	}
	if (c->json) {
		cli_json_open(c, &j, 2);
		json_begin_array(&j, "tenants");
		listing_json(&l, &j);
		json_end(&j, ']');
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
	.json = "tenants, an array of tenant, pid, uid, user, priority (high, normal, low, or a "
		"number), "
		"weight, share_wanted and share_had (percent of the device's time; null: no policy "
		"of "
		"shares), class, device, device_name, age_ns, launched (how many launches so far) "
		"and of these managed, guard, gated, plain, opaque, unseen, reasons (an array of "
		"reason, outcome, launches), name, state (idle, "
		"queued, running, preempted, held), preemptions, ran_ns (null: not known), "
		"waited_ns "
		"and launches: an array of launch, blocks, finished, predicted_ns and remaining_ns "
		"(null: not known), name, state, preemptions, ran_ns, waited_ns.",
	.options = options,
	.run = run_ps,
};
