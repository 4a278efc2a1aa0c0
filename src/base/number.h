/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads numbers: of options, environment variables, configurations, traces, PTX, and of other
 * programs. Nothing here skips blanks, accepts a sign, or depends on the locale. */
#ifndef HEDDLE_NUMBER_H
#define HEDDLE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number {
	uint64_t value; /* UINT64_MAX if the number does not fit */
	size_t len;     /* characters of the number; 0 if there is no number (value is then 0) */
	bool too_large; /* true if the number does not fit in 64 bits */
};

/* Reads digits in a base from 2 to 16 at the beginning of s, at most len characters. Stops at the
 * first character that is no digit. */
struct number number_digits(const char *s, size_t len, unsigned base);
/* Does the same for a number as C writes it: hexadecimal after 0x, octal after 0, else decimal. */
struct number number_literal(const char *s, size_t len);

/* Reads a decimal number with an optional k, m or g (or K, M, G) for a factor of 1024, 1024^2 or
 * 1024^3, at the beginning of text. Returns a pointer to the text after it. Returns NULL and leaves
 * *ret unchanged if there is no digit or the number does not fit in 64 bits. */
const char *number_scaled(const char *text, uint64_t *ret);

/* These read a whole text. They return 0; -EINVAL if it is not such a number; -ERANGE if it is not
 * between min and max. *ret stays unchanged then. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret); /* in decimal */
/* decimal, or hexadecimal after 0x; with an optional k, m or g */
int number_parse_scaled(const char *text, uint64_t min, uint64_t max, uint64_t *ret);
/* Reads a number as strtod does: with a sign, a decimal point or an exponent, or "inf". */
int number_parse_real(const char *text, double *ret);

#endif
