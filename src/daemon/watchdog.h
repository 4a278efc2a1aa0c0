/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ends the process if a call into a policy's code takes too long. A separate thread checks this,
 * because the policy's code may block signals. The thread watches one call at a time. */
#ifndef HEDDLE_DAEMON_WATCHDOG_H
#define HEDDLE_DAEMON_WATCHDOG_H

#include "base/base.h"

/* Sets what is called before the process ends, in the watchdog's thread. Call this first. */
void watchdog_report(void (*fn)(const char *name, const char *call));
/* Starts the thread that watches calls until watchdog_stop. Returns 0 or a negative errno. */
int watchdog_start(void);
void watchdog_stop(void);
/* Call these before and after each call into a policy. name: the policy; call: a literal that names
 * the call. The message uses both, so they must be valid until watchdog_leave. */
void watchdog_enter(const char *name, const char *call);
void watchdog_leave(void);

#endif
