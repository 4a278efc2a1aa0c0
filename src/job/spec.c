/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses kernel specifications and generates the data that they describe. Every integer is checked
 * against the range of its type, because a silently truncated constant would make two runs differ
 * for no visible reason. */
#include "job/spec.h"
#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { UNSIGNED, SIGNED, FLOAT, RAW };

struct spec_type {
	const char *name;
	enum kind kind;
	unsigned bytes;
};

static const struct spec_type types[] = {
	{"u8", UNSIGNED, 1},
	{"u16", UNSIGNED, 2},
	{"u32", UNSIGNED, 4},
	{"u64", UNSIGNED, 8},
	{"b8", UNSIGNED, 1},
	{"b16", UNSIGNED, 2},
	{"b32", UNSIGNED, 4},
	{"b64", UNSIGNED, 8},
	{"i8", SIGNED, 1},
	{"i16", SIGNED, 2},
	{"i32", SIGNED, 4},
	{"i64", SIGNED, 8},
	{"s8", SIGNED, 1},
	{"s16", SIGNED, 2},
	{"s32", SIGNED, 4},
	{"s64", SIGNED, 8},
	{"f32", FLOAT, 4},
	{"f64", FLOAT, 8},
};
static const struct spec_type raw_type = {"hex", RAW, 1};

int spec_parse_dims(const char *text, uint32_t ret[3])
{
	uint32_t dims[3] = {1, 1, 1};

	for (unsigned i = 0; i < 3; i++) {
		uint64_t v;

		text = number_scaled(text, &v);
		if (!text || v == 0 || v > UINT32_MAX)
			return -EINVAL;
		dims[i] = (uint32_t)v;
		if (!*text) {
			memcpy(ret, dims, sizeof(dims));
			return 0;
		}
		if (*text != ',' && *text != 'x')
			return -EINVAL;
		text++;
	}
	return -EINVAL;
}

static int refuse_text(struct strbuf *err, const char *text, const char *why)
{
	strbuf_printf(err, "argument '%s': %s", text, why);
	return -EINVAL;
}

/* Parses a whole number: as C writes it, or a decimal one with a unit, such as "64K" or "-1k".
 * Stores the magnitude and the sign. Returns false for any other text. */
static bool parse_whole(const char *text, uint64_t *ret, bool *ret_minus)
{
	const char *digits = text + (*text == '-' || *text == '+'), *end;
	struct number n = number_literal(digits, SIZE_MAX);

	*ret = n.value;
	*ret_minus = *text == '-';
	if (n.len && !digits[n.len])
		return !n.too_large;
	end = number_scaled(digits, ret);
	return end && !*end && strchr("kmgKMG", end[-1]);
}

static int parse_real(const struct spec_type *t, const char *text, uint8_t ret[8])
{
	double d;
	int r = number_parse_real(text, &d);
	float f;

	if (r < 0)
		return r;
	f = (float)d;
	/* "inf" is a value; a finite number that the type cannot hold is an error. */
	if (t->bytes == 4 && isinf(f) && !isinf(d))
		return -ERANGE;
	memcpy(ret, t->bytes == 4 ? (void *)&f : (void *)&d, t->bytes);
	return 0;
}

