/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See fixture.h. The layouts are those of nvcc 13's output in each of its compression modes. */
#include "fixture.h"

#include <elf.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static void put(struct strbuf *b, uint64_t v, unsigned bytes)
{
	strbuf_add(b, (const char *)&v, bytes);
}

static void pad(struct strbuf *b, size_t multiple)
{
	while (b->len % multiple)
		put(b, 0, 1);
}

const char *fixture_ptx(uint32_t arch, char variant, unsigned mark)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		"//\n// made by a test\n//\n.version 7.0\n.target sm_%u%.1s\n.address_size 64\n\n"
		".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t.reg .b64 %%rd<3>;\n"
		"\t.reg .b32 %%r<2>;\n\tld.param.u64 %%rd1, [k_param_0];\n"
		"\tcvta.to.global.u64 %%rd2, %%rd1;\n\tmov.u32 %%r1, %u;\n"
		"\tst.global.u32 [%%rd2], %%r1;\n\tret;\n}\n",
		arch, variant ? &variant : "", mark);
	return text;
}

void fixture_elf(struct strbuf *out, unsigned machine, uint32_t arch, const char *kernel,
	const char *section, const void *body, size_t len)
{
	char names[256];
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT,
				machine == 190 ? 0x41 : 0, machine == 190 ? 8 : 0},
		.e_type = ET_EXEC,
		.e_machine = (Elf64_Half)machine,
		.e_version = 1,
		.e_flags = machine == 190 ? arch << 8 | 4 : 0,
		.e_ehsize = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 5,
		.e_shstrndx = 1};
	Elf64_Sym syms[2] = {{0}, {.st_name = 1,
					  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					  .st_other = 0x10,
					  .st_shndx = 2}};
	Elf64_Shdr s[5] = {{0}};
	/* The name table: "\0" kernel "\0" section "\0". */
	size_t n = 1 + (size_t)snprintf(names + 1, sizeof(names) - 1, "%s%c%s", kernel, 0, section);
	size_t base = out->len, at = sizeof(h);

	names[0] = 0;
	n++;
	s[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = n};
	at = round_up(at + n, 8);
	s[2] = (Elf64_Shdr){.sh_name = (Elf64_Word)strlen(kernel) + 2,
		.sh_type = SHT_PROGBITS,
		.sh_offset = at,
		.sh_size = len};
	at = round_up(at + len, 8);
	s[3] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
		.sh_offset = at,
		.sh_size = sizeof(syms),
		.sh_link = 1,
		.sh_entsize = sizeof(syms[0])};
	at += sizeof(syms);
	s[4] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_offset = at, .sh_size = (uint64_t)1 << 40};
	h.e_shoff = at;
	strbuf_add(out, (char *)&h, sizeof(h));
	strbuf_add(out, names, n);
	while ((out->len - base) % 8)
		put(out, 0, 1);
	strbuf_add(out, body, len);
	while ((out->len - base) % 8)
		put(out, 0, 1);
	strbuf_add(out, (char *)syms, sizeof(syms));
	strbuf_add(out, (char *)s, sizeof(s));
}

static void pack(enum image_packing how, const char *in, size_t len, struct strbuf *out)
{
	size_t max =
		how == IMAGE_ZSTD ? ZSTD_compressBound(len) : (size_t)LZ4_compressBound((int)len);
	char *buf = malloc(max);
	size_t n = len;

	if (how == IMAGE_LZ4)
		n = (size_t)LZ4_compress_default(in, buf, (int)len, (int)max);
	else if (how == IMAGE_ZSTD)
		n = ZSTD_compress(buf, max, in, len, 3);
	strbuf_add(out, how == IMAGE_LZ4 || how == IMAGE_ZSTD ? buf : in, n);
	free(buf);
}

static void entry(struct strbuf *out, const struct fixture_entry *e)
{
	static const uint64_t packing[] = {0, 0x2000, 0x8000, 0x1000};
	struct strbuf plain = {0}, packed = {0};
	uint64_t flags = 0x11 | packing[e->packing];
	bool small = e->packing != IMAGE_PLAIN;

	flags |= e->variant == 'a' ? 0x100000 : e->variant == 'f' ? 0x200000 : 0;
	if (e->kind == IMAGE_PTX)
		strbuf_add(&plain, e->text, strlen(e->text) + 1);
	else
		fixture_elf(&plain, 190, e->arch, e->kernel, ".text.k", "code", 4);
	pack(e->packing, plain.at, plain.len, &packed);
	put(out, e->kind, 2);
	put(out, 0x101, 2);
	put(out, 64 + e->options, 4);
	put(out, round_up(packed.len, 8), 8);
	put(out, small ? packed.len : 0, 4);
	put(out, e->options ? 64 : 0, 4);
	put(out, 0, 2);
	put(out, 9, 2);
	put(out, e->arch, 4);
	put(out, 0, 8);
	put(out, flags, 8);
	put(out, 0, 8);
	put(out, small ? plain.len : 0, 8);
	for (unsigned i = 0; i < e->options; i++)
		put(out, 0, 1);
	strbuf_add(out, packed.at, packed.len);
	pad(out, 8);
	strbuf_finish(&plain);
	strbuf_finish(&packed);
}

void fixture_container(struct strbuf *out, const struct fixture_entry *e, unsigned n)
{
	struct strbuf body = {0};

	for (unsigned i = 0; i < n; i++)
		entry(&body, &e[i]);
	pad(out, 8);
	put(out, 0xba55ed50, 4);
	put(out, 1, 2);
	put(out, 16, 2);
	put(out, body.len, 8);
	strbuf_add(out, body.at, body.len);
	strbuf_finish(&body);
}
