/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ends the process when a call into foreign code takes too long. A thread of its own looks on, as
 * such code may block signals. One at a time. */
#ifndef HEDDLE_DAEMON_WATCHDOG_H
#define HEDDLE_DAEMON_WATCHDOG_H

#include "base/base.h"

/* From here on calls are looked at, until watchdog_stop. 0 or negative errno. */
int watchdog_start(void);
void watchdog_stop(void);
/* Around each call. name: of the policy; call: what it is, a literal. Both are for the message, and
 * valid until watchdog_leave. */
void watchdog_enter(const char *name, const char *call);
void watchdog_leave(void);

#endif