/* Parses text[0] to text[len-1] as a value of type t, and stores its bytes in ret. */
static int parse_value(const struct spec_type *t, const char *text, size_t len, uint8_t ret[8])
{
	unsigned width = t->bytes * 8;
	uint64_t v, max;
	char buf[64];
	bool minus;

	if (len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = 0;
	if (t->kind == FLOAT)
		return parse_real(t, buf, ret);
	if (!parse_whole(buf, &v, &minus))
		return -ERANGE;
	max = t->kind == UNSIGNED ? UINT64_MAX >> (64 - width)
				  : (uint64_t)INT64_MAX >> (64 - width);
	if (minus ? t->kind == UNSIGNED || v > max + 1 : v > max)
		return -ERANGE;
	if (minus)
		v = -v;
	memcpy(ret, &v, t->bytes); /* all devices are little-endian */
	return 0;
}

static int parse_hex(struct arena *a, const char *text, const char *hex, struct spec_arg *arg,
	struct strbuf *err)
{
	size_t len = strlen(hex);

	if (len == 0 || len % 2)
		return refuse_text(err, text, "wants an even number of hexadecimal digits");
	arg->type = &raw_type;
	arg->bytes = len / 2;
	arg->value = arena_alloc(a, arg->bytes);
	if (!arg->value)
		return -ENOMEM;
	for (size_t i = 0; i < arg->bytes; i++) {
		struct number v = number_digits(hex + 2 * i, 2, 16);

		if (v.len != 2)
			return refuse_text(err, text, "wants hexadecimal digits only");
		arg->value[i] = (uint8_t)v.value;
	}
	return 0;
}

/* Parses a buffer's INIT[>FILE]. */
static int parse_init(struct arena *a, const char *init, struct spec_arg *arg, struct strbuf *err)
{
	const char *out = strrchr(init, '>');
	size_t len = out ? (size_t)(out - init) : strlen(init);

	if (out) {
		arg->out_path = arena_strndup(a, out + 1, strlen(out + 1));
		if (!arg->out_path)
			return -ENOMEM;
		if (!*arg->out_path)
			return refuse_text(err, arg->text, "'>' wants a file name, or '-'");
	}
	if (len == 4 && !memcmp(init, "zero", 4)) {
		arg->init = SPEC_ZERO;
	} else if (len == 4 && !memcmp(init, "iota", 4)) {
		arg->init = SPEC_IOTA;
	} else if (len > 6 && !memcmp(init, "const(", 6) && init[len - 1] == ')') {
		arg->init = SPEC_CONST;
		if (parse_value(arg->type, init + 6, len - 7, arg->element))
			return refuse_text(
				err, arg->text, "const(V) wants a value of the buffer's type");
	} else if (len > 5 && !memcmp(init, "rand(", 5) && init[len - 1] == ')') {
		arg->init = SPEC_RAND;
		if (parse_value(&types[3], init + 5, len - 6, (uint8_t *)&arg->seed))
			return refuse_text(err, arg->text, "rand(SEED) wants a whole number");
	} else if (len > 1 && *init == '@') {
		arg->init = SPEC_FILE;
		arg->in_path = arena_strndup(a, init + 1, len - 1);
		if (!arg->in_path)
			return -ENOMEM;
	} else {
		return refuse_text(err, arg->text,
			"a buffer starts as zero, iota, const(V), rand(SEED) or @FILE");
	}
	return 0;
}

static const struct spec_type *find_type(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strlen(types[i].name) == len && !memcmp(types[i].name, text, len))
			return &types[i];
	return NULL;
}

int spec_parse_arg(struct arena *a, const char *text, struct spec_arg *ret, struct strbuf *err)
{
	struct spec_arg arg = {.text = text};
	size_t type_len = strcspn(text, "[:");
	const char *rest = text + type_len;
	const char *end;
	int r;

	if (!strncmp(text, "hex:", 4)) {
		r = parse_hex(a, text, text + 4, &arg, err);
		if (r == 0)
			*ret = arg;
		return r;
	}
	arg.type = find_type(text, type_len);
	if (!arg.type || !*rest)
		return refuse_text(err, text,
			"wants TYPE:VALUE or TYPE[N]:INIT with a type such as i32, u64 "
			"or f32 (or hex:BYTES)");
	if (*rest == ':') {
		arg.bytes = arg.type->bytes;
		arg.value = arena_zalloc(a, 8);
		if (!arg.value)
			return -ENOMEM;
		if (parse_value(arg.type, rest + 1, strlen(rest + 1), arg.value))
			return refuse_text(err, text, "the value does not fit the type");
		*ret = arg;
		return 0;
	}
	end = number_scaled(rest + 1, &arg.count);
	if (!arg.count || !end || strncmp(end, "]:", 2) != 0)
		return refuse_text(err, text,
			"a buffer is written TYPE[N]:INIT, N at least 1, such as 1000 or 64K");
	if (arg.count > SPEC_MAX_BYTES / arg.type->bytes)
		return refuse_text(err, text, "the buffer is larger than 16 GiB");
	arg.is_buffer = true;
	arg.bytes = arg.count * arg.type->bytes;
	r = parse_init(a, end + 2, &arg, err);
	if (r == 0)
		*ret = arg;
	return r;
}

