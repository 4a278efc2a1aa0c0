/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Characters and gaps. The text ends in a zero byte and padding, so that no test for the end is
 * needed inside a token. */
#ifndef HEDDLE_PTX_LEX_H
#define HEDDLE_PTX_LEX_H

#include "ptx/parse.h"

#include <string.h>

enum {
	CH_ID = 1,
	CH_DIGIT = 2,
	CH_GAP = 4, /* white space other than blanks and tabs; comments */
	CH_START = 8,
	CH_MNEM = 16,
	CH_END = 32,   /* may follow an operand */
	CH_PLAIN = 64, /* neither white space, string, comment nor what nests or ends a directive */
};
extern const uint8_t ptx_char[256];

static inline bool ch_is(char c, unsigned set)
{
	return ptx_char[(unsigned char)c] & set;
}

void ptx_skip_slow(struct ptx_parser *p);

/* White space and comments; counts lines. */
static inline void ptx_skip(struct ptx_parser *p)
{
	while (*p->s == ' ' || *p->s == '\t')
		p->s++;
	if (ch_is(*p->s, CH_GAP))
		ptx_skip_slow(p);
}

/* End of the identifier at s, or s. */
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

/* Whether a word (directive without its dot, keyword) stands at s. */
static inline bool ptx_word_is(const char *s, const char *word)
{
	size_t n;

	/* Nearly every comparison ends with the second character. */
	if (s[0] != word[0] || s[1] != word[1])
		return false;
	n = strlen(word);
	return !strncmp(s, word, n) && !ch_is(s[n], CH_ID);
}

/* The register "%r12" at p->s when it is one of a family, as nearly all are; p->s then stands
 * behind it. False does not say that there is none: ptx_find_reg knows. */
static inline bool ptx_family_reg(struct ptx_parser *p, uint32_t *ret_reg)
{
	const struct ptx_scope *sc = p->names;
	const struct ptx_prefix_slot *slot;
	const struct ptx_sym *family;
	const char *s = p->s, *digits;
	uint32_t key, number = 0;

	/* A prefix of two or three characters. */
	memcpy(&key, s, 4);
	digits = s + (ch_is(s[2], CH_DIGIT) ? 2 : 3);
	key &= digits == s + 2 ? 0xffff : 0xffffff;
	slot = &sc->prefixes[ptx_prefix_slot(key)];
	if (slot->key != key)
		return false;
	for (s = digits; (unsigned char)(*s - '0') < 10; s++)
		number = number * 10 + (uint32_t)(*s - '0');
	if (s == digits || s - digits > 9 || (*digits == '0' && s - digits > 1) || ch_is(*s, CH_ID))
		return false;
	family = slot->name->family;
	if (!family || number >= family->count || slot->name->has_singles || sc->digit_families)
		return false;
	p->s = s;
	*ret_reg = family->first_reg + number;
	return true;
}
/* Past one string, gap or character of text that is not looked into; counts lines. */
void ptx_step(struct ptx_parser *p);

#endif
