/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What heddled has learnt of kernels, across restarts: heddled.db in its state folder is read when
 * heddled starts, and written by a thread of its own, every few seconds and when heddled ends. The
 * loop only copies what has changed, while no launch is on its way out. A file that cannot be read
 * or written costs one line, and heddled goes on without. */
#ifndef HEDDLE_DAEMON_KEEPER_H
#define HEDDLE_DAEMON_KEEPER_H

#include "daemon.h"

struct keeper;
/* Fills d->durations. NULL: nothing is kept, which was said if it should be. */
struct keeper *keeper_start(const struct hd_config *c, struct hd *d);
/* Hands over what has changed, if it is time. When to look again; UINT64_MAX: nothing has. k may be
 * NULL here and below. */
uint64_t keeper_look(struct keeper *k, uint64_t now_ns);
/* Writes all that has changed, and frees k. */
void keeper_stop(struct keeper *k);

#endif
