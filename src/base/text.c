/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds nearly matching words and plain characters, independently of the locale. */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool text_is_near(const char *word, size_t len, const char *known, size_t known_len)
{
	size_t same = 0, tail = 0;

	if (len > known_len + 1 || known_len > len + 1)
		return false;
	while (same < MIN(len, known_len) && word[same] == known[same])
		same++;
	while (tail < MIN(len, known_len) - same &&
		word[len - 1 - tail] == known[known_len - 1 - tail])
		tail++;
	if (MAX(len, known_len) - same - tail <= 1)
		return true;
	return len == known_len && len - same - tail == 2 && word[same] == known[same + 1] &&
	       word[same + 1] == known[same];
}

unsigned text_utf8(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned n;

	if (!len)
		return 0;
	n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (n > len || (s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

bool text_is_plain(const char *text, unsigned n)
{
	static const struct {
		uint32_t first, last;
	} others[] = {
		{0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, /* controls, soft hyphen */
		{0x61c, 0x61c},                        /* Arabic letter mark */
		{0x180e, 0x180e},                      /* Mongolian vowel separator (zero width) */
		{0x200b, 0x200f},                      /* zero-width characters, direction marks */
		{0x2028, 0x202e},                      /* separators, bidirectional controls */
		{0x2060, 0x206f},                      /* zero-width characters, isolates */
		{0xfe00, 0xfe0f},                      /* variation selectors */
		{0xfeff, 0xfeff}, {0xfff9, 0xfffb},    /* zero-width space, annotations */
		{0xe0000, 0xe0fff},                    /* tags */
	};
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (unsigned i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (c >= others[i].first && c <= others[i].last)
			return false;
	return true;
}

void text_plain(char *text, size_t len, const char *keep)
{
	for (size_t i = 0; i < len;) {
		unsigned n = text_utf8(text + i, len - i);
		bool plain = n && (text_is_plain(text + i, n) ||
					  (n == 1 && text[i] && strchr(keep, text[i])));

		if (!plain)
			memset(text + i, '?', MAX(n, 1));
		i += MAX(n, 1);
	}
}

const char *text_counted(char buf[TEXT_COUNTED], uint64_t n, const char *noun)
{
	size_t len = strlen(noun);
	char last = len ? noun[len - 1] : 0;
	bool hisses = last == 's' || last == 'x' ||
		      (last == 'h' && len > 1 && strchr("cs", noun[len - 2]));

	snprintf(buf, TEXT_COUNTED, "%" PRIu64 " %s%s", n, noun, PLURAL(n, hisses ? "es" : "s"));
	return buf;
}

void text_wrap(const char *text, unsigned columns, unsigned indent, struct strbuf *out)
{
	unsigned margin = 0;

	indent = MIN(indent, columns / 3);
	do {
		size_t len = strlen(text), room = columns - margin, cut = len;

		if (columns && len > room) {
			/* Leading spaces are indentation, so the line is not broken there. */
			size_t first = strspn(text, " ");

			for (cut = room; cut > first && text[cut] != ' '; cut--)
				;
			if (cut <= first)
				cut = first + strcspn(text + first, " ");
		}
		len = cut;
		while (len && text[len - 1] == ' ')
			len--;
		strbuf_printf(out, "%*s%.*s\n", (int)margin, "", (int)len, text);
		text += cut;
		text += strspn(text, " ");
		margin = indent;
	} while (*text);
}
