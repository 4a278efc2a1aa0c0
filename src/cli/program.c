/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads an executable's dynamic section. The file is hostile as far as this is concerned: every
 * offset is checked. */
#include "cli/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int find(const char *name, char *ret, size_t max)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret, max, "%s", name) < (int)max ? 0 : -ENAMETOOLONG;
	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");

		if (n && snprintf(ret, max, "%.*s/%s", (int)n, p, name) < (int)max &&
			access(ret, X_OK) == 0)
			return 0;
		p += n + (p[n] == ':');
	}
	return -ENOENT;
}

static bool read_at(struct image_bytes b, uint64_t at, void *ret, size_t n)
{
	if (at > b.len || n > b.len - at)
		return false;
	memcpy(ret, b.at + at, n);
	return true;
}

static const char *string_at(struct image_bytes table, uint64_t at)
{
	if (at >= table.len || !memchr(table.at + at, 0, table.len - at))
		return "";
	return (const char *)table.at + at;
}

static int keep_section(void *user, struct image_bytes section)
{
	*(struct image_bytes *)user = section;
	return 1;
}

static struct image_bytes section(struct image_bytes file, const char *name)
{
	struct image_bytes s = {0};

	image_elf_sections(file, name, keep_section, &s);
	return s;
}

static void read_dynamic(struct program *p)
{
	struct image_bytes dynamic = section(p->file, ".dynamic");
	struct image_bytes strings = section(p->file, ".dynstr");
	Elf64_Dyn d;

	for (uint64_t at = 0; read_at(dynamic, at, &d, sizeof(d)) && d.d_tag != DT_NULL;
		at += sizeof(d)) {
		const char *s = string_at(strings, d.d_un.d_val);

		p->is_dynamic = true;
		if (d.d_tag == DT_RPATH)
			p->has_rpath = true;
		if (d.d_tag != DT_NEEDED)
			continue;
		p->needs_libcuda |= strcmp(s, "libcuda.so.1") == 0;
		p->needs_libcudart |= strncmp(s, "libcudart.so", 12) == 0;
	}
}

static bool holds(struct image_bytes b, const char *text)
{
	return b.len && memmem(b.at, b.len, text, strlen(text) + 1);
}

int program_open(const char *name, struct program *ret)
{
	struct program p = {0};
	unsigned char ident[EI_NIDENT];
	struct stat st;
	void *at;
	int fd, r = find(name, p.path, sizeof(p.path));

	if (r < 0)
		return r;
	fd = open(p.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
		close(fd);
		return -EINVAL;
	}
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return -errno;
	p.file = (struct image_bytes){at, (size_t)st.st_size};
	p.is_setuid = st.st_mode & (S_ISUID | S_ISGID);
	p.is_elf64 = read_at(p.file, 0, ident, sizeof(ident)) &&
		     memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS64;
	if (p.is_elf64) {
		struct image_bytes data = section(p.file, ".rodata");

		read_dynamic(&p);
		p.names_libcuda = holds(data, "libcuda.so.1");
		p.has_static_cudart = section(p.file, ".nvFatBinSegment").len &&
				      !p.needs_libcudart && p.names_libcuda;
	}
	*ret = p;
	return 0;
}

void program_close(struct program *p)
{
	if (p->file.at)
		munmap((void *)p->file.at, p->file.len);
	p->file = (struct image_bytes){0};
}
