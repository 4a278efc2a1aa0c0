/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Words for ways of running kernels together. What is printed can be parsed. */
#include "dev/way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARE_MAX 1000000

const char *const dev_hows[DEV_HOWS] = {
	"sequential", "streams", "green", "merge", "vertical", "horizontal", "weave"};
const char *const dev_how_passes[DEV_HOWS] = {
	[DEV_MERGE] = "merge",
	[DEV_VERTICAL] = "fuse-vertical",
	[DEV_HORIZONTAL] = "fuse-horizontal",
	[DEV_WEAVE] = "weave",
};
static const char *const orders[] = {"steal", "partition", "mixed", "apart", "steal:shared"};

bool dev_how_parse(const char *text, enum dev_how *ret)
{
	for (unsigned i = 0; i < DEV_HOWS; i++)
		if (!strcmp(text, dev_hows[i])) {
			*ret = (enum dev_how)i;
			return true;
		}
	return false;
}

const char *dev_order_name(enum ctl_order order)
{
	return orders[order];
}

/* "N:N...", one for each of n. */
static const char *parse_shares(struct arena *a, const char *text, unsigned n, uint32_t *ret)
{
	unsigned given = 1;

	for (const char *p = text; *p; p++)
		given += *p == ':';
	if (given != n)
		return arena_printf(a, "%u numbers for %u kernels", given, n);
	for (unsigned k = 0; k < n; k++) {
		size_t len = strcspn(text, ":");
		unsigned long share = 0;

		if (len && len < 8 && strspn(text, "0123456789") >= len)
			share = strtoul(text, NULL, 10);
		if (share < 1 || share > SHARE_MAX)
			return arena_printf(a, "'%.*s' is not a number from 1 to %d",
				(int)MIN(len, 40), text, SHARE_MAX);
		ret[k] = (uint32_t)share;
		text += len + 1;
	}
	return NULL;
}

const char *dev_order_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret)
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

const char *dev_chunk_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret)
{
	return strchr(text, ':') ? parse_shares(a, text, n, ret->chunks)
				 : parse_shares(a, text, 1, &ret->chunk);
}

const char *dev_own_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret)
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

static bool has_shares(enum dev_how how, const struct dev_merging *m)
{
	return how == DEV_GREEN || (how == DEV_MERGE && !ctl_steals(m->order));
}

void dev_way_print(
	enum dev_how how, const struct dev_merging *m, unsigned n, char *buf, size_t size)
{
	struct strbuf b = {0};

	strbuf_puts(&b, dev_hows[how]);
	if (how == DEV_MERGE)
		strbuf_printf(&b, " %s", orders[m->order]);
	for (unsigned k = 0; has_shares(how, m) && k < n; k++)
		strbuf_printf(&b, "%c%u", k ? ':' : '=', m->share[k]);
	if (how == DEV_MERGE && m->help_others)
		strbuf_puts(&b, " help");
	for (unsigned k = 0; how == DEV_MERGE && m->chunks[0] && k < n; k++)
		strbuf_printf(&b, "%s%u", k ? ":" : " chunk=", m->chunks[k]);
	if (how == DEV_MERGE && m->chunk > 1 && !m->chunks[0])
		strbuf_printf(&b, " chunk=%u", m->chunk);
	if (how == DEV_MERGE && m->workers)
		strbuf_printf(&b, " total-workers=%u", m->workers);
	if (how == DEV_MERGE && m->workers_per_sm)
		strbuf_printf(&b, " per-sm=%u", m->workers_per_sm);
	for (unsigned k = 0, first = 1; how == DEV_MERGE && k < n; k++)
		if (m->own >> k & 1) {
			strbuf_printf(&b, "%s%u", first ? " own=" : ":", k + 1);
			first = 0;
		}
	if (how == DEV_WEAVE && m->unsliced)
		strbuf_puts(&b, " unsliced");
	if (how == DEV_WEAVE && m->branches)
		strbuf_puts(&b, " branches");
	if (how == DEV_WEAVE && m->registers)
		strbuf_printf(&b, " registers=%u", m->registers);
	snprintf(buf, size, "%s", b.failed ? "" : b.at);
	strbuf_finish(&b);
}

/* "unsliced", "branches", "registers=N", behind "weave". */
static bool parse_weaving(const char *word, struct dev_merging *ret_m)
{
	bool *const words[] = {&ret_m->unsliced, &ret_m->branches};
	static const char *const names[] = {"unsliced", "branches"};
	unsigned n;
	char more;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(word, names[i])) {
			*words[i] = true;
			return true;
		}
	if (sscanf(word, "registers=%u%c", &n, &more) != 1 || n < DEV_REGISTERS_MIN ||
		n > DEV_REGISTERS_NONE)
		return false;
	ret_m->registers = n < DEV_REGISTERS_NONE ? n : 0;
	return true;
}

/* "help", "chunk=N", "chunk=N:N...", "total-workers=N", "per-sm=N", "own=K:K...", behind an order.
 */
static bool parse_word(
	struct arena *a, const char *word, unsigned kernels, struct dev_merging *ret_m)
{
	const struct {
		const char *name;
		uint32_t *to;
	} numbers[] = {{"total-workers=", &ret_m->workers}, {"per-sm=", &ret_m->workers_per_sm}};
	unsigned n;
	char more;

	if (!strcmp(word, "help")) {
		ret_m->help_others = true;
		return true;
	}
	if (!strncmp(word, "chunk=", 6))
		return !dev_chunk_parse(a, word + 6, kernels, ret_m);
	if (!strncmp(word, "own=", 4))
		return !dev_own_parse(a, word + 4, kernels, ret_m);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		size_t len = strlen(numbers[i].name);

		if (strncmp(word, numbers[i].name, len) != 0)
			continue;
		if (sscanf(word + len, "%u%c", &n, &more) != 1 || n < 1 || n > SHARE_MAX)
			return false;
		*numbers[i].to = n;
		return true;
	}
	return false;
}

bool dev_way_parse(const char *text, unsigned n, enum dev_how *ret_how, struct dev_merging *ret_m)
{
	char word[7][128], more;
	int words = sscanf(text, "%127s %127s %127s %127s %127s %127s %127s %c", word[0], word[1],
		word[2], word[3], word[4], word[5], word[6], &more);
	char *shares = words > 0 ? strchr(word[0], '=') : NULL;
	struct arena a;
	bool ok;

	if (shares)
		*shares++ = 0;
	if (words < 1 || words > 7 || !dev_how_parse(word[0], ret_how))
		return false;
	if ((*ret_how == DEV_GREEN) != (shares != NULL))
		return false;
	if (*ret_how != DEV_MERGE && *ret_how != DEV_WEAVE && words > 1)
		return false;
	ret_m->help_others = false;
	ret_m->chunk = 1;
	ret_m->own = 0;
	ret_m->registers = 0;
	ret_m->unsliced = ret_m->branches = false;
	memset(ret_m->chunks, 0, sizeof(ret_m->chunks));
	arena_init(&a, 0);
	ok = *ret_how == DEV_GREEN   ? !parse_shares(&a, shares, n, ret_m->share)
	     : *ret_how == DEV_MERGE ? words >= 2 && !dev_order_parse(&a, word[1], n, ret_m)
				     : true;
	for (int i = *ret_how == DEV_WEAVE ? 1 : 2; i < words && ok; i++)
		ok = *ret_how == DEV_WEAVE ? parse_weaving(word[i], ret_m)
					   : parse_word(&a, word[i], n, ret_m);
	arena_finish(&a);
	return ok;
}
