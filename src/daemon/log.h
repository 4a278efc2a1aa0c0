/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The daemon's log. Each message is one line on standard error. */
#ifndef HEDDLE_DAEMON_LOG_H
#define HEDDLE_DAEMON_LOG_H

#include "base/base.h"

/* As words: "error", "warning", "info", "debug". */
enum hd_log_level { HD_LOG_ERROR, HD_LOG_WARNING, HD_LOG_INFO, HD_LOG_DEBUG };

/* Drops messages of levels above this one (default: info). */
void hd_log_set_level(uint32_t level);
int hd_log_level_parse(const char *word, uint32_t *ret); /* 0 or -EINVAL */
void hd_log_at(enum hd_log_level level, const char *fmt, ...) HD_PRINTF(2, 3);
/* Logs an error just before _exit; any thread may call it. Takes no locks, and drops the message if
 * writing would block. */
void hd_log_last(const char *fmt, ...) HD_PRINTF(1, 2);
/* Limits the rate of lines that other programs can cause at will: 20 lines a second. */
struct hd_log_limit {
	uint64_t since_ns;
	uint32_t n; /* number of lines since since_ns, including dropped ones */
};
/* Returns true if this line may be logged. In each new second, first logs how many lines were
 * dropped before: "WHAT N more". */
bool hd_log_may(struct hd_log_limit *l, uint64_t now_ns, enum hd_log_level level, const char *what);
/* Returns buf (16 bytes) with the name of the priority: "low", "normal", "high", or its number. */
const char *hd_priority_name(int priority, char *buf);
/* Logs a warning. */
#define hd_log(...) hd_log_at(HD_LOG_WARNING, __VA_ARGS__)

#endif
