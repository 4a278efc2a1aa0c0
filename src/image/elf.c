/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses ELF as far as heddle needs it: sections by name, and the architecture and kernels of a
 * cubin. Only 64-bit little-endian files are supported. Every offset is untrusted and checked
 * before use. */
#include "image/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STO_CUDA_ENTRY 0x10 /* flag in st_other: the symbol is a kernel, not a device function */

struct sections {
	struct image_bytes elf;
	uint64_t at;
	unsigned n, size;
	struct image_bytes names;
};

static bool slice_bytes(struct image_bytes b, uint64_t at, uint64_t len, struct image_bytes *ret)
{
	if (at > b.len || len > b.len - at)
		return false;
	*ret = (struct image_bytes){b.at + at, (size_t)len};
	return true;
}

static bool read_section(const struct sections *s, unsigned i, Elf64_Shdr *ret)
{
	struct image_bytes row;

	if (i >= s->n || !slice_bytes(s->elf, s->at + (uint64_t)i * s->size, sizeof(*ret), &row))
		return false;
	memcpy(ret, row.at, sizeof(*ret));
	return true;
}

/* Returns the string at offset `at` of a string table, or NULL if it is not terminated. */
static const char *string_at(struct image_bytes table, uint64_t at)
{
	if (at >= table.len || !memchr(table.at + at, 0, table.len - at))
		return NULL;
	return (const char *)table.at + at;
}

static int sections_open(struct image_bytes elf, struct sections *s)
{
	Elf64_Ehdr h;
	Elf64_Shdr names;

	if (elf.len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, elf.at, sizeof(h));
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
		h.e_ident[EI_DATA] != ELFDATA2LSB)
		return -EBADMSG;
	if (h.e_shnum && (h.e_shentsize < sizeof(Elf64_Shdr) || h.e_shoff > elf.len))
		return -EBADMSG;
	*s = (struct sections){elf, h.e_shoff, h.e_shnum, h.e_shentsize, {0}};
	if (read_section(s, h.e_shstrndx, &names))
		slice_bytes(elf, names.sh_offset, names.sh_size, &s->names);
	return 0;
}

int image_elf_sections(struct image_bytes elf, const char *name, image_section_fn *fn, void *user)
{
	struct sections s;
	Elf64_Shdr h;
	unsigned i;
	int r = sections_open(elf, &s);

	for (i = 0; r == 0 && read_section(&s, i, &h); i++) {
		const char *own = string_at(s.names, h.sh_name);
		struct image_bytes b;

		if (!own || strcmp(own, name) || h.sh_type == SHT_NOBITS)
			continue;
		r = slice_bytes(elf, h.sh_offset, h.sh_size, &b) ? fn(user, b) : -EBADMSG;
	}
	return r;
}

static int keep_first(void *user, struct image_bytes section)
{
	*(struct image_bytes *)user = section;
	return section.len ? 1 : 0;
}

/* In the section .nv_debug_ptx_txt each line ends with a NUL. Lines that contained only a comment
 * or .loc are empty. */
int image_elf_ptx(struct image_bytes cubin, char **ret, size_t *ret_len)
{
	struct image_bytes section = {0};
	int r = image_elf_sections(cubin, ".nv_debug_ptx_txt", keep_first, &section);
	size_t lines = 0;
	char *text;

	if (r < 0)
		return r;
	while (lines < section.len && !section.at[lines])
		lines++;
	if (lines == section.len)
		return -ENOENT;
	if (!image_is_ptx((struct image_bytes){section.at + lines, section.len - lines}))
		return -ENOTSUP;
	text = malloc(section.len + 1);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < section.len; i++)
		text[i] = section.at[i] ? (char)section.at[i] : '\n';
	text[section.len] = 0;
	*ret = text;
	*ret_len = section.len;
	return 0;
}

int image_elf_arch(struct image_bytes cubin, uint32_t *ret_arch, char *ret_variant)
{
	Elf64_Ehdr h;

	if (cubin.len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, cubin.at, sizeof(h));
	/* CUDA 13 moved the architecture from the lowest byte of the flags to the next higher
	 * bits. */
	*ret_arch = h.e_ident[EI_OSABI] == 0x41 ? h.e_flags >> 8 & 0xffff : h.e_flags & 0xff;
	*ret_variant = h.e_ident[EI_OSABI] != 0x41 && h.e_flags & 0x800 ? 'a' : 0;
	return 0;
}

int image_elf_kernels(struct image_bytes cubin, image_name_fn *fn, void *user)
{
	struct sections s;
	Elf64_Shdr h;
	unsigned i;
	int r = sections_open(cubin, &s);

	for (i = 0; r == 0 && read_section(&s, i, &h); i++) {
		struct image_bytes syms, strings = {0};
		Elf64_Shdr link;
		size_t at;

		if (h.sh_type != SHT_SYMTAB || !slice_bytes(cubin, h.sh_offset, h.sh_size, &syms))
			continue;
		if (!read_section(&s, h.sh_link, &link) ||
			!slice_bytes(cubin, link.sh_offset, link.sh_size, &strings))
			continue;
		for (at = 0; r == 0 && syms.len - at >= sizeof(Elf64_Sym);
			at += sizeof(Elf64_Sym)) {
			const char *name;
			Elf64_Sym sym;

			memcpy(&sym, syms.at + at, sizeof(sym));
			if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC ||
				!(sym.st_other & STO_CUDA_ENTRY))
				continue;
			name = string_at(strings, sym.st_name);
			if (name)
				r = fn(user, name, strlen(name));
		}
	}
	return r;
}
