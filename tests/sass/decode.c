/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decodes an instruction's text to its function, modifiers and operands. If the name, a modifier
 * or an operand is unknown, the instruction has no function, and running it ends the launch with
 * its text. The decoder neither skips nor guesses anything. */
#include "sass.h"
#include "sass_ops.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct sass_row {
	const char *name;
	sass_fn *fn;
	uint8_t op;
	const char *mods;
} rows[] = {
#define OP(name, fn, op, mods) {name, fn, op, mods},
#include "ops.def"
#undef OP
};

static const char *const mod_names[] = {
#define X(m) #m,
#include "mods.def"
#undef X
};

static const char *const special_names[SR_COUNT] = {
	[SR_TID_X] = "SR_TID.X",
	[SR_TID_Y] = "SR_TID.Y",
	[SR_TID_Z] = "SR_TID.Z",
	[SR_CTAID_X] = "SR_CTAID.X",
	[SR_CTAID_Y] = "SR_CTAID.Y",
	[SR_CTAID_Z] = "SR_CTAID.Z",
	[SR_LANEID] = "SR_LANEID",
	[SR_CGACTAID] = "SR_CgaCtaId",
	[SR_EQMASK] = "SR_EQMASK",
	[SR_LTMASK] = "SR_LTMASK",
	[SR_LEMASK] = "SR_LEMASK",
	[SR_GTMASK] = "SR_GTMASK",
	[SR_GEMASK] = "SR_GEMASK",
	[SR_GLOBALTIMERLO] = "SR_GLOBALTIMERLO",
	[SR_GLOBALTIMERHI] = "SR_GLOBALTIMERHI",
	[SR_CLOCKLO] = "SR_CLOCKLO",
	[SR_CLOCKHI] = "SR_CLOCKHI",
	[SR_SWINHI] = "SR_SWINHI",
	[SR_VIRTUALSMID] = "SR_VIRTUALSMID",
	[SR_VIRTID] = "SR_VIRTID",
	[SR_SRZ] = "SRZ",
};

static bool listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = list; (s = strstr(s, name)) != NULL; s += n)
		if ((s == list || s[-1] == ' ') && (s[n] == ' ' || !s[n]))
			return true;
	return false;
}

/* Decodes the name and its modifiers. */
static bool decode_name(struct sass_insn *in, char *text)
{
	char *save = NULL, *name = strtok_r(text, ".", &save);
	const struct sass_row *row = NULL;

	for (size_t i = 0; name && i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].name, name))
			row = &rows[i];
	if (!row)
		return false;
	for (char *m = strtok_r(NULL, ".", &save); m; m = strtok_r(NULL, ".", &save)) {
		int k = 0;

		while (k < M_COUNT && strcmp(mod_names[k], m) != 0)
			k++;
		if (k == M_COUNT || (!listed(row->mods, m) && !listed(HINTS, m)))
			return false;
		in->mods[k / 64] |= 1ull << k % 64;
	}
	in->fn = row->fn;
	in->op = row->op;
	return true;
}

/* R12, UR4, RZ, P0, UPT, …: the letters, then a number or the name of the last register. */
static bool decode_number(const char *s, const char *letters, const char *last, unsigned last_n,
	uint8_t *ret, const char **ret_end)
{
	size_t n = strlen(letters), m = strlen(last);
	char *end;

	if (!strncmp(s, last, m) && !isalnum((unsigned char)s[m])) {
		*ret = (uint8_t)last_n;
		*ret_end = s + m;
		return true;
	}
	if (strncmp(s, letters, n) != 0 || !isdigit((unsigned char)s[n]))
		return false;
	*ret = (uint8_t)strtoul(s + n, &end, 10);
	*ret_end = end;
	return true;
}

static bool is_register(const char *s, uint8_t *ret, const char **ret_end)
{
	return decode_number(s, "R", "RZ", RZ, ret, ret_end);
}

