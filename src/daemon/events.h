/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The event log in JSON lines (doc/events.md). It is NULL if heddled keeps none. */
#ifndef HEDDLE_DAEMON_EVENTS_H
#define HEDDLE_DAEMON_EVENTS_H

#include <stdint.h>

struct hd;
struct hd_events;
struct hd_slot;
struct hd_tenant;
struct sched_journal;

int hd_events_open(const char *path, struct hd_events **ret);
void hd_events_close(struct hd_events *e);
/* The journal of all engines (sched/engine/journal.h); NULL if e is NULL. */
struct sched_journal *hd_events_journal(const struct hd_events *e);
void hd_events_flush(struct hd_events *e); /* call it only if no decision is pending */
void hd_event_tenant(struct hd *d, const char *what, const struct hd_tenant *t);
void hd_event_launch(struct hd *d, const char *what, const struct hd_slot *s, uint32_t n_sms);

#endif
