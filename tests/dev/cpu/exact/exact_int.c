/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* References for integers, bits, comparisons and selections. They are slow: they follow the
 * wording of the PTX ISA, one bit or one 128-bit sum at a time. Where the ISA leaves a result
 * open, or an H200 (driver 580.159) deviates from it, the H200's result counts, since programs
 * see no other; it was measured with hw.sh ops. "H200" marks each such rule. */
#include "exact.h"

#include <string.h>

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

static bool is_signed(const struct exact_type *t)
{
	return t->kind == KIND_INT;
}

static s128 value_of(u64 v, unsigned bits, bool with_sign)
{
	v &= exact_mask(bits);
	return with_sign && v >> (bits - 1) & 1 ? (s128)v - ((s128)1 << bits) : (s128)v;
}

static s128 clamp(s128 v, s128 lo, s128 hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static s128 floor_shift(s128 v, unsigned n)
{
	s128 unit = (s128)1 << n;

	return v >= 0 ? v / unit : -((-v + unit - 1) / unit);
}

/* Returns the whole product or, with .hi, its upper part. A 64-bit unsigned product needs all 128
 * bits. */
static s128 product(const struct exact_insn *i, s128 a, s128 b, unsigned bits)
{
	u128 p = (u128)a * (u128)b;
	bool with_sign = is_signed(i->type[0]);

	if (exact_is(i, "mul24") || exact_is(i, "mad24")) {
		a = value_of((u64)a, 24, with_sign);
		b = value_of((u64)b, 24, with_sign);
		return exact_has(i, "hi") ? floor_shift(a * b, 16) : a * b;
	}
	if (!exact_has(i, "hi"))
		return (s128)p;
	return with_sign ? floor_shift((s128)p, bits) : (s128)(p >> bits);
}

static s128 quotient(s128 a, s128 b, bool rest)
{
	/* The ISA leaves this open. H200: division by zero gives all ones, as does the remainder. */
	if (b == 0)
		return -1;
	return rest ? a % b : a / b;
}

static s128 dot(const struct exact_insn *i, u64 a, u64 b, s128 c)
{
	unsigned n = exact_is(i, "dp4a") ? 4 : 2, bits = 32 / n;
	unsigned from = exact_has(i, "hi") ? 16 : 0;

	for (unsigned k = 0; k < n; k++)
		c += value_of(a >> (bits * k), bits, is_signed(i->type[0])) *
		     value_of(b >> (from + 8 * k), 8, is_signed(i->type[1]));
	return c;
}

static s128 integer(const struct exact_insn *i, const struct exact_type *t, s128 a, s128 b, s128 c)
{
	s128 lo = is_signed(t) ? -((s128)1 << (t->bits - 1)) : 0;
	s128 hi = ((s128)1 << (t->bits - is_signed(t))) - 1, r = 0;

	if (exact_is(i, "add"))
		r = a + b;
	else if (exact_is(i, "sub"))
		r = a - b;
	else if (exact_is(i, "mul") || exact_is(i, "mul24"))
		r = product(i, a, b, t->bits);
	else if (exact_is(i, "mad") || exact_is(i, "mad24"))
		r = (s128)((u128)product(i, a, b, t->bits) + (u128)c);
	else if (exact_is(i, "sad"))
		r = c + (a > b ? a - b : b - a);
	else if (exact_is(i, "div") || exact_is(i, "rem"))
		r = quotient(a, b, exact_is(i, "rem"));
	else if (exact_is(i, "abs"))
		r = a < 0 ? -a : a;
	else if (exact_is(i, "neg"))
		r = -a;
	else if (exact_is(i, "min"))
		r = a < b ? a : b;
	else
		r = a > b ? a : b;
	if (exact_has(i, "relu") && r < 0)
		r = 0;
	return exact_has(i, "sat") ? clamp(r, lo, hi) : r;
}

bool ref_integer(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	const struct exact_type *t = i->type[0];
	bool wide = exact_has(i, "wide"), s = is_signed(t);

	if (exact_is(i, "dp4a") || exact_is(i, "dp2a")) {
		ret[0] = (u64)dot(i, v[0], v[1], (s128)v[2]) & exact_mask(32);
		return true;
	}
	ret[0] = 0;
	for (unsigned k = 0; k < t->n; k++) {
		unsigned at = t->bits * k, c_bits = wide ? 2 * t->bits : t->bits;
		s128 r = integer(i, t, value_of(v[0] >> at, t->bits, s),
			value_of(v[1] >> at, t->bits, s), value_of(v[2] >> at, c_bits, s));
		ret[0] |= ((u64)r & exact_mask(c_bits)) << at;
	}
	return true;
}

/* The carry flag was set if the last operand is odd (exact.c); ret[1] is the flag afterwards. A
 * subtraction adds the complement and one. */
bool ref_carry(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	const struct exact_type *t = i->type[0];
	bool mad = exact_is(i, "mad") || exact_is(i, "madc");
	bool minus = exact_is(i, "sub") || exact_is(i, "subc");
	bool reads = i->parts[0][strlen(i->parts[0]) - 1] == 'c', flag = v[mad ? 3 : 2] & 1;
	u64 mask = exact_mask(t->bits), a = v[0] & mask, b = v[1] & mask;

	if (mad) {
		s128 p = product(i, value_of(a, t->bits, is_signed(t)),
			value_of(b, t->bits, is_signed(t)), t->bits);
		a = (u64)p & mask;
		b = v[2] & mask;
	}
	u128 sum = (u128)a + (minus ? ~b & mask : b) + (reads ? flag : minus ? 1 : 0);
	ret[0] = (u64)sum & mask;
	ret[1] = exact_has(i, "cc") ? (u64)(sum >> t->bits) & 1 : flag;
	return true;
}

/* ---- bit operations ---- */

static u64 bit(u64 v, unsigned at)
{
	return at < 64 ? v >> at & 1 : 0;
}

static u64 highest(const struct exact_insn *i, const struct exact_type *t, u64 v)
{
	u64 sign = is_signed(t) ? bit(v, t->bits - 1) : 0;

	for (unsigned k = t->bits; k-- > 0;)
		if (bit(v, k) != sign)
			return exact_has(i, "shiftamt") ? t->bits - 1 - k : k;
	return exact_mask(32);
}

static u64 shifted(const struct exact_insn *i, const struct exact_type *t, u64 v, u64 by)
{
	u64 r = 0, fill = is_signed(t) ? bit(v, t->bits - 1) : 0;

	for (unsigned k = 0; k < t->bits; k++) {
		u64 from = exact_is(i, "shl") ? k - by : k + by;
		bool inside = exact_is(i, "shl") ? by <= k : from < t->bits;
		r |= (inside ? bit(v, (unsigned)from) : fill) << k;
	}
	return r;
}

static u64 funnel(const struct exact_insn *i, u64 lo, u64 hi, u64 by)
{
	unsigned n = (unsigned)(exact_has(i, "wrap") ? by % 32 : by > 32 ? 32 : by);
	u128 both = (u128)hi << 32 | lo;

	return (u64)(exact_has(i, "l") ? both << n >> 32 : both >> n) & exact_mask(32);
}

/* The ISA counts positions and lengths modulo 256. H200: this holds for 32-bit fields; in 64-bit
 * fields all 32 bits of position and length count. */
static u64 in_field(const struct exact_type *t, u64 v)
{
	return v & (t->bits == 64 ? exact_mask(32) : 255);
}

static u64 field(const struct exact_type *t, u64 v, u64 pos, u64 len)
{
	u64 r = 0, sign = 0;

	pos = in_field(t, pos);
	len = in_field(t, len);
	if (is_signed(t) && len)
		sign = bit(v, (unsigned)MIN(pos + len - 1, t->bits - 1));
	for (unsigned k = 0; k < t->bits; k++)
		r |= (k < len && pos + k < t->bits ? bit(v, (unsigned)pos + k) : sign) << k;
	return r;
}

static u64 inserted(const struct exact_type *t, u64 a, u64 b, u64 pos, u64 len)
{
	pos = in_field(t, pos);
	len = in_field(t, len);
	for (unsigned k = 0; k < len && pos + k < t->bits; k++)
		b = (b & ~(1ull << (pos + k))) | bit(a, k) << (pos + k);
	return b;
}

static u64 bit_mask(const struct exact_insn *i, u64 from, u64 n)
{
	u64 r = 0;

	if (exact_has(i, "wrap")) {
		from %= 32;
		n %= 32;
	}
	for (unsigned k = 0; k < 32; k++)
		r |= (u64)(k >= from && k - from < n) << k;
	return r;
}

static u64 extended(const struct exact_insn *i, u64 v, u64 n)
{
	n = exact_has(i, "wrap") ? n % 32 : MIN(n, 32u);
	return n ? (u64)value_of(v, (unsigned)n, is_signed(i->type[0])) & exact_mask(32) : 0;
}

static u64 permuted(const struct exact_insn *i, u64 a, u64 b, u64 c)
{
	u64 all = b << 32 | a, r = 0;
	unsigned s = c & 3;

	for (unsigned k = 0; k < 4; k++) {
		unsigned from = c >> (4 * k) & 7;
		bool sign = false;

		if (exact_has(i, "f4e"))
			from = s + k;
		else if (exact_has(i, "b4e"))
			from = (s + 8 - k) % 8;
		else if (exact_has(i, "rc8"))
			from = s;
		else if (exact_has(i, "ecl"))
			from = MAX(k, s);
		else if (exact_has(i, "ecr"))
			from = MIN(k, s);
		else if (exact_has(i, "rc16"))
			from = 2 * (s & 1) + (k & 1);
		else
			sign = bit(c, 4 * k + 3);
		u64 byte = all >> (8 * from) & 255;
		r |= (sign ? (byte >> 7) * 255 : byte) << (8 * k);
	}
	return r;
}

static u64 looked_up(u64 a, u64 b, u64 c, unsigned table)
{
	u64 r = 0;

	for (unsigned k = 0; k < 32; k++)
		r |= (u64)(table >> (bit(a, k) * 4 + bit(b, k) * 2 + bit(c, k)) & 1) << k;
	return r;
}

static u64 nth_set(u64 v, u64 base, int32_t offset)
{
	int64_t at = (int64_t)base, left = offset < 0 ? -(int64_t)offset - 1 : (int64_t)offset - 1;

	/* H200: a base outside the word finds nothing; offset INT32_MIN, which has no opposite,
	 * finds bit 0, set or not. */
	if (offset == INT32_MIN)
		return 0;
	if (base < 32 && offset == 0)
		return bit(v, (unsigned)base) ? base : exact_mask(32);
	for (; at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
		if (bit(v, (unsigned)at) && left-- == 0)
			return (u64)at;
	return exact_mask(32);
}

static u64 reversed(const struct exact_type *t, u64 v)
{
	u64 r = 0;

	for (unsigned k = 0; k < t->bits; k++)
		r |= bit(v, k) << (t->bits - 1 - k);
	return r;
}

static u64 counted(const struct exact_type *t, u64 v)
{
	u64 n = 0;

	for (unsigned k = 0; k < t->bits; k++)
		n += bit(v, k);
	return n;
}

static u64 zeros_ahead(const struct exact_type *t, u64 v)
{
	unsigned n = 0;

	while (n < t->bits && !bit(v, t->bits - 1 - n))
		n++;
	return n;
}

static u64 simple(const struct exact_insn *i, u64 a, u64 b)
{
	if (exact_is(i, "and"))
		return a & b;
	if (exact_is(i, "or"))
		return a | b;
	if (exact_is(i, "xor"))
		return a ^ b;
	if (exact_is(i, "not"))
		return ~a;
	return exact_is(i, "cnot") ? a == 0 : a;
}

bool ref_bits(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	const struct exact_type *t = i->type[0];
	u64 mask = exact_mask(t->bits), a = v[0] & mask, b = v[1] & mask;

	if (exact_is(i, "popc"))
		ret[0] = counted(t, a);
	else if (exact_is(i, "clz"))
		ret[0] = zeros_ahead(t, a);
	else if (exact_is(i, "brev"))
		ret[0] = reversed(t, a);
	else if (exact_is(i, "bfind"))
		ret[0] = highest(i, t, a);
	else if (exact_is(i, "shl") || exact_is(i, "shr"))
		ret[0] = shifted(i, t, a, v[1]);
	else if (exact_is(i, "shf"))
		ret[0] = funnel(i, a, b, v[2]);
	else if (exact_is(i, "bfe"))
		ret[0] = field(t, a, v[1], v[2]);
	else if (exact_is(i, "bfi"))
		ret[0] = inserted(t, a, b, v[2], v[3]);
	else if (exact_is(i, "bmsk"))
		ret[0] = bit_mask(i, v[0], v[1]);
	else if (exact_is(i, "szext"))
		ret[0] = extended(i, a, v[1]);
	else if (exact_is(i, "prmt"))
		ret[0] = permuted(i, a, b, v[2]);
	else if (exact_is(i, "lop3"))
		ret[0] = looked_up(a, b, v[2], i->imm);
	else if (exact_is(i, "fns"))
		ret[0] = nth_set(a, v[1] & exact_mask(32), (int32_t)v[2]);
	else
		ret[0] = simple(i, a, b) & mask;
	return true;
}

bool ref_logic(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	ret[0] = simple(i, v[0], v[1]) & 1;
	return true;
}

/* Video instructions, on elements of 8 or 16 bits. With .add the elements' results are summed;
 * otherwise each result fills its own element. */
bool ref_video(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	unsigned bits = exact_is(i, "vabsdiff4") ? 8 : 16;
	s128 most = ((s128)1 << (bits - is_signed(i->type[0]))) - 1, sum = (s128)v[2];
	u64 packed = 0;

	for (unsigned at = 0; at < 32; at += bits) {
		s128 t = value_of(v[0] >> at, bits, is_signed(i->type[1])) -
			 value_of(v[1] >> at, bits, is_signed(i->type[2]));

		t = t < 0 ? -t : t;
		if (exact_has(i, "sat"))
			t = clamp(t, 0, most);
		sum += t;
		packed |= ((u64)t & exact_mask(bits)) << at;
	}
	ret[0] = (exact_has(i, "add") ? (u64)sum : packed) & exact_mask(32);
	return true;
}

/* ---- comparison ---- */

static int order_of(const struct exact_insn *i, const struct exact_type *t, u64 a, u64 b)
{
	if (t->kind == KIND_FLOAT)
		return exact_float_order(t, a, b, exact_has(i, "ftz"));
	s128 x = value_of(a, t->bits, is_signed(t)), y = value_of(b, t->bits, is_signed(t));
	return x < y ? -1 : x > y;
}

static bool holds(const struct exact_insn *i, int order)
{
	/* name of the comparison; its results for less, equal, greater, unordered */
	static const struct {
		const char *name;
		bool less, equal, greater, unordered;
	} all[] = {{"eq", 0, 1, 0, 0}, {"ne", 1, 0, 1, 0}, {"lt", 1, 0, 0, 0}, {"le", 1, 1, 0, 0},
		{"gt", 0, 0, 1, 0}, {"ge", 0, 1, 1, 0}, {"lo", 1, 0, 0, 0}, {"ls", 1, 1, 0, 0},
		{"hi", 0, 0, 1, 0}, {"hs", 0, 1, 1, 0}, {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1},
		{"ltu", 1, 0, 0, 1}, {"leu", 1, 1, 0, 1}, {"gtu", 0, 0, 1, 1}, {"geu", 0, 1, 1, 1},
		{"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1}};

	for (size_t k = 0; k < ARRAY_LEN(all); k++)
		if (!strcmp(i->parts[1], all[k].name))
			return order == 2  ? all[k].unordered
			       : order < 0 ? all[k].less
			       : order > 0 ? all[k].greater
					   : all[k].equal;
	return false;
}

static bool combined(const struct exact_insn *i, bool r, u64 with)
{
	if (exact_has(i, "and"))
		return r && with;
	if (exact_has(i, "or"))
		return r || with;
	return exact_has(i, "xor") ? r != (with != 0) : r;
}

/* Returns the bits of `true` in one element of a result with `n` elements. */
static u64 true_of(const struct exact_type *t, unsigned n)
{
	if (t->kind == KIND_FLOAT)
		return (u64)t->f_bias << t->fbits;
	return exact_mask(n > 1 ? t->bits / n : t->bits);
}

bool ref_compare(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	bool set = exact_is(i, "set");
	const struct exact_type *to = i->type[0], *t = i->type[set ? 1 : 0];
	bool r[2] = {false, false};

	for (unsigned k = 0; k < t->n; k++)
		r[k] = holds(i, order_of(i, t, exact_part(t, v[0], k), exact_part(t, v[1], k)));
	ret[0] = ret[1] = 0;
	if (set) {
		for (unsigned k = 0; k < t->n; k++)
			if (combined(i, r[k], v[2]))
				ret[0] |= true_of(to, t->n) << (k * (to->n * to->bits / t->n));
	} else {
		ret[0] = combined(i, r[0], v[2]);
		ret[1] = combined(i, t->n > 1 ? r[1] : !r[0], v[2]);
	}
	return true;
}

bool ref_select(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	u64 mask = exact_mask(i->type[0]->bits);
	bool first = v[2] & 1;

	if (exact_is(i, "slct") && i->type[1]->kind == KIND_FLOAT) {
		int order = exact_float_order(i->type[1], v[2], 0, exact_has(i, "ftz"));
		first = order == 0 || order == 1;
	} else if (exact_is(i, "slct")) {
		first = !bit(v[2], 31);
	}
	ret[0] = (first ? v[0] : v[1]) & mask;
	return true;
}
