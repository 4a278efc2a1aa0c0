/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Clock, and statistics of measured values. */
#ifndef HEDDLE_MEASURE_H
#define HEDDLE_MEASURE_H

#include <stddef.h>
#include <stdint.h>

uint64_t clock_ns(void); /* CLOCK_MONOTONIC */
double clock_ms(void);   /* the same, in ms */

void sort_values(double *values, size_t n); /* in ascending order */
/* Sorts the values and returns their median: for an even n, the mean of the two middle values; for
 * n = 0, 0. */
double median_of(double *values, size_t n);

#endif
