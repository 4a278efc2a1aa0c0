/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The code that both device implementations (driver.c, rt/runtime.cu) share: exd_upload, exd_reset
 * and exd_download. They use four functions on single buffers that the including file defines. If
 * one of those fails, it has already reported the error. */
#ifndef HEDDLE_EXAMPLES_DEVICE_H
#define HEDDLE_EXAMPLES_DEVICE_H

#include "common.h"

/* failed() prints what went wrong, and is 0 if nothing did. */
#define TRY(call)                          \
	do {                               \
		if (failed((call), #call)) \
			return -1;         \
	} while (0)

/* Buffer k, in d.memory[k]. */
static int allocate(unsigned k, size_t bytes);
static int copy_in(unsigned k, const struct ex_buffer *b);
static int copy_out(unsigned k, const struct ex_buffer *b);
static int clear(unsigned k, size_t bytes); /* to 0xff bytes, on the stream */
static void free_memory(void);              /* all d.buffers of them */

int exd_upload(const struct ex_work *w)
{
	free_memory();
	for (unsigned k = 0; k < w->buffers; k++) {
		const struct ex_buffer *b = &w->buffer[k];
		if (allocate(k, b->bytes) || (!b->out && copy_in(k, b)))
			return -1;
	}
	return 0;
}

int exd_reset(const struct ex_work *w)
{
	for (unsigned k = 0; k < w->buffers; k++)
		if (w->buffer[k].out && clear(k, w->buffer[k].bytes))
			return -1;
	return exd_wait();
}

int exd_download(const struct ex_work *w)
{
	for (unsigned k = 0; k < w->buffers; k++)
		if (w->buffer[k].out && copy_out(k, &w->buffer[k]))
			return -1;
	return 0;
}

#endif
