/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes or reads the fields of a JSON object in a fixed order. One function that lists the fields of
 * a structure so serves both directions: with `out` set, each call here appends a field; else it reads
 * one. After the first error, reading calls do nothing. Blanks between the parts do not matter. */
#ifndef HEDDLE_SCHED_FORM_H
#define HEDDLE_SCHED_FORM_H

#include "base/base.h"

struct form {
	struct strbuf *out;   /* NULL: the form is reading */
	const char *at, *end; /* the text that has not been read yet */
	bool inside;          /* a field precedes, so a comma must come next */
	bool failed;          /* reading has failed; `why` has the error as a sentence */
	char why[160];
};

void form_write(struct form *f, struct strbuf *out);
void form_read(struct form *f, const char *text, size_t len);
/* Records a reading error, unless an earlier one is recorded. */
void form_fail(struct form *f, const char *fmt, ...) HD_PRINTF(2, 3);

/* An object or array; open: '{' or '['. key NULL: the whole, or an element of an array. */
void form_begin(struct form *f, const char *key, char open);
void form_end(struct form *f, char close);
/* In an array, before the element with this index. Writing: returns index < n. Reading: returns true
 * if there is such an element; more than n are an error. */
bool form_more(struct form *f, const char *key, uint32_t index, uint32_t n);
/* Fails the form if any text has not been read. */
void form_finish(struct form *f);
/* Writing: writes the field if `has`. Reading: returns true if the next field has this key. */
bool form_has(struct form *f, const char *key, bool has);
void form_number(struct form *f, const char *key, uint64_t *v, uint64_t max);
void form_number32(struct form *f, const char *key, uint32_t *v, uint32_t max);
void form_signed(struct form *f, const char *key, int64_t *v, int64_t min, int64_t max);
/* A time in ns. UINT64_MAX (unknown, or never) is written as null. */
void form_time(struct form *f, const char *key, uint64_t *v);
void form_flag(struct form *f, const char *key, bool *v);
void form_hex(struct form *f, const char *key, uint64_t *v); /* as a string of 16 digits */
void form_text(struct form *f, const char *key, char *v, size_t size);
/* One of n words. *v is the index of the word. */
void form_word(struct form *f, const char *key, const char *const *words, uint32_t n, uint32_t *v);
/* Arrays. Zeros at the end are not written. Reading sets missing elements at the end to 0. */
void form_floats(struct form *f, const char *key, float *v, uint32_t n);
void form_doubles(struct form *f, const char *key, double *v, uint32_t n);
void form_numbers32(struct form *f, const char *key, uint32_t *v, uint32_t n);

#endif
