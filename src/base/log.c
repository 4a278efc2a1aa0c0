/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The log callback, for messages of libraries that no return value can carry. Until a caller sets
 * one, messages are dropped. */
#include "diag.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* Guards log_current and log_user, which always change together. log_current is called after this
 * lock is released, so that the called function can itself write to the log or replace
 * log_current. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static log_fn *log_current;
static void *log_user;

void log_set(log_fn *fn, void *user)
{
	pthread_mutex_lock(&log_lock);
	log_current = fn;
	log_user = user;
	pthread_mutex_unlock(&log_lock);
}

void log_printf(enum diag_level level, const char *fmt, ...)
{
	char line[1024];
	log_fn *fn;
	void *user;
	va_list ap;

	pthread_mutex_lock(&log_lock);
	fn = log_current;
	user = log_user;
	pthread_mutex_unlock(&log_lock);
	if (!fn)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fn(user, level, line);
}
