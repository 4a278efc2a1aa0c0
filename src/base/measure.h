/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The clock, and what is made of measured values. */
#ifndef HEDDLE_MEASURE_H
#define HEDDLE_MEASURE_H

#include <stddef.h>
#include <stdint.h>

uint64_t clock_ns(void); /* CLOCK_MONOTONIC */
double clock_ms(void);   /* the same */

void sort_values(double *values, size_t n); /* the least first */
/* Sorts them. The mean of the two in the middle where n is even; 0 where it is 0. */
double median_of(double *values, size_t n);

#endif
