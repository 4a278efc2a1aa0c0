/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prints and parses ways of running kernels together (way.h). Parsing a printed way
 * gives the same way. */
#include "host/way.h"
#include "base/number.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define SHARE_MAX 1000000

const char *const host_way_names[HOST_WAYS] = {
	"sequential", "streams", "green", "merge", "vertical", "horizontal", "weave"};
const char *const host_way_passes[HOST_WAYS] = {
	[HOST_WAY_MERGE] = "merge",
	[HOST_WAY_VERTICAL] = "fuse-vertical",
	[HOST_WAY_HORIZONTAL] = "fuse-horizontal",
	[HOST_WAY_WEAVE] = "weave",
};
static const char *const orders[] = {"steal", "partition", "mixed", "apart", "steal:shared"};

static bool name_parse(const char *text, enum host_way *ret)
{
	for (unsigned i = 0; i < HOST_WAYS; i++)
		if (!strcmp(text, host_way_names[i])) {
			*ret = (enum host_way)i;
			return true;
		}
	return false;
}

const char *host_order_name(enum ctl_order order)
{
	return orders[order];
}

/* Parses "N:N...", with one number for each of the n kernels. Returns NULL or an error text. */
static const char *parse_shares(struct arena *a, const char *text, unsigned n, uint32_t *ret)
{
	unsigned given = 1;

	for (const char *p = text; *p; p++)
		given += *p == ':';
	if (given != n)
		return arena_printf(a, "%u number%s for %u kernel%s", given, PLURAL(given, "s"), n,
			PLURAL(n, "s"));
	for (unsigned k = 0; k < n; k++) {
		size_t len = strcspn(text, ":");
		uint64_t share = 0;

		if (number_scaled(text, &share) != text + len || share < 1 || share > SHARE_MAX)
			return arena_printf(a, "'%.*s' is not a number from 1 to %d",
				(int)MIN(len, 40), text, SHARE_MAX);
		ret[k] = (uint32_t)share;
		text += len + 1;
	}
	return NULL;
}

const char *host_order_parse(
	struct arena *a, const char *text, unsigned n, struct host_merging *ret)
{
	size_t len = strcspn(text, "=");

	for (unsigned k = 0; k < n; k++)
		ret->share[k] = 1;
	for (unsigned i = 0; i < ARRAY_LEN(orders); i++) {
		if (strlen(orders[i]) != len || memcmp(orders[i], text, len) != 0)
			continue;
		ret->order = (enum ctl_order)i;
		if (!text[len])
			return NULL;
		if (ctl_steals(ret->order))
			return arena_printf(a, "%s has no shares", orders[i]);
		return parse_shares(a, text + len + 1, n, ret->share);
	}
	return arena_printf(a,
		"'%s' is not one of steal, steal:shared, partition, mixed, apart, the latter three "
		"with =N:N... or without",
		text);
}

const char *host_chunk_parse(
	struct arena *a, const char *text, unsigned n, struct host_merging *ret)
{
	return strchr(text, ':') ? parse_shares(a, text, n, ret->chunks)
				 : parse_shares(a, text, 1, &ret->chunk);
}

const char *host_own_parse(struct arena *a, const char *text, unsigned n, struct host_merging *ret)
{
	uint32_t own = 0;

	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ":");
		unsigned long k = 0;

		if (len == 1 && *p >= '1' && *p <= '9')
			k = (unsigned long)(*p - '0');
		if (k < 1 || k > n)
			return arena_printf(a, "'%.*s' is not a kernel's number, 1 to %u",
				(int)MIN(len, 40), p, n);
		own |= 1u << (k - 1);
		p += len;
		if (!*p)
			break;
	}
	if (own == (1u << n) - 1)
		return "one kernel at least has no launch of its own";
	ret->own = own;
	return NULL;
}

static bool has_shares(enum host_way way, const struct host_merging *m)
{
	return way == HOST_WAY_GREEN || (way == HOST_WAY_MERGE && !ctl_steals(m->order));
}

void host_way_print(
	enum host_way way, const struct host_merging *m, unsigned n, char *buf, size_t size)
{
	struct strbuf b = {0};

	strbuf_puts(&b, host_way_names[way]);
	if (way == HOST_WAY_MERGE)
		strbuf_printf(&b, " %s", orders[m->order]);
	for (unsigned k = 0; has_shares(way, m) && k < n; k++)
		strbuf_printf(&b, "%c%u", k ? ':' : '=', m->share[k]);
	if (way == HOST_WAY_MERGE && m->help_others)
		strbuf_puts(&b, " help");
	for (unsigned k = 0; way == HOST_WAY_MERGE && m->chunks[0] && k < n; k++)
		strbuf_printf(&b, "%s%u", k ? ":" : " chunk=", m->chunks[k]);
	if (way == HOST_WAY_MERGE && m->chunk > 1 && !m->chunks[0])
		strbuf_printf(&b, " chunk=%u", m->chunk);
	if (way == HOST_WAY_MERGE && m->workers)
		strbuf_printf(&b, " total-workers=%u", m->workers);
	if (way == HOST_WAY_MERGE && m->workers_per_sm)
		strbuf_printf(&b, " per-sm=%u", m->workers_per_sm);
	for (unsigned k = 0, first = 1; way == HOST_WAY_MERGE && k < n; k++)
		if (m->own >> k & 1) {
			strbuf_printf(&b, "%s%u", first ? " own=" : ":", k + 1);
			first = 0;
		}
	if (way == HOST_WAY_WEAVE && m->unsliced)
		strbuf_puts(&b, " unsliced");
	if (way == HOST_WAY_WEAVE && m->branches)
		strbuf_puts(&b, " branches");
	if (way == HOST_WAY_WEAVE && m->registers)
		strbuf_printf(&b, " registers=%u", m->registers);
	snprintf(buf, size, "%s", b.failed ? "" : b.at);
	strbuf_finish(&b);
}

