/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Opens libheddle on the virtual GPU for the cases of one file; opened_pool.h adds tasks. */
#ifndef HEDDLE_TESTS_RT_OPENED_H
#define HEDDLE_TESTS_RT_OPENED_H

#include "heddle/heddle.h"

#include <stdio.h>

static struct heddle *h;
static uint64_t at; /* memory on the device */

/* Fails the group's setup if r is an error, and prints it. */
static inline int opened(int r)
{
	if (r < 0)
		fprintf(stderr, "%s\n", heddle_error(h));
	return r;
}

static int close_it(void **state)
{
	heddle_close(h);
	return 0;
}

#endif
