/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The lines that the shim prints, what it tells `heddle run -v`, and its clock. */
#ifndef HEDDLE_SHIM_SAY_H
#define HEDDLE_SHIM_SAY_H

#include <stdint.h>

/* Prints one line on standard error: "heddle: ", then `text` and `more`. */
void shim_say(const char *text, const char *more);
/* Prints one line on standard error. Later calls in the same process print nothing. */
void shim_warn(const char *why);
#define REPORT_MS 200 /* timeout for sending to heddle run -v */
/* Tells `heddle run -v`, if it listens, why this process is no tenant (yet). A failure does no
 * harm. */
void shim_tell_watcher(const char *why);

uint64_t shim_now_ns(void); /* time of CLOCK_MONOTONIC */

#endif
