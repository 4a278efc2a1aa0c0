/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implementation of tokens.h. It is deliberately simple, and shares no code with src/ptx. */
#include "tokens.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool is(const struct token *t, const char *word)
{
	return t->len == strlen(word) && !memcmp(t->s, word, t->len);
}

static bool is_one_of(const struct token *t, const char *chars)
{
	return t->len == 1 && strchr(chars, *t->s);
}

static const char *past_comment(const char *s, const char *end)
{
	if (s[1] == '/') {
		while (s < end && *s != '\n')
			s++;
		return s;
	}
	for (s += 2; s < end; s++)
		if (s[0] == '*' && s + 1 < end && s[1] == '/')
			return s + 2;
	return end;
}

static void split(token_row *row, const char *s, const char *end)
{
	const char *line_start = s;
	unsigned line = 1;

	while (s < end) {
		const char *from = s;

		if (*s == '\n') {
			line++;
			line_start = ++s;
		} else if (isspace((unsigned char)*s)) {
			s++;
		} else if (*s == '/' && s + 1 < end && (s[1] == '/' || s[1] == '*')) {
			s = past_comment(s, end);
			for (; from < s; from++)
				line += *from == '\n';
		} else if (*s == '#' && s == line_start) {
			while (s < end && *s != '\n')
				s++;
		} else if (*s == '"') {
			for (s++; s < end && *s != '"' && *s != '\n'; s++)
				s += *s == '\\' && s + 1 < end;
			s += s < end;
			VEC_PUSH(row, (struct token){from, (size_t)(s - from), line});
		} else {
			while (s < end && is_word(*s))
				s++;
			s += s == from;
			VEC_PUSH(row, (struct token){from, (size_t)(s - from), line});
		}
	}
}

/* Splits ".reg .b32 a, b;" at i into ".reg .b32 a; .reg .b32 b;". Returns where to continue. */
static size_t split_decl(token_row *out, const token_row *in, size_t i)
{
	size_t end = i, name, depth = 0, from, to;

	while (end < in->len && !(depth == 0 && is_one_of(&in->at[end], ";"))) {
		depth += is_one_of(&in->at[end], "{[(<");
		depth -= depth && is_one_of(&in->at[end], "}])>");
		end++;
	}
	/* The name is the first word that neither follows a dot nor is a directive's argument. */
	for (name = i; name < end; name++) {
		if (is_one_of(&in->at[name], "."))
			name += name + 2 < end && (is(&in->at[name + 1], "align") ||
							  is(&in->at[name + 1], "attribute"))
					? 2
					: 1;
		else if (!is_one_of(&in->at[name], "()"))
			break;
		while (name + 1 < end && is_one_of(&in->at[name], "("))
			for (; name + 1 < end && !is_one_of(&in->at[name], ")"); name++)
				;
	}
	for (from = name; from < end; from = to + 1) {
		for (to = from; to < end && (depth || !is_one_of(&in->at[to], ",")); to++) {
			depth += is_one_of(&in->at[to], "{[(<");
			depth -= depth && is_one_of(&in->at[to], "}])>");
		}
		for (size_t k = i; k < name; k++)
			VEC_PUSH(out, in->at[k]);
		for (size_t k = from; k < to; k++)
			VEC_PUSH(out, in->at[k]);
		if (to < end)
			VEC_PUSH(out, (struct token){";", 1, in->at[from].line});
	}
	return end;
}

static bool begins_decl(const token_row *in, size_t i, unsigned braces, unsigned parens)
{
	static const char *const spaces[] = {"reg", "local", "shared", "param", "global", "const"};

	if (!is_one_of(&in->at[i], ".") || i + 1 >= in->len || parens)
		return false;
	if (braces && i && !is_one_of(&in->at[i - 1], ";{}:"))
		return false;
	for (size_t k = 0; k < ARRAY_LEN(spaces); k++)
		if (is(&in->at[i + 1], spaces[k]))
			return true;
	return false;
}

void tokens_read(token_row *row, const char *text, size_t len)
{
	token_row raw = {0};
	unsigned braces = 0, parens = 0;

	split(&raw, text, text + len);
	for (size_t i = 0; i < raw.len; i++) {
		const struct token *t = &raw.at[i];

		if (begins_decl(&raw, i, braces, parens)) {
			i = split_decl(row, &raw, i) - 1;
			continue;
		}
		braces += is_one_of(t, "{");
		braces -= braces && is_one_of(t, "}");
		parens += is_one_of(t, "(");
		parens -= parens && is_one_of(t, ")");
		if (is_one_of(t, "+") && i + 1 < raw.len && is_one_of(t + 1, "-"))
			continue;
		VEC_PUSH(row, *t);
	}
	VEC_FREE(&raw);
}

static bool same(const struct token *a, const struct token *b)
{
	char x[32], y[32], *ex, *ey;

	if (a->len == b->len && !memcmp(a->s, b->s, a->len))
		return true;
	if (a->len >= sizeof(x) || b->len >= sizeof(y) || !isdigit((unsigned char)*a->s) ||
		!isdigit((unsigned char)*b->s))
		return false;
	memcpy(x, a->s, a->len);
	memcpy(y, b->s, b->len);
	x[a->len] = y[b->len] = 0;
	return strtoull(x, &ex, 0) == strtoull(y, &ey, 0) && !*ex && !*ey;
}

size_t tokens_differ(const token_row *a, const token_row *b)
{
	for (size_t i = 0; i < a->len && i < b->len; i++)
		if (!same(&a->at[i], &b->at[i]))
			return i;
	return a->len == b->len ? SIZE_MAX : MIN(a->len, b->len);
}
