/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Character classes, and skipping of white space and comments. A zero byte and padding follow the
 * text, so code that reads inside a token need not test for the end of the text. */
#ifndef HEDDLE_PTX_LEX_H
#define HEDDLE_PTX_LEX_H

#include "ptx/parse.h"

#include <string.h>

enum {
	CH_ID = 1,
	CH_DIGIT = 2,
	CH_GAP = 4, /* white space except blanks and tabs; beginning of a comment */
	CH_START = 8,
	CH_MNEM = 16,
	CH_END = 32, /* can follow an operand */
	/* no white space, string or comment, and no character that nests or ends a directive */
	CH_PLAIN = 64,
};
extern const uint8_t ptx_char[256];

static inline bool ch_is(char c, unsigned set)
{
	return ptx_char[(unsigned char)c] & set;
}

void ptx_skip_slow(struct ptx_parser *p);

/* Skips white space and comments, and counts the lines skipped. */
static inline void ptx_skip(struct ptx_parser *p)
{
	const char *s = p->s;

	while (*s == ' ' || *s == '\t')
		s++;
	p->s = s;
	if (ch_is(*s, CH_GAP))
		ptx_skip_slow(p);
}

/* Does the same as ptx_skip, but is faster where line breaks are expected. */
static inline void ptx_skip_lines(struct ptx_parser *p)
{
	const char *s = p->s;

	for (;;) {
		if (*s == '\n') {
			p->line++;
			p->line_start = ++s;
		} else if (*s == '\t' || *s == ' ') {
			s++;
		} else {
			break;
		}
	}
	p->s = s;
	if (ch_is(*s, CH_GAP))
		ptx_skip_slow(p);
}

/* Returns the end of the identifier at s, or s if there is none. */
static inline const char *ptx_ident_end(const char *s)
{
	if (!ch_is(*s, CH_START))
		return s;
	for (s++; ch_is(*s, CH_ID); s++)
		;
	return s;
}

static inline bool ptx_accept(struct ptx_parser *p, char c)
{
	ptx_skip(p);
	if (*p->s != c)
		return false;
	p->s++;
	return true;
}

/* Returns true if the text at s is the given word (a keyword or a directive) and not a longer
 * identifier. */
static inline bool ptx_word_is(const char *s, const char *word)
{
	for (; *word; s++, word++)
		if (*s != *word)
			return false;
	return !ch_is(*s, CH_ID);
}

/* Reads a register at s, if it belongs to a family ("%r12") or has a short name without digits
 * ("%SP"); nearly all registers do. Returns the end of its name. Returns NULL if there is no such
 * register at s; then ptx_find_reg has to look up the name. */
static inline const char *ptx_family_reg(
	const struct ptx_scope *sc, const char *s, uint32_t *ret_reg)
{
	const struct ptx_prefix_entry *entry;
	const struct ptx_sym *sym;
	uint64_t w = ptx_eight(s), other;
	uint32_t number;
	unsigned digits;

	/* In a prefix every character after '%', except '$', has bit 0x40 set. Digits do not, so
	 * the lowest clear bit marks the end of the prefix. */
	other = (~w & 0x4040404040404000u) | (uint64_t)1 << 62;
	s += PTX_FIRST(other);
	w &= ((uint64_t)1 << 8 * PTX_FIRST(other)) - 1;
	entry = &sc->prefixes[ptx_prefix_entry(w)];
	if (entry->key != w)
		return NULL;
	w = ptx_eight(s);
	other = ptx_eight_nondigits(w);
	if (!other)
		return NULL;
	digits = PTX_FIRST(other);
	if (ch_is(s[digits], CH_ID))
		return NULL;
	if (!digits) {
		sym = entry->name->local;
		if (!sym || sym->kind != PTX_SYM_REG || sym->count)
			return NULL;
		*ret_reg = sym->first_reg;
		return s;
	}
	number = ptx_eight_value(w, digits);
	sym = entry->name->family;
	if (!sym || number >= sym->count || (*s == '0' && digits > 1) || entry->name->has_singles ||
		sc->digit_families)
		return NULL;
	*ret_reg = sym->first_reg + number;
	return s + digits;
}

/* Reads the name at s. The name begins like an identifier or a number; names that begin with '%'
 * need another function. */
struct ptx_name *ptx_scan_name(struct ptx_parser *p, const char *s, const char **ret_end);
/* Skips one string, gap (white space, comment) or character of text that is not parsed. Counts the
 * lines that it skips. */
void ptx_step(struct ptx_parser *p);

#endif
