/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Keeps the kernel records across restarts in heddled.db, in heddled's state folder. heddled reads
 * the file when it starts. While records change, a separate thread writes them every few seconds;
 * when heddled ends, the main thread writes the rest. The main loop only copies changed records,
 * and does not do so while a preempted launch is leaving. If the file cannot be read or written,
 * heddled logs one line and works without it. */
#ifndef HEDDLE_DAEMON_KEEPER_H
#define HEDDLE_DAEMON_KEEPER_H

#include "daemon.h"

struct keeper;
/* Fills d->durations from the file. Returns NULL if no file is kept: because the configuration says
 * so, or after a failure, which was logged. */
struct keeper *keeper_start(const struct hd_config *c, struct hd *d);
/* Passes changed records to the thread if it is time to do so. Returns the time of the next call,
 * or UINT64_MAX if nothing has changed. Here and below, k may be NULL. */
uint64_t keeper_look(struct keeper *k, uint64_t now_ns);
/* Writes all changed records, then frees k. */
void keeper_stop(struct keeper *k);

#endif
