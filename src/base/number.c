/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* All parsing of numbers is in this file. */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 32;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : UINT32_MAX;
}

struct number number_digits(const char *s, size_t len, unsigned base)
{
	struct number n = {0, 0, false};
	unsigned d;

	while (n.len < len && (d = digit_value(s[n.len])) < base) {
		n.too_large |= __builtin_mul_overflow(n.value, base, &n.value) |
			       __builtin_add_overflow(n.value, d, &n.value);
		n.len++;
	}
	if (n.too_large)
		n.value = UINT64_MAX;
	return n;
}

struct number number_literal(const char *s, size_t len)
{
	struct number n;

	if (len > 2 && s[0] == '0' && (s[1] | 32) == 'x') {
		n = number_digits(s + 2, len - 2, 16);
		if (n.len) {
			n.len += 2;
			return n;
		}
	}
	return number_digits(s, len, len && s[0] == '0' ? 8 : 10);
}

/* Applies the unit at text. Returns the text after it, or NULL if *io would be too large. */
static const char *apply_unit(const char *text, uint64_t *io)
{
	static const char units[] = "kmg";
	const char *unit = *text ? strchr(units, *text | 32) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	if (*io > UINT64_MAX >> shift)
		return NULL;
	*io <<= shift;
	return text + (unit != NULL);
}

const char *number_scaled(const char *text, uint64_t *ret)
{
	struct number n = number_digits(text, SIZE_MAX, 10);
	const char *end = n.len && !n.too_large ? apply_unit(text + n.len, &n.value) : NULL;

	if (end)
		*ret = n.value;
	return end;
}

static int check_range(uint64_t v, uint64_t min, uint64_t max, uint64_t *ret)
{
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	struct number n = number_digits(text, SIZE_MAX, 10);

	if (!n.len || text[n.len])
		return -EINVAL;
	return n.too_large ? -ERANGE : check_range(n.value, min, max, ret);
}

int number_parse_scaled(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	bool hex = text[0] == '0' && (text[1] | 32) == 'x';
	struct number n = number_digits(text + 2 * hex, SIZE_MAX, hex ? 16 : 10);
	const char *unit = text + 2 * hex + n.len, *end;

	if (!n.len || (*unit && (!strchr("kmgKMG", *unit) || unit[1])))
		return -EINVAL;
	end = apply_unit(unit, &n.value);
	return n.too_large || !end ? -ERANGE : check_range(n.value, min, max, ret);
}

/* ---- numbers with a fraction ---- */

static struct {
	pthread_once_t once;
	locale_t c; /* 0 if out of memory */
} plain = {.once = PTHREAD_ONCE_INIT};

static void make_plain(void)
{
	plain.c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int number_parse_real(const char *text, double *ret)
{
	char *end;
	double v;

	pthread_once(&plain.once, make_plain);
	if (isspace((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	v = plain.c ? strtod_l(text, &end, plain.c) : strtod(text, &end);
	if (end == text || *end)
		return -EINVAL;
	if (isinf(v) && errno == ERANGE)
		return -ERANGE;
	*ret = v;
	return 0;
}
