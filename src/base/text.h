/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles words that users type (suggestions for misspelled words), counts with their nouns, and text
 * from other programs, which must not control a terminal. */
#ifndef HEDDLE_TEXT_H
#define HEDDLE_TEXT_H

#include "base/base.h"

/* Returns true if word differs from known by at most one letter (added, missing or changed), or if
 * two adjacent letters are swapped. */
bool text_is_near(const char *word, size_t len, const char *known, size_t known_len);

/* Returns the length of the valid UTF-8 character at s (RFC 3629: no surrogates, no overlong forms,
 * nothing above U+10FFFF), or 0. Reads at most len bytes. */
unsigned text_utf8(const char *s, size_t len);

/* Returns true if the valid character of n bytes at s is plain: it does not control a terminal (C0,
 * DEL, C1), and does not change the order or place of other characters (line and paragraph
 * separators, marks and embeddings of direction, characters of no width). */
bool text_is_plain(const char *s, unsigned n);

/* Replaces each byte that is not part of a plain character by '?', except the characters in `keep`,
 * for example "\t\n". */
void text_plain(char *text, size_t len, const char *keep);

/* Writes a count with its noun to buf, and returns buf: "1 launch", "2 launches", "0 rounds". The noun
 * is the singular of one that takes -s, or -es after ch, s, sh and x. */
#define TEXT_COUNTED 64
const char *text_counted(char buf[TEXT_COUNTED], uint64_t n, const char *noun);
/* Does the same in a buffer that lasts until the enclosing block ends. */
#define COUNTED(n, noun) text_counted((char[TEXT_COUNTED]){0}, n, noun)

/* Appends text in lines of at most `columns` characters, broken at spaces, each with a newline. Lines
 * after the first begin with `indent` spaces, or fewer if columns is small. A word that is longer than
 * a line has a line of its own, unbroken. columns 0: one line. */
void text_wrap(const char *text, unsigned columns, unsigned indent, struct strbuf *out);

#endif