/* If the word begins with name, returns the text after it; otherwise NULL. */
static const char *text_after(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, name, len) == 0 ? word + len : NULL;
}

static const char *parse_number(
	struct arena *a, const char *text, unsigned min, unsigned max, uint32_t *ret)
{
	uint64_t n;
	const char *end = number_scaled(text, &n);

	if (!end || *end || n < min || n > max)
		return arena_printf(a, "'%s' is not a number from %u to %u", text, min, max);
	*ret = (uint32_t)n;
	return NULL;
}

/* Parses an option after "weave": "unsliced", "branches" or "registers=N". */
static const char *parse_weaving(struct arena *a, const char *word, struct host_merging *ret_m)
{
	const char *wrong, *text = text_after(word, "registers=");

	if (!strcmp(word, "unsliced")) {
		ret_m->unsliced = true;
	} else if (!strcmp(word, "branches")) {
		ret_m->branches = true;
	} else if (text) {
		wrong = parse_number(
			a, text, HOST_REGISTERS_MIN, HOST_REGISTERS_NONE, &ret_m->registers);
		if (wrong)
			return wrong;
		ret_m->registers %= HOST_REGISTERS_NONE;
	} else {
		return arena_printf(a, "'%s' is not one of unsliced, branches, registers=N", word);
	}
	return NULL;
}

/* Parses one of the words that can follow the order of "merge". */
static const char *parse_word(
	struct arena *a, const char *word, unsigned kernels, struct host_merging *ret_m)
{
	const char *text;

	if (!strcmp(word, "help")) {
		ret_m->help_others = true;
		return NULL;
	}
	if ((text = text_after(word, "chunk=")))
		return host_chunk_parse(a, text, kernels, ret_m);
	if ((text = text_after(word, "own=")))
		return host_own_parse(a, text, kernels, ret_m);
	if ((text = text_after(word, "total-workers=")))
		return parse_number(a, text, 1, SHARE_MAX, &ret_m->workers);
	if ((text = text_after(word, "per-sm=")))
		return parse_number(a, text, 1, SHARE_MAX, &ret_m->workers_per_sm);
	return arena_printf(a,
		"'%s' is not one of help, chunk=N[:N...], total-workers=N, per-sm=N, own=K[:K...]",
		word);
}

/* Parses the words of a way, such as "merge", "partition=3:1" and "help". If the first word
 * was of the form "green=3:1", the caller has removed the part from "=" on, and `shares` has its
 * numbers; otherwise `shares` is NULL. */
static const char *parse_words(struct arena *a, char (*word)[128], int words, const char *shares,
	unsigned n, enum host_way *ret_way, struct host_merging *ret_m)
{
	const char *wrong = NULL;

	if (!name_parse(word[0], ret_way))
		return arena_printf(a,
			"'%s' is not one of sequential, streams, green, merge, vertical, "
			"horizontal, weave",
			word[0]);
	if (shares && *ret_way != HOST_WAY_GREEN)
		return arena_printf(a, "%s has no shares", word[0]);
	if (words > 1 && *ret_way != HOST_WAY_MERGE && *ret_way != HOST_WAY_WEAVE)
		return arena_printf(a, "'%s' after %s", word[1], word[0]);
	if (shares)
		wrong = parse_shares(a, shares, n, ret_m->share);
	if (*ret_way == HOST_WAY_MERGE && words > 1)
		wrong = host_order_parse(a, word[1], n, ret_m);
	for (int i = *ret_way == HOST_WAY_WEAVE ? 1 : 2; i < words && !wrong; i++)
		wrong = *ret_way == HOST_WAY_WEAVE ? parse_weaving(a, word[i], ret_m)
						   : parse_word(a, word[i], n, ret_m);
	return wrong;
}

const char *host_way_parse(struct arena *a, const char *text, unsigned n, enum host_way *ret_way,
	struct host_merging *ret_m)
{
	char word[7][128], more;
	int words = sscanf(text, "%127s %127s %127s %127s %127s %127s %127s %c", word[0], word[1],
		word[2], word[3], word[4], word[5], word[6], &more);
	char *shares = words > 0 ? strchr(word[0], '=') : NULL;
	struct host_merging m = *ret_m;
	enum host_way way = HOST_WAY_MERGE;
	const char *wrong;

	if (words < 1)
		return "it is empty";
	if (words > 7)
		return "it has more than seven words";
	if (shares)
		*shares++ = 0;
	m.order = CTL_STEAL;
	m.help_others = m.unsliced = m.branches = false;
	m.chunk = 1;
	m.own = m.registers = m.workers = m.workers_per_sm = 0;
	memset(m.chunks, 0, sizeof(m.chunks));
	for (unsigned k = 0; k < n; k++)
		m.share[k] = 1;
	wrong = parse_words(a, word, words, shares, n, &way, &m);
	if (!wrong) {
		*ret_way = way;
		*ret_m = m;
	}
	return wrong;
}

void host_way_mirror(struct host_merging *m)
{
	struct host_merging as = *m;

	for (unsigned k = 0; k < 2; k++) {
		m->share[k] = as.share[1 - k];
		m->chunks[k] = as.chunks[1 - k];
	}
	m->own = (as.own & 1) << 1 | (as.own >> 1 & 1);
}
