/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses numbers and folds constant expressions. Integers are 64 bits wide. An integer is signed
 * unless it has the suffix U, is too large for a signed value, or is cast to .u64. The signedness
 * decides how division, remainder, right shift and comparison work. A part without a value
 * (division by zero, a name) is not an error; it makes the value of the whole expression
 * unknown. */
#include "base/number.h"
#include "ptx/lex.h"

#include <string.h>

#define MAX_NESTING 64

struct value {
	uint64_t v;
	bool is_unsigned;
};

struct fold {
	const char *s;
	unsigned depth;
	bool known, failed;
};

static bool read_digits(const char *s, size_t len, unsigned base, uint64_t *ret)
{
	struct number n = number_digits(s, len, base);

	*ret = n.value;
	return n.len && n.len == len;
}

static enum ptx_number_kind read_decimal_float(const char *s, size_t len, uint64_t *ret)
{
	char buf[64];
	double d;

	if (len >= sizeof(buf))
		return PTX_NUM_NONE;
	memcpy(buf, s, len);
	buf[len] = 0;
	if (strpbrk(buf, "xXnN") || number_parse_real(buf, &d) < 0)
		return PTX_NUM_NONE;
	memcpy(ret, &d, sizeof(d));
	return PTX_NUM_FLOAT;
}

enum ptx_number_kind ptx_read_number(const char *s, size_t len, uint64_t *ret_value)
{
	size_t n = len;
	bool ok;

	if (len == 10 && s[0] == '0' && (s[1] == 'f' || s[1] == 'F'))
		return read_digits(s + 2, 8, 16, ret_value) ? PTX_NUM_FLOAT : PTX_NUM_NONE;
	if (len == 18 && s[0] == '0' && (s[1] == 'd' || s[1] == 'D'))
		return read_digits(s + 2, 16, 16, ret_value) ? PTX_NUM_FLOAT : PTX_NUM_NONE;
	if (n > 1 && s[n - 1] == 'U')
		n--;
	if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		ok = read_digits(s + 2, n - 2, 16, ret_value);
	else if (n > 2 && s[0] == '0' && (s[1] == 'b' || s[1] == 'B'))
		ok = read_digits(s + 2, n - 2, 2, ret_value);
	else
		ok = read_digits(s, n, n > 1 && s[0] == '0' ? 8 : 10, ret_value);
	return ok ? PTX_NUM_INT : read_decimal_float(s, len, ret_value);
}

static struct value ternary(struct fold *f);

static void comment(struct fold *f)
{
	const char *stop = f->s[1] == '/' ? "\n" : "*/";
	const char *end = strstr(f->s + 2, stop);

	f->s = end ? end + strlen(stop) : f->s + strlen(f->s);
}

static void gap(struct fold *f)
{
	for (;;) {
		if (*f->s && strchr(" \t\r\n\v\f", *f->s))
			f->s++;
		else if (f->s[0] == '/' && (f->s[1] == '/' || f->s[1] == '*'))
			comment(f);
		else
			return;
	}
}

static struct value fail(struct fold *f)
{
	f->failed = true;
	return (struct value){0};
}

/* Parses a cast: "(.s64)" or "(.u64)". */
static bool cast(struct fold *f, bool *ret_unsigned)
{
	const char *s = f->s;

	if (strncmp(s, "(.s64)", 6) != 0 && strncmp(s, "(.u64)", 6) != 0)
		return false;
	*ret_unsigned = s[2] == 'u';
	f->s += 6;
	return true;
}

static struct value number(struct fold *f)
{
	const char *from = f->s;
	struct value v = {0};

	if (ch_is(*from, CH_START)) {
		/* WARP_SZ has a value. A name with '%' is an error. Other names are skipped, and
		 * the value is unknown. */
		f->s = ptx_ident_end(from);
		if (ptx_word_is(from, "WARP_SZ"))
			return (struct value){32, false};
		if (*from == '%')
			return fail(f);
		f->known = false;
		return v;
	}
	while (ch_is(*f->s, CH_ID))
		f->s++;
	if (f->s == from || ptx_read_number(from, (size_t)(f->s - from), &v.v) != PTX_NUM_INT)
		return fail(f);
	v.is_unsigned = f->s[-1] == 'U' || v.v > INT64_MAX;
	return v;
}

static struct value unary(struct fold *f)
{
	struct value v;
	bool is_unsigned;
	char c;

	gap(f);
	c = *f->s;
	if (++f->depth > MAX_NESTING || f->failed) {
		v = fail(f);
	} else if (cast(f, &is_unsigned)) {
		v = unary(f);
		v.is_unsigned = is_unsigned;
	} else if (c == '(') {
		f->s++;
		v = ternary(f);
		gap(f);
		if (*f->s == ')')
			f->s++;
		else
			v = fail(f);
	} else if (c && strchr("+-!~", c)) {
		f->s++;
		v = unary(f);
		v.v = c == '-' ? -v.v : c == '!' ? !v.v : c == '~' ? ~v.v : v.v;
	} else {
		v = number(f);
	}
	f->depth--;
	return v;
}

