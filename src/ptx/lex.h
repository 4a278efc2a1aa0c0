/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Characters and gaps. The text ends in a zero byte and padding, so that no test for the end is
 * needed inside a token. */
#ifndef HEDDLE_PTX_LEX_H
#define HEDDLE_PTX_LEX_H

#include "ptx/parse.h"

enum { CH_ID = 1, CH_DIGIT = 2, CH_GAP = 4, CH_START = 8, CH_MNEM = 16 };
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
bool ptx_word_is(const char *s, const char *word);
/* Past one string, gap or character of text that is not looked into; counts lines. */
void ptx_step(struct ptx_parser *p);

#endif
