/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Character classes, and skipping of white space and comments. There is no separate tokenizer: the
 * parser reads characters, because the first character of a PTX token tells its kind. */
#include "ptx/lex.h"

#include <string.h>

#define LETTER CH_ID | CH_START | CH_MNEM | CH_PLAIN
#define DIGIT  CH_ID | CH_DIGIT | CH_MNEM | CH_PLAIN

const uint8_t ptx_char[256] = {
	['a' ... 'z'] = LETTER,
	['A' ... 'Z'] = LETTER,
	['_'] = LETTER,
	['$'] = LETTER,
	['%'] = CH_START | CH_PLAIN,
	['0' ... '9'] = DIGIT,
	['.'] = CH_MNEM | CH_PLAIN,
	[','] = CH_END | CH_PLAIN,
	['+'] = CH_PLAIN,
	['-'] = CH_PLAIN,
	[':'] = CH_PLAIN,
	['='] = CH_PLAIN,
	['@'] = CH_PLAIN,
	[';'] = CH_END,
	[']'] = CH_END,
	['}'] = CH_END,
	[')'] = CH_END,
	['\n'] = CH_GAP,
	['\r'] = CH_GAP,
	['\v'] = CH_GAP,
	['\f'] = CH_GAP,
	['/'] = CH_GAP,
	['#'] = CH_GAP,
};

static const char *line_end(struct ptx_parser *p, const char *s)
{
	const char *nl = memchr(s, '\n', (size_t)(p->end - s));

	return nl ? nl : p->end;
}

/* Skips a block comment. A comment without an end is an error, and extends to the end of the
 * text. */
static void skip_block(struct ptx_parser *p)
{
	const char *from = p->s;

	for (p->s += 2; p->s < p->end; p->s++) {
		if (p->s[0] == '*' && p->s[1] == '/') {
			p->s += 2;
			return;
		}
		if (*p->s == '\n') {
			p->line++;
			p->line_start = p->s + 1;
		}
	}
	ptx_error(p, from, 2, "this comment has no end");
}

/* Returns true if a preprocessor line such as # 12 "file.cu" starts here. The lexer treats these
 * lines as comments. */
static bool at_hash_line(const struct ptx_parser *p)
{
	if (p->line_start > p->s) /* the text is only a piece of a line */
		return false;
	for (const char *s = p->line_start; s < p->s; s++)
		if (*s != ' ' && *s != '\t')
			return false;
	return true;
}

void ptx_skip_slow(struct ptx_parser *p)
{
	/* Stops at p->end, because ptx_clean_text passes only part of the text, and a comment can
	 * follow that part directly. */
	while (p->s < p->end) {
		switch (*p->s) {
		case '\n':
			p->line++;
			p->line_start = p->s + 1;
			/* fallthrough */
		case ' ':
		case '\t':
		case '\r':
		case '\v':
		case '\f':
			p->s++;
			break;
		case '/':
			if (p->s >= p->end) /* this is the end of a piece of the text */
				return;
			if (p->s[1] == '/')
				p->s = line_end(p, p->s);
			else if (p->s[1] == '*')
				skip_block(p);
			else
				return;
			break;
		case '#':
			if (p->s >= p->end || !at_hash_line(p))
				return;
			p->s = line_end(p, p->s);
			break;
		default:
			return;
		}
	}
}

struct ptx_name *ptx_scan_name(struct ptx_parser *p, const char *s, const char **ret_end)
{
	struct ptx_name *n;
	const char *at = s;
	uint64_t hash = 0, w, ends;
	size_t len;

	for (; !(ends = ptx_eight_ends(w = ptx_eight(at))); at += 8)
		hash = ptx_hash_eight(hash, w);
	len = (size_t)(at - s) + PTX_FIRST(ends);
	n = ptx_name_hashed(p->m, s, len, ptx_hash_end(hash, w, PTX_BELOW(ends), len));
	if (!n)
		ptx_give_up(p, 0);
	*ret_end = s + len;
	return n;
}

void ptx_step(struct ptx_parser *p)
{
	if (*p->s == '"') {
		const char *from = p->s;

		for (p->s++; p->s < p->end && *p->s != '"' && *p->s != '\n'; p->s++)
			if (*p->s == '\\' && p->s[1] != '\n' && p->s + 1 < p->end)
				p->s++;
		if (*p->s == '"')
			p->s++;
		else
			ptx_error(p, from, 1, "this string has no end");
		return;
	}
	if (ch_is(*p->s, CH_GAP)) {
		const char *before = p->s;

		ptx_skip_slow(p);
		if (p->s != before)
			return;
	}
	if (p->s < p->end)
		p->s++;
}

static bool is_gap(char c)
{
	return c == ' ' || c == '\t' || ch_is(c, CH_GAP);
}

/* Copies characters and returns where copying stopped: at a string, a comment, a zero byte, or
 * white space. A single white space character between two others is copied and does not stop it. */
static const char *clean_run(const char *s, const char *to, char *out, size_t *ret_n)
{
	size_t n = *ret_n;

	for (; s < to; s++) {
		if (ch_is(*s, CH_PLAIN)) {
			out[n++] = *s;
		} else if (*s == ' ' || *s == '\t' || *s == '\n') {
			if (n == 0 || s + 1 >= to || is_gap(s[1]))
				break;
			out[n++] = *s == '\n' ? '\n' : ' ';
		} else if (*s == 0 || *s == '"' || ch_is(*s, CH_GAP)) {
			break;
		} else {
			out[n++] = *s;
		}
	}
	*ret_n = n;
	return s;
}

/* Reports a zero byte as an error, because it would end the copy and silently lose the text after
 * it. p->s is already past the zero byte. */
static void refuse_zero(struct ptx_parser *p, const char *at)
{
	uint32_t line = p->line;

	for (const char *s = at; s < p->s; s++)
		line -= *s == '\n';
	if (p->diags)
		diag_add(p->diags, DIAG_ERROR, line,
			line == p->line ? (uint32_t)(at - p->line_start) + 1 : 0, 1,
			"a zero byte stands in this text");
}

/* Copies text. Replaces each run of comments and white space by one blank, or by a line break if
 * the run contains a line break. A '#' that is not the first character of its line must not become
 * the first one in the copy, because the parser, which reads the copy again, would then skip the
 * line as a preprocessor line. So before a '#' the run always becomes a blank. */
const char *ptx_clean_text(struct ptx_parser *p, const char *from, const char *to)
{
	struct ptx_parser q = {
		.m = p->m, .diags = NULL, .s = from, .end = to, .line_start = to + 1};
	char *out = arena_alloc(&p->m->arena, (size_t)(to - from) + 1);
	size_t n = 0;

	if (!out)
		ptx_give_up(p, 0);
	while (q.s < to) {
		const char *at = clean_run(q.s, to, out, &n), *zero;
		uint32_t line = q.line;

		q.s = at;
		if (at >= to)
			break;
		if (is_gap(*at)) {
			ptx_skip_slow(&q);
			if (q.s > to)
				break;
			if (q.s != at) {
				if (n && q.s < to)
					out[n++] = q.line != line && *q.s != '#' ? '\n' : ' ';
				continue;
			}
		}
		ptx_step(&q);
		if (q.s > to)
			q.s = to;
		zero = memchr(at, 0, (size_t)(q.s - at));
		if (zero) {
			refuse_zero(p, zero);
			break;
		}
		memcpy(out + n, at, (size_t)(q.s - at));
		n += (size_t)(q.s - at);
	}
	out[n] = 0;
	return out;
}
