/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the parts of a cubin that the listing lacks: constant sections, sizes of shared memory
 * and stacks, symbols, and words with addresses (relocations). */
#include "sass.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define ATTR_FRAME_SIZE     0x11
#define ATTR_MIN_STACK_SIZE 0x12

const struct sass_elf_section *sass_elf_section(const struct sass_code *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_elf; i++)
		if (!strcmp(c->elf[i].name, name))
			return &c->elf[i];
	return NULL;
}

static int read_symbols(struct sass_code *c, const Elf64_Shdr *sh, const Elf64_Shdr *of)
{
	const char *names = (const char *)c->cubin + of[sh->sh_link].sh_offset;
	const Elf64_Sym *s = (const void *)(c->cubin + sh->sh_offset);

	c->n_symbols = (uint32_t)(sh->sh_size / sizeof(*s));
	c->symbols = calloc(c->n_symbols + 1, sizeof(*c->symbols));
	if (!c->symbols)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n_symbols; i++)
		c->symbols[i] = (struct sass_symbol){
			.name = names + s[i].st_name,
			.value = s[i].st_value,
			.size = s[i].st_size,
			.section = s[i].st_shndx,
			.type = ELF64_ST_TYPE(s[i].st_info),
		};
	return 0;
}

static int read_relocs(struct sass_code *c, const Elf64_Shdr *sh)
{
	bool rela = sh->sh_type == SHT_RELA;
	size_t size = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel), n = sh->sh_size / size;
	struct sass_reloc *more = realloc(c->relocs, (c->n_relocs + n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	c->relocs = more;
	for (size_t i = 0; i < n; i++) {
		/* An Elf64_Rel is an Elf64_Rela without the last word. */
		const Elf64_Rel *r = (const void *)(c->cubin + sh->sh_offset + i * size);
		uint32_t sym = (uint32_t)ELF64_R_SYM(r->r_info);

		if (sym >= c->n_symbols)
			return -EINVAL;
		c->relocs[c->n_relocs++] = (struct sass_reloc){
			.section = sh->sh_info,
			.offset = r->r_offset,
			.symbol = c->symbols[sym].name,
			.addend = rela ? ((const Elf64_Rela *)(const void *)r)->r_addend : 0,
		};
	}
	return 0;
}

int sass_cubin_parse(struct sass_code *c, const uint8_t *at, size_t len)
{
	const Elf64_Ehdr *e = (const void *)at;
	int r = 0;

	c->cubin_len = len;
	if (len < sizeof(*e) || memcmp(at, ELFMAG, SELFMAG) != 0 ||
		e->e_shoff + (uint64_t)e->e_shnum * sizeof(Elf64_Shdr) > len)
		return -EINVAL;
	const Elf64_Shdr *sh = (const void *)(at + e->e_shoff);
	const char *names = (const char *)at + sh[e->e_shstrndx].sh_offset;
	c->elf = calloc(e->e_shnum, sizeof(*c->elf));
	if (!c->elf)
		return -ENOMEM;
	c->n_elf = e->e_shnum;
	for (uint32_t i = 0; i < c->n_elf; i++) {
		bool bits = sh[i].sh_type != SHT_NOBITS;

		if (bits && sh[i].sh_offset + sh[i].sh_size > len)
			return -EINVAL;
		c->elf[i] = (struct sass_elf_section){
			.name = names + sh[i].sh_name,
			.at = bits ? at + sh[i].sh_offset : NULL,
			.size = sh[i].sh_size,
			.info = sh[i].sh_info,
		};
		if (sh[i].sh_type == SHT_SYMTAB)
			r = r ? r : read_symbols(c, &sh[i], sh);
	}
	for (uint32_t i = 0; i < c->n_elf && !r; i++)
		if ((sh[i].sh_type == SHT_RELA || sh[i].sh_type == SHT_REL) &&
			strncmp(names + sh[i].sh_name + (sh[i].sh_type == SHT_RELA ? 5 : 4),
				".nv.constant", 12) == 0)
			r = read_relocs(c, &sh[i]);
	return r;
}

/* Returns the largest stack that any function of the module requires. */
uint32_t sass_cubin_stack(const struct sass_code *c)
{
	const struct sass_elf_section *s = sass_elf_section(c, ".nv.info");
	uint32_t most = 0, v;

	for (uint64_t i = 0; s && s->at && i + 4 <= s->size;) {
		uint8_t format = s->at[i], attr = s->at[i + 1];
		uint16_t size = (uint16_t)(s->at[i + 2] | s->at[i + 3] << 8);

		if (format == 4 && size >= 8 && i + 12 <= s->size &&
			(attr == ATTR_FRAME_SIZE || attr == ATTR_MIN_STACK_SIZE)) {
			memcpy(&v, s->at + i + 8, 4);
			most = MAX(most, v);
		}
		i += format == 4 ? 4u + size : 4u;
	}
	return most;
}