void spec_from_bytes(
	const char *text, const uint8_t *contents, uint64_t bytes, struct spec_arg *ret)
{
	const char *type = bytes % 4 == 0 ? "b32" : "b8";

	*ret = (struct spec_arg){.text = text,
		.type = find_type(type, strlen(type)),
		.is_buffer = true,
		.bytes = bytes,
		.init = contents ? SPEC_BYTES : SPEC_ZERO,
		.contents = contents};
	ret->count = bytes / ret->type->bytes;
}

static void fill_element(const struct spec_arg *arg, uint64_t i, uint8_t *out)
{
	uint64_t bits = arg->init == SPEC_IOTA ? i : random_bits(arg->seed, i);
	double d = arg->init == SPEC_IOTA ? (double)i : (double)(bits >> 40) * 0x1p-24;
	float f = (float)d;

	if (arg->type->kind != FLOAT)
		memcpy(out, &bits, arg->type->bytes);
	else if (arg->type->bytes == 4)
		memcpy(out, &f, 4);
	else
		memcpy(out, &d, 8);
}

static int fill_from_file(const struct spec_arg *arg, void *out, struct strbuf *err)
{
	FILE *f = fopen(arg->in_path, "rb");
	size_t n;
	bool more;

	if (!f) {
		strbuf_printf(err, "%s: %s", arg->in_path, strerror(errno));
		return -EIO;
	}
	n = fread(out, 1, arg->bytes, f);
	more = n == arg->bytes && fgetc(f) != EOF;
	fclose(f);
	if (n != arg->bytes || more) {
		strbuf_printf(err, "%s holds %s than the %" PRIu64 " bytes of '%s'", arg->in_path,
			more ? "more" : "less", arg->bytes, arg->text);
		return -EINVAL;
	}
	return 0;
}

int spec_fill(const struct spec_arg *arg, void *out, struct strbuf *err)
{
	uint8_t *p = out;

	if (arg->init == SPEC_FILE)
		return fill_from_file(arg, out, err);
	if (arg->init == SPEC_ZERO || arg->init == SPEC_BYTES) {
		if (arg->init == SPEC_ZERO)
			memset(out, 0, arg->bytes);
		else
			memcpy(out, arg->contents, arg->bytes);
		return 0;
	}
	for (uint64_t i = 0; i < arg->count; i++, p += arg->type->bytes) {
		if (arg->init == SPEC_CONST)
			memcpy(p, arg->element, arg->type->bytes);
		else
			fill_element(arg, i, p);
	}
	return 0;
}

void spec_print_element(
	const struct spec_arg *arg, const void *data, uint64_t i, struct strbuf *out)
{
	unsigned n = arg->type->bytes;
	const uint8_t *p = (const uint8_t *)data + i * n;
	uint64_t bits = 0;
	float f;
	double d;

	memcpy(&bits, p, n);
	memcpy(&f, p, MIN(n, sizeof(f)));
	memcpy(&d, &bits, sizeof(d));
	if (arg->type->kind == FLOAT)
		strbuf_printf(out, n == 4 ? "%.9g" : "%.17g", n == 4 ? (double)f : d);
	else if (arg->type->kind == SIGNED)
		strbuf_printf(out, "%" PRId64, (int64_t)(bits << (64 - 8 * n)) >> (64 - 8 * n));
	else
		strbuf_printf(out, "%" PRIu64, bits);
}

void spec_print(const struct spec_arg *arg, const void *data, struct strbuf *out)
{
	for (uint64_t i = 0; i < arg->count; i++) {
		spec_print_element(arg, data, i, out);
		strbuf_puts(out, "\n");
	}
}
