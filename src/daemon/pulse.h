/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Watches heddled's own loop: logs what took long in it, and tells the service manager's watchdog
 * that the loop still runs. */
#ifndef HEDDLE_DAEMON_PULSE_H
#define HEDDLE_DAEMON_PULSE_H

#include <stdint.h>

struct conn;
struct server;

#define PULSE_SLOW_NS 100000000u

struct pulse {
	uint64_t step_ns; /* when the current step of the loop began */
	/* half of WatchdogSec (0: no watchdog); when the next report is due */
	uint64_t watchdog_ns, notify_ns;
};

/* Reads the interval from WATCHDOG_USEC (sd_watchdog_enabled(3)). */
void pulse_start(struct server *s);
/* Call this after the loop has slept: the first step begins. */
void pulse_begin(struct server *s);
/* Ends a step. If it took longer than PULSE_SLOW_NS, logs `what`, and of whom (c: or NULL). */
void pulse_step(struct server *s, const char *what, const struct conn *c);
/* Reports to the watchdog if a report is due. Returns when the next is due, as a time of loop_now, or
 * UINT64_MAX. */
uint64_t pulse_report(struct server *s);

#endif
