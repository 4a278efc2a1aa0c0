/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The daemon's log: one line a message, on standard error. */
#ifndef HEDDLE_DAEMON_LOG_H
#define HEDDLE_DAEMON_LOG_H

#include "base/base.h"

/* As words: error, warning, info, debug. */
enum hd_log_level { HD_LOG_ERROR, HD_LOG_WARNING, HD_LOG_INFO, HD_LOG_DEBUG };

/* Messages beyond this level are left out; info where nobody says. */
void hd_log_set_level(uint32_t level);
int hd_log_level_parse(const char *word, uint32_t *ret); /* 0 or -EINVAL */
void hd_log_at(enum hd_log_level level, const char *fmt, ...) HD_PRINTF(2, 3);
/* An error, from any thread, ahead of _exit: takes no locks, and is lost where it would wait. */
void hd_log_last(const char *fmt, ...) HD_PRINTF(1, 2);
/* Of lines that others bring about as often as they like so many are logged a second. */
struct hd_log_limit {
	uint64_t since_ns;
	uint32_t n; /* since then there have been, or would have */
};
/* May this one be? Ahead of the next second's first, how many more there were is said: "WHAT N
 * more". */
bool hd_log_may(struct hd_log_limit *l, uint64_t now_ns, enum hd_log_level level, const char *what);
/* "low", "normal", "high", or the number, in buf of 16 bytes, which is returned. */
const char *hd_priority_name(int priority, char *buf);
/* A warning. */
#define hd_log(...) hd_log_at(HD_LOG_WARNING, __VA_ARGS__)

#endif
