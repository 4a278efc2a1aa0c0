/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See measure.h. */
#include "base/measure.h"

#include <stdlib.h>
#include <time.h>

uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double clock_ms(void)
{
	return (double)clock_ns() / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void sort_values(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
}

double median_of(double *values, size_t n)
{
	if (n == 0)
		return 0;
	sort_values(values, n);
	return (values[n / 2] + values[(n - 1) / 2]) / 2;
}
