/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads of chosen lengths from the kernel burn, for the two programs that measure latency. */
#ifndef HEDDLE_EXAMPLES_LOAD_H
#define HEDDLE_EXAMPLES_LOAD_H

#include "common.h"

struct load_option {
	const char *name, *help;
	double *value;
};

/* Parses options with a number, and --json, --ptx, --toolchain, --log. Returns 0, or an exit status
 * + 1. */
int load_parse(int argc, char **argv, const struct load_option *options, struct ex_options *o);
/* Opens the device, and prepares a launch of `blocks` blocks (0: four times as many as fit) of
 * *rounds rounds each. If *rounds is 0, sets it to the number of rounds that take `block_us` while
 * the device is full of such blocks, or while they are alone if they do not fill it. */
int load_open(const struct ex_options *o, uint32_t blocks, uint32_t threads, double block_us,
	double *rounds, struct ex_work *ret_work);
/* Reports that the load is about to begin, and its number of rounds. */
void load_ready(const struct ex_options *o, double rounds);
/* With --log, prints a line for each launch: start (CLOCK_MONOTONIC, ns) and turnaround. Call it
 * before load_report. */
void load_log(const struct ex_options *o, const uint64_t *start_ns, const double *us, size_t count);
/* Prints the count, median, 99th percentile and maximum of the turnarounds, and sorts them. */
void load_report(const struct ex_options *o, double *us, size_t count, double kernel_us);

#endif