enum binary {
	NONE,
	MUL,
	DIV,
	REM,
	ADD,
	SUB,
	SHL,
	SHR,
	LT,
	GT,
	LE,
	GE,
	EQ,
	NE,
	AND,
	XOR,
	OR,
	LAND,
	LOR
};
static const struct {
	const char *text;
	uint8_t op, level;
} binaries[] = {{"<<", SHL, 8}, {">>", SHR, 8}, {"<=", LE, 7}, {">=", GE, 7}, {"==", EQ, 6},
	{"!=", NE, 6}, {"&&", LAND, 2}, {"||", LOR, 1}, {"*", MUL, 10}, {"/", DIV, 10},
	{"%", REM, 10}, {"+", ADD, 9}, {"-", SUB, 9}, {"<", LT, 7}, {">", GT, 7}, {"&", AND, 5},
	{"^", XOR, 4}, {"|", OR, 3}};

static enum binary peek_binary(struct fold *f, unsigned *ret_level, size_t *ret_len)
{
	gap(f);
	for (size_t i = 0; i < ARRAY_LEN(binaries); i++) {
		size_t n = strlen(binaries[i].text);

		if (!strncmp(f->s, binaries[i].text, n)) {
			*ret_level = binaries[i].level;
			*ret_len = n;
			return (enum binary)binaries[i].op;
		}
	}
	return NONE;
}

static struct value divide(struct fold *f, enum binary op, struct value a, struct value b, bool u)
{
	struct value r = {0, u};

	if (b.v == 0 || (!u && (int64_t)a.v == INT64_MIN && (int64_t)b.v == -1))
		f->known = false;
	else if (u)
		r.v = op == DIV ? a.v / b.v : a.v % b.v;
	else
		r.v = (uint64_t)(op == DIV ? (int64_t)a.v / (int64_t)b.v
					   : (int64_t)a.v % (int64_t)b.v);
	return r;
}

static bool less(struct value a, struct value b, bool u)
{
	return u ? a.v < b.v : (int64_t)a.v < (int64_t)b.v;
}

static struct value apply(struct fold *f, enum binary op, struct value a, struct value b)
{
	bool u = a.is_unsigned || b.is_unsigned;
	struct value r = {0, u};

	switch (op) {
	case MUL:
		r.v = a.v * b.v;
		return r;
	case DIV:
	case REM:
		return divide(f, op, a, b, u);
	case ADD:
		r.v = a.v + b.v;
		return r;
	case SUB:
		r.v = a.v - b.v;
		return r;
	case SHL:
		return (struct value){b.v < 64 ? a.v << b.v : 0, a.is_unsigned};
	case SHR:
		if (a.is_unsigned)
			return (struct value){b.v < 64 ? a.v >> b.v : 0, true};
		return (struct value){(uint64_t)((int64_t)a.v >> MIN(b.v, 63)), false};
	case AND:
		r.v = a.v & b.v;
		return r;
	case XOR:
		r.v = a.v ^ b.v;
		return r;
	case OR:
		r.v = a.v | b.v;
		return r;
	default:
		break;
	}
	r.is_unsigned = false;
	r.v = op == LT     ? less(a, b, u)
	      : op == GT   ? less(b, a, u)
	      : op == LE   ? !less(b, a, u)
	      : op == GE   ? !less(a, b, u)
	      : op == EQ   ? a.v == b.v
	      : op == NE   ? a.v != b.v
	      : op == LAND ? a.v && b.v
			   : a.v || b.v;
	return r;
}

static struct value binary(struct fold *f, unsigned min_level)
{
	struct value a = unary(f);
	unsigned level;
	size_t len;
	enum binary op;

	while (!f->failed && (op = peek_binary(f, &level, &len)) != NONE && level >= min_level) {
		struct value b;

		f->s += len;
		b = binary(f, level + 1);
		a = apply(f, op, a, b);
	}
	return a;
}

static struct value ternary(struct fold *f)
{
	struct value c = binary(f, 1), a, b;

	gap(f);
	if (*f->s != '?' || f->failed)
		return c;
	if (++f->depth > MAX_NESTING)
		return fail(f);
	f->s++;
	a = ternary(f);
	gap(f);
	if (*f->s != ':')
		return fail(f);
	f->s++;
	b = ternary(f);
	f->depth--;
	return c.v ? a : b;
}

bool ptx_fold(const char **s, uint64_t *ret_value, bool *ret_known)
{
	struct fold f = {.s = *s, .known = true};
	struct value v = ternary(&f);

	if (f.failed)
		return false;
	*s = f.s;
	*ret_known = f.known;
	if (f.known)
		*ret_value = v.v;
	return true;
}