static bool is_uniform(const char *s, uint8_t *ret, const char **ret_end)
{
	return decode_number(s, "UR", "URZ", URZ, ret, ret_end);
}

/* Decodes the terms of an address, which are joined by +. */
static bool decode_terms(struct sass_opd *o, char *s)
{
	char *save = NULL;

	o->reg = RZ;
	o->ureg = URZ;
	for (char *t = strtok_r(s, "+", &save); t; t = strtok_r(NULL, "+", &save)) {
		const char *end;
		char *stop;

		if (is_register(t, &o->reg, &end)) {
			if (!strncmp(end, ".reuse", 6))
				end += 6;
			if (!strcmp(end, ".64"))
				o->wide = true;
			else if (!strcmp(end, ".X4") || !strcmp(end, ".X8") || !strcmp(end, ".X16"))
				o->scale = (uint8_t)atoi(end + 2);
			else if (*end && strcmp(end, ".U32") != 0)
				return false;
			continue;
		}
		if (is_uniform(t, &o->ureg, &end)) {
			if (*end)
				return false;
			continue;
		}
		o->imm += strtoll(t, &stop, 0);
		if (stop == t || *stop)
			return false;
	}
	return true;
}

static bool decode_const(struct sass_opd *o, char *s)
{
	char *end;

	if (strncmp(s, "c[", 2) != 0)
		return false;
	o->kind = O_CONST;
	o->bank = (uint8_t)strtoul(s + 2, &end, 0);
	if (strncmp(end, "][", 2) != 0 || o->bank >= 8)
		return false;
	s = end + 2;
	end = strchr(s, ']');
	if (!end || (end[1] && strncmp(end + 1, ".H", 2) != 0))
		return false;
	if (end[1])
		return false;
	*end = 0;
	return decode_terms(o, s);
}

static bool decode_memory(struct sass_opd *o, char *s)
{
	bool uniform;
	char *end;

	/* The descriptor has no meaning here. */
	if (!strncmp(s, "desc[", 5)) {
		s = strchr(s, ']');
		if (!s)
			return false;
		s++;
	}
	if (*s != '[')
		return false;
	end = strchr(s, ']');
	if (!end || end[1])
		return false;
	*end = 0;
	uniform = strstr(s, "UR") != NULL;
	o->kind = O_MEM;
	if (!decode_terms(o, s + 1))
		return false;
	/* With a uniform register, nvdisasm prints negative offsets as their lower 23 bits. */
	if (uniform)
		o->imm = (int64_t)((uint64_t)o->imm << 41) >> 41;
	return true;
}

static bool decode_special(struct sass_opd *o, const char *s)
{
	for (int k = 0; k < SR_COUNT; k++)
		if (!strcmp(special_names[k], s)) {
			o->kind = O_SPECIAL;
			o->imm = k;
			return true;
		}
	return false;
}

static bool decode_plain(struct sass_opd *o, const char *s)
{
	const char *end;
	char *stop;

	if (is_register(s, &o->reg, &end)) {
		o->kind = O_REG;
	} else if (is_uniform(s, &o->reg, &end)) {
		o->kind = O_UREG;
	} else if (decode_number(s, "P", "PT", PT, &o->reg, &end)) {
		o->kind = O_PRED;
		return !*end;
	} else if (decode_number(s, "UP", "UPT", PT, &o->reg, &end)) {
		o->kind = O_UPRED;
		return !*end;
	} else if (decode_number(s, "B", "BZ", 16, &o->reg, &end)) {
		o->kind = O_BARRIER;
		return !*end;
	} else if (!strcmp(s, "PR") || !strcmp(s, "UPR")) {
		o->kind = O_ALL_PREDS;
		o->wide = *s == 'U';
		return true;
	} else if (!strncmp(s, "SB", 2)) {
		o->kind = O_OTHER;
		return true;
	} else if (!strcmp(s, "INF") || !strcmp(s, "QNAN") || !strcmp(s, "SNAN")) {
		o->kind = O_FLOAT;
		o->f = *s == 'I' ? INFINITY : NAN;
		return *s != 'S';
	} else {
		bool hex = !strncmp(s, "0x", 2);

		if (!isdigit((unsigned char)*s))
			return false;
		o->kind = hex ? O_IMM : O_FLOAT;
		if (hex)
			o->imm = (int64_t)strtoull(s, &stop, 16);
		else
			o->f = strtod(s, &stop);
		return !*stop;
	}
	if (!strncmp(end, ".reuse", 6))
		end += 6;
	if (!strcmp(end, ".H0_H0"))
		o->half = 1;
	else if (!strcmp(end, ".H1_H1"))
		o->half = 2;
	else if (*end)
		return false;
	return true;
}

