/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses nvdisasm's listing of a cubin (-c), line by line: code sections, labels, instructions.
 * A code address consists of a section's number and an offset in it. So jumps to labels, calls
 * of functions in other sections, and addresses in registers all use the same numbers. */
#include "sass.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int grow(void **at, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t more = *cap ? *cap * 2 : 256;
	void *p;

	if (n < *cap)
		return 0;
	p = realloc(*at, more * size);
	if (!p)
		return -ENOMEM;
	*at = p;
	*cap = more;
	return 0;
}

static int add_label(struct sass_code *c, const char *name)
{
	const struct sass_section *s = &c->sections[c->n_sections - 1];
	/* The label belongs to the next instruction. */
	uint64_t at = s->n ? c->insns[s->first + s->n - 1].at + 16ull : 0;
	int r = grow((void **)&c->labels, c->n_labels, &c->cap_labels, sizeof(*c->labels));

	if (r)
		return r;
	c->labels[c->n_labels++] = (struct sass_symbol){
		.name = name,
		.value = CODE_BASE + (c->n_sections - 1) * CODE_SECTION + at,
	};
	return 0;
}

static int add_insn(struct sass_code *c, uint32_t at, char *text)
{
	struct sass_section *s = &c->sections[c->n_sections - 1];
	int r = grow((void **)&c->insns, c->n_insns, &c->cap_insns, sizeof(*c->insns));

	if (r)
		return r;
	c->insns[c->n_insns++] =
		(struct sass_insn){.at = at, .section = c->n_sections - 1, .text = text};
	s->n++;
	return s->n * 16 == at + 16 ? 0 : -EINVAL;
}

static int add_section(struct sass_code *c, const char *name)
{
	int r = grow((void **)&c->sections, c->n_sections, &c->cap_sections, sizeof(*c->sections));

	if (r)
		return r;
	c->sections[c->n_sections++] = (struct sass_section){.name = name, .first = c->n_insns};
	return 0;
}

static int parse_line(struct sass_code *c, char *line)
{
	char *s = line, *end;

	while (isspace((unsigned char)*s))
		s++;
	if (!strncmp(s, "/*", 2) && isxdigit((unsigned char)s[2]) && c->n_sections) {
		uint32_t at = (uint32_t)strtoul(s + 2, &end, 16);
		if (strncmp(end, "*/", 2) != 0)
			return 0;
		s = end + 2;
		while (isspace((unsigned char)*s))
			s++;
		/* Without -c, nvdisasm prints the encoding after the last semicolon. */
		end = strrchr(s, ';');
		if (!end)
			return -EINVAL;
		*end = 0;
		return add_insn(c, at, s);
	}
	end = s + strlen(s);
	if (end == s || end[-1] != ':' || strchr(s, ' '))
		return 0;
	end[-1] = 0;
	if (!strncmp(s, ".text.", 6))
		return add_section(c, s + 6);
	/* A kernel's own label comes before its section. */
	return c->n_sections ? add_label(c, s) : 0;
}

int64_t sass_label(const struct sass_code *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_labels; i++)
		if (!strcmp(c->labels[i].name, name))
			return (int64_t)c->labels[i].value;
	for (uint32_t i = 0; i < c->n_sections; i++)
		if (!strcmp(c->sections[i].name, name))
			return (int64_t)(CODE_BASE + i * CODE_SECTION);
	return -1;
}

/* Drops labels with a section's name: they appear at the end of the preceding section, and such
 * names are looked up as sections. */
static void drop_misplaced(struct sass_code *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_labels; i++) {
		bool section = false;
		for (uint32_t k = 0; k < c->n_sections; k++)
			section |= !strcmp(c->labels[i].name, c->sections[k].name);
		if (!section)
			c->labels[n++] = c->labels[i];
	}
	c->n_labels = n;
}

int sass_listing_parse(struct sass_code *c, char *text, const char **ret_why)
{
	static _Thread_local char why[200];
	char *save = NULL;

	c->listing = text;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char copy[120];
		snprintf(copy, sizeof(copy), "%s", l);
		int r = parse_line(c, l);
		if (r) {
			snprintf(why, sizeof(why), "nvdisasm: line not understood: %s", copy);
			*ret_why = why;
			return r;
		}
	}
	drop_misplaced(c);
	for (uint32_t i = 0; i < c->n_insns; i++) {
		char copy[400];
		snprintf(copy, sizeof(copy), "%s", c->insns[i].text);
		sass_decode(c, &c->insns[i], copy);
	}
	return 0;
}
