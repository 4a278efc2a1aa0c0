/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares two cubins: first all bytes, and if they differ, each section with the section of the
 * same name. */
#include "elf_same.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Section types of zero-initialised memory: the file holds sizes and no bytes. */
#define TYPE_GLOBAL (SHT_LOPROC + 7)
#define TYPE_SHARED (SHT_LOPROC + 10)

struct image {
	unsigned char *at;
	size_t len;
};

static int load(const char *path, struct image *im)
{
	FILE *f = fopen(path, "rb");

	*im = (struct image){0};
	if (!f)
		return -1;
	fseek(f, 0, SEEK_END);
	im->len = (size_t)ftell(f);
	rewind(f);
	im->at = malloc(im->len + 1);
	if (!im->at || fread(im->at, 1, im->len, f) != im->len || im->len < sizeof(Elf64_Ehdr)) {
		fclose(f);
		return -1;
	}
	fclose(f);
	return 0;
}

static const Elf64_Shdr *section(const struct image *im, unsigned i)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)im->at;

	return (const Elf64_Shdr *)(im->at + h->e_shoff) + i;
}

static const char *name_of(const struct image *im, unsigned i)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)im->at;

	return (const char *)im->at + section(im, h->e_shstrndx)->sh_offset +
	       section(im, i)->sh_name;
}

/* Returns whether a section holds the compressed PTX, or the table that maps machine code to lines
 * of the PTX. */
static int records_lines(const char *name)
{
	return strstr(name, "nv_debug_ptx_txt") || strstr(name, "nv_debug_line_sass") ||
	       strstr(name, ".debug_line");
}

/* Compares the strings in order; the name of the section that holds the PTX ends in a hash of
 * the PTX. */
static int same_strings(
	const struct image *a, const Elf64_Shdr *x, const struct image *b, const Elf64_Shdr *y)
{
	const char *s = (const char *)a->at + x->sh_offset, *s_end = s + x->sh_size;
	const char *t = (const char *)b->at + y->sh_offset, *t_end = t + y->sh_size;

	while (s < s_end && t < t_end) {
		if (strcmp(s, t) != 0 && !(records_lines(s) && records_lines(t)))
			return 0;
		s += strlen(s) + 1;
		t += strlen(t) + 1;
	}
	return s >= s_end && t >= t_end;
}

/* Compares the symbols, except for the offsets of their names. */
static int same_symbols(
	const struct image *a, const Elf64_Shdr *x, const struct image *b, const Elf64_Shdr *y)
{
	const Elf64_Sym *s = (const Elf64_Sym *)(a->at + x->sh_offset);
	const Elf64_Sym *t = (const Elf64_Sym *)(b->at + y->sh_offset);

	if (x->sh_size != y->sh_size)
		return 0;
	for (size_t i = 0; i < x->sh_size / sizeof(*s); i++) {
		Elf64_Sym u = t[i];

		u.st_name = s[i].st_name;
		if (memcmp(&u, &s[i], sizeof(u)) != 0)
			return 0;
	}
	return 1;
}

static int same_section(
	const struct image *a, const Elf64_Shdr *x, const struct image *b, const Elf64_Shdr *y)
{
	if (x->sh_type != y->sh_type)
		return 0;
	if (x->sh_type == SHT_STRTAB)
		return same_strings(a, x, b, y);
	if (x->sh_type == SHT_SYMTAB)
		return same_symbols(a, x, b, y);
	if (x->sh_size != y->sh_size)
		return 0;
	return x->sh_type == SHT_NOBITS || x->sh_type == TYPE_GLOBAL || x->sh_type == TYPE_SHARED ||
	       !memcmp(a->at + x->sh_offset, b->at + y->sh_offset, x->sh_size);
}

const char *elf_differ(const char *path_a, const char *path_b)
{
	static char why[256];
	struct image a, b;
	const Elf64_Ehdr *ha, *hb;
	const char *r = NULL;

	if (load(path_a, &a) < 0 || load(path_b, &b) < 0)
		return "a file cannot be read";
	ha = (const Elf64_Ehdr *)a.at;
	hb = (const Elf64_Ehdr *)b.at;
	if (a.len == b.len && !memcmp(a.at, b.at, a.len))
		goto out;
	if (ha->e_shnum != hb->e_shnum) {
		r = "number of sections";
		goto out;
	}
	r = "no section, but the file";
	for (unsigned i = 1; i < ha->e_shnum; i++) {
		const Elf64_Shdr *x = section(&a, i), *y = section(&b, i);
		const char *name = name_of(&a, i);

		if (records_lines(name) && records_lines(name_of(&b, i))) {
			r = NULL;
			continue;
		}
		if (strcmp(name, name_of(&b, i)) == 0 && same_section(&a, x, &b, y))
			continue;
		snprintf(why, sizeof(why), "section %.200s", name);
		r = why;
		break;
	}
out:
	free(a.at);
	free(b.at);
	return r;
}
