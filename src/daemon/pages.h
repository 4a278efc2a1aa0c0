/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the tenants' pages (pages.c): launches, their progress, and what their tenant asks for. */
#ifndef HEDDLE_DAEMON_PAGES_H
#define HEDDLE_DAEMON_PAGES_H

#include "daemon.h"

/* Returns true if that work has changed. */
bool hd_look_at_opaque(struct hd *d, struct hd_tenant *t);
/* Sets how far unmanaged (opaque) launches may pass the gates in their streams: without limit, or,
 * while the tenant is held, at most one launch at a time. */
void hd_let_pass(struct hd_tenant *t);
void hd_slot_index(const struct hd_slot *s); /* updates hd_tenant.stage */
/* Reads from the page whether the tenant asks heddled to leave its quotas as they are ("pin"), and
 * the times of the tenant's copies. Call it before each decision, because the decision must obey
 * the request. */
void hd_look_at_pin(struct hd *d, struct hd_tenant *t);
void hd_scan_tenant(struct hd *d, struct hd_tenant *t, bool whole);
/* Updates the progress of arrived launches, and notices when the next launch arrives. This is
 * fast. */
void hd_scan_known(struct hd *d, struct hd_tenant *t);
/* For a tenant that leaves: learns from its launches that have ended. */
void hd_scan_last(struct hd *d, struct hd_tenant *t);
/* Returns the time that the launch ran, as far as this is known, and the time that it waited. */
uint64_t hd_slot_ran(const struct hd_slot *s, const struct sched_info *info);
uint64_t hd_slot_waited(const struct hd_slot *s, const struct sched_info *info);
/* Writes the tenant's totals to its page. */
void hd_tell_figures(struct hd *d, struct hd_tenant *t, bool left);

#endif
