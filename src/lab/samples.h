/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Samples that a part of the laboratory has measured, row by row. A row is the smallest unit that is
 * measured at once, such as a pair of programs in one arrangement. It has a key, and an object of
 * named arrays of numbers (or of names): the raw samples. Figures are computed from rows alone, so a row may come
 * from this call or from the file of --resume:
 *
 *     {"device": ..., "options": ..., "row": KEY, "samples": {NAME: [NUMBER, ...], ...}}
 *
 * one object on each line. Each new row is appended to the file at once. With --budget-s no row begins
 * after that time, and a later call with the same file continues. */
#ifndef HEDDLE_LAB_SAMPLES_H
#define HEDDLE_LAB_SAMPLES_H

#include <jansson.h>

#include "front/cli.h"

struct samples {
	struct cli *c;
	const char *path;     /* of --resume; NULL: no file */
	const char *device;   /* the caller's */
	const char *options;  /* the caller's: options on which samples depend */
	json_t *rows;         /* by key, in the order in which they were measured */
	double until_ms;      /* by clock_ms; 0: no limit */
	unsigned begun, left; /* rows that began in this call; rows without time */
};

/* Checks before long work that the file of --resume can be written. Returns CLI_OK, or CLI_FAILED after it
 * reports the error. */
int samples_check(const struct cli *c);
/* Reads --resume and --budget-s of the verb, and the rows of the file. Returns CLI_OK, or CLI_FAILED or
 * CLI_USAGE after it reports the error.
 * - A missing file counts as empty.
 * - It is an error if a line is no row, or a row of another device or of other options.
 * - An incomplete last line that begins like a row is removed from the file. */
int samples_open(struct samples *k, struct cli *c, const char *device, const char *options);
void samples_close(struct samples *k);
/* Returns the row's samples, or NULL if it has not been measured. k owns them. */
const json_t *samples_row(const struct samples *k, const char *key);
/* Returns true if time is left to measure another row; else counts the row as left. The first row of a
 * call may always begin, so that each call makes progress. */
bool samples_may_begin(struct samples *k);
bool samples_is_late(const struct samples *k);
/* Adds a row, and takes over samples. If the file cannot be written, this function reports the error
 * once, and later rows are not written. */
void samples_add(struct samples *k, const char *key, json_t *samples);
/* Writes all rows into the open JSON object, as the array "samples" of objects with the key "row"; and
 * "left". Shows how many rows are left. */
void samples_finish(struct samples *k, struct json *j);

/* An array of numbers; a single one. */
json_t *samples_numbers(const double *values, unsigned n);
json_t *samples_number(double value);
/* Returns how many numbers the row has by this name; 0 if it has none. */
unsigned samples_count(const json_t *samples, const char *name);
/* Reads n numbers, or all zeros if there are not exactly so many. Returns whether there are. */
bool samples_read(const json_t *samples, const char *name, unsigned n, double *ret);
/* Reads all numbers into the arena. Returns NULL if there are none or memory runs out. */
double *samples_values(const json_t *samples, const char *name, struct arena *a, unsigned *ret_n);
/* Returns the first number; 0 if there is none. */
double samples_first(const json_t *samples, const char *name);
/* Returns the median of the numbers; 0 if there are none. */
double samples_median(const json_t *samples, const char *name);

#endif
