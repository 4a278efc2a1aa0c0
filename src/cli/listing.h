/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Formats tenants and their launches as ps and top show them. This code uses neither a terminal nor
 * a connection to heddled. */
#ifndef HEDDLE_CLI_LISTING_H
#define HEDDLE_CLI_LISTING_H

#include "base/base.h"
#include "base/json.h"
#include "wire/wire.h"

struct listing {
	/* in the order in which heddled sends them: a tenant, then its launches */
	VEC(struct wire_row) rows;
	bool failed; /* memory ran out, so some rows are missing */
};

/* Writes the launch counts for each outcome, and the key "reasons" (wire_reasons_json), into the
 * open JSON object. */
void listing_json_launches(const uint64_t launched[WIRE_REASONS], struct json *j);
/* Adds a row that heddled sent; user is the listing. For ask_list. */
void listing_add(void *user, const struct wire_row *row);
/* Asks heddled for its tenants and launches. *ret must be all zeros before the call, and socket is
 * as for ask_list. Returns 0, an error of ask_list, or -ENOMEM. Call listing_finish even after an
 * error. */
int listing_ask(const char *socket, struct listing *ret);
void listing_finish(struct listing *l);
/* Formats the listing as lines that are at most `columns` wide (0: no limit). Leaves out table
 * columns that do not fit, and names them below the table. */
void listing_text(const struct listing *l, unsigned columns, struct strbuf *out);
/* Writes the key "tenants" with an array of the listing's tenants into the open JSON object. */
void listing_json(const struct listing *l, struct json *j);
/* Describes the key "tenants", for the help of verbs. */
#define LISTING_JSON                                                                               \
	"tenants, an array of tenant, pid, uid, user, priority (high, normal, low, or a number), " \
	"weight, share_wanted and share_had (percent of the device's time; null: no policy of "    \
	"shares), class, device, device_name, age_ns, launched (how many launches so far) and of " \
	"these managed, guard, gated, plain, opaque, unseen, reasons (an array of reason, "        \
	"outcome, launches), name, state (idle, queued, running, preempted, held), preemptions, "  \
	"ran_ns (null: not known), waited_ns and launches: an array of launch, blocks, finished, " \
	"predicted_ns and remaining_ns (null: not known), name, state, preemptions, ran_ns, "      \
	"waited_ns."

#endif
