/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Samples that a part of the laboratory has measured, row by row. A row is the smallest unit of
 * measurement, such as a pair of programs in one arrangement. It has a key, and an object of named
 * arrays of numbers (or of names): the raw samples. Figures are computed from rows alone, so a row
 * may come from this call or from the file of --resume, which has one object on each line:
 *
 *     {"device": ..., "options": ..., "row": KEY, "samples": {NAME: [NUMBER, ...], ...}}
 *
 * Each new row is appended to the file at once. When the time of --budget-s is over, no row begins,
 * and a later call with the same file continues. */
#ifndef HEDDLE_LAB_SAMPLES_H
#define HEDDLE_LAB_SAMPLES_H

#include <jansson.h>

#include "front/cli.h"

struct samples {
	struct cli *c;
	const char *path;     /* the file of --resume; NULL: no file */
	const char *device;   /* the caller owns the string */
	const char *options;  /* text of the options on which samples depend; the caller owns it */
	json_t *rows;         /* object of rows by key, in the order in which they were measured */
	double until_ms;      /* end of the budget, by clock_ms; 0: no limit */
	unsigned begun, left; /* rows that began in this call; rows that had no time left */
};

/* Checks before the measurement that the file of --resume can be written. Returns CLI_OK, or
 * CLI_FAILED after it reports the error. */
int samples_check(const struct cli *c);
/* Reads the verb's options --resume and --budget-s, and the rows of the file. Returns CLI_OK, or
 * CLI_FAILED or CLI_USAGE after it reports the error.
 * - A missing file counts as empty.
 * - A line that is not a row, or is a row of another device or other options, is an error.
 * - An incomplete last line that begins like a row is removed from the file. */
int samples_open(struct samples *k, struct cli *c, const char *device, const char *options);
void samples_close(struct samples *k);
/* Returns the row's samples, or NULL if it has not been measured. k owns them. */
const json_t *samples_row(const struct samples *k, const char *key);
/* Returns true if another row may be measured. Else counts the row as left. The first row of a call
 * may always begin, so that each call makes progress. */
bool samples_may_begin(struct samples *k);
bool samples_is_late(const struct samples *k);
/* Adds a row, and takes ownership of samples. If the file cannot be written, this function reports
 * the error once, and later rows are not written. */
void samples_add(struct samples *k, const char *key, json_t *samples);
/* Writes all rows into the open JSON object: the array "samples" of objects with the key "row", and
 * the number "left" of rows that had no time. Shows this number as text, too. */
void samples_finish(struct samples *k, struct json *j);

/* These functions return an array of n numbers, and an array of a single number. */
json_t *samples_numbers(const double *values, unsigned n);
json_t *samples_number(double value);
/* Returns the length of the row's array of this name; 0 if there is none. */
unsigned samples_count(const json_t *samples, const char *name);
/* Reads the array of this name into ret. If its length is not n, sets all of ret to 0 and returns
 * false. */
bool samples_read(const json_t *samples, const char *name, unsigned n, double *ret);
/* Reads the whole array into the arena. Returns NULL if it is empty or memory runs out. */
double *samples_values(const json_t *samples, const char *name, struct arena *a, unsigned *ret_n);
/* Returns the array's first number, or 0 if there is none. */
double samples_first(const json_t *samples, const char *name);
/* Returns the array's median, or 0 if it is empty. */
double samples_median(const json_t *samples, const char *name);

#endif