static bool decode_operand(struct sass_code *c, struct sass_opd *o, char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n && isspace((unsigned char)s[n - 1]);)
		s[--n] = 0;
	for (; *s == '-' || *s == '!' || *s == '~' || *s == '+'; s++) {
		o->neg |= *s == '-';
		o->inv |= *s == '!' || *s == '~';
	}
	n = strlen(s);
	if (*s == '|') {
		/* |R2|, and the text after the second bar. */
		char *bar = strrchr(s, '|');
		o->abs = true;
		s++;
		memmove(bar, bar + 1, strlen(bar));
	}
	if (!strncmp(s, "`(", 2)) {
		s[strlen(s) - 1] = 0;
		o->kind = O_LABEL;
		o->imm = sass_label(c, s + 2);
		return o->imm >= 0;
	}
	if (*s == 'c' && s[1] == '[')
		return decode_const(o, s);
	if (*s == '[' || !strncmp(s, "desc[", 5))
		return decode_memory(o, s);
	if (!strncmp(s, "SR", 2))
		return decode_special(o, s);
	return decode_plain(o, s);
}

static bool decode_guard(struct sass_insn *in, char **io_s)
{
	char *s = *io_s;
	const char *end;

	in->guard = PT;
	if (*s != '@')
		return true;
	s++;
	in->guard_not = *s == '!';
	s += in->guard_not;
	in->guard_uniform = *s == 'U';
	if (!decode_number(s + in->guard_uniform, "P", "PT", PT, &in->guard, &end))
		return false;
	while (isspace((unsigned char)*end))
		end++;
	*io_s = (char *)(uintptr_t)end;
	return true;
}

/* BRX R2 -0xc0, CALL.REL R6 `(f) and BRA UP0, …: splits operands at blanks. */
static void split_blanks(char *s)
{
	for (; *s; s++)
		if (*s == ' ' && s[1] != ' ' && s[1] && s[-1] != ',' && s[-1] != ' ')
			*s = ',';
}

void sass_decode(struct sass_code *c, struct sass_insn *in, char *text)
{
	char *s = text, *comment = strstr(text, "(*"), *name, *save = NULL;
	bool ok;

	if (comment)
		*comment = 0;
	if (!decode_guard(in, &s))
		return;
	name = s;
	while (*s && !isspace((unsigned char)*s))
		s++;
	if (*s)
		*s++ = 0;
	while (isspace((unsigned char)*s))
		s++;
	for (size_t n = strlen(s); n && isspace((unsigned char)s[n - 1]);)
		s[--n] = 0;
	if (!decode_name(in, name))
		return;
	split_blanks(s);
	ok = true;
	for (char *t = strtok_r(s, ",", &save); t && ok; t = strtok_r(NULL, ",", &save))
		ok = in->n < MAX_OPD && decode_operand(c, &in->o[in->n++], t);
	if (!ok)
		in->fn = NULL;
	/* IADD3 R6, P0, P1, a, b, c: P0 and P1 are carries. */
	for (unsigned k = 1; k < in->n && (in->o[k].kind == O_PRED || in->o[k].kind == O_UPRED);
		k++)
		in->n_pred_out = (uint8_t)k;
}
