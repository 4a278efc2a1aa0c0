/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Keeps the records of kernels across restarts in heddled.db, in heddled's state folder. heddled
 * reads the file when it starts. A separate thread writes it every few seconds and when heddled
 * ends. The loop only copies changed records, while no preempted launch is leaving. If the file
 * cannot be read or written, heddled logs one line and works without it. */
#ifndef HEDDLE_DAEMON_KEEPER_H
#define HEDDLE_DAEMON_KEEPER_H

#include "daemon.h"

struct keeper;
/* Fills d->durations. NULL: nothing is kept; a failure was logged. */
struct keeper *keeper_start(const struct hd_config *c, struct hd *d);
/* Passes changed records to the thread, if it is time. Returns the time of the next call;
 * UINT64_MAX: nothing has changed. k may be NULL here and below. */
uint64_t keeper_look(struct keeper *k, uint64_t now_ns);
/* Writes all changed records, and frees k. */
void keeper_stop(struct keeper *k);

#endif
