/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the program headers and the dynamic section of an executable. The file may be malicious, so
 * every offset is checked. */
#include "cli/loader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_CUBIN_BYTES (64u << 20)

static bool is_program(const char *path)
{
	struct stat st;

	return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Finds the file that execvp() executes for this name. An empty part of PATH is the current
 * folder. */
static int find_in_path(const char *name, char *ret, size_t max)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret, max, "%s", name) < (int)max ? 0 : -ENAMETOOLONG;
	for (const char *p = path ? path : "/bin:/usr/bin";; p++) {
		size_t n = strcspn(p, ":");

		if (snprintf(ret, max, "%.*s/%s", n ? (int)n : 1, n ? p : ".", name) < (int)max &&
			is_program(ret))
			return 0;
		p += n;
		if (!*p)
			return -ENOENT;
	}
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

static struct image_bytes find_section(struct image_bytes file, const char *name)
{
	struct image_bytes s = {0};

	image_elf_sections(file, name, keep_section, &s);
	return s;
}

/* Finds the file offset of an address of the program. Returns false if the file does not contain
 * it. */
static bool offset_of(const struct program *p, const Elf64_Ehdr *e, uint64_t address, uint64_t *ret)
{
	Elf64_Phdr h;

	for (unsigned i = 0; i < e->e_phnum; i++) {
		if (!read_at(p->file, e->e_phoff + i * sizeof(h), &h, sizeof(h)))
			return false;
		if (h.p_type == PT_LOAD && address >= h.p_vaddr &&
			address - h.p_vaddr < h.p_filesz) {
			*ret = h.p_offset + (address - h.p_vaddr);
			return true;
		}
	}
	return false;
}

/* Reads the next entry of the dynamic section at *io_at. */
static bool next_entry(const struct program *p, uint64_t *io_at, Elf64_Dyn *ret)
{
	if (!read_at(p->dynamic, *io_at, ret, sizeof(*ret)) || ret->d_tag == DT_NULL)
		return false;
	*io_at += sizeof(*ret);
	return true;
}

const char *program_needed(const struct program *p, uint64_t *io_at)
{
	Elf64_Dyn d;

	while (next_entry(p, io_at, &d))
		if (d.d_tag == DT_NEEDED)
			return string_at(p->strings, d.d_un.d_val);
	return NULL;
}

/* Reads the dynamic section in two passes, because the first must find the string table that the
 * second needs. */
static void read_dynamic(struct program *p, const Elf64_Ehdr *e)
{
	uint64_t at = 0, table;
	const char *name;
	Elf64_Dyn d;

	while (next_entry(p, &at, &d))
		if (d.d_tag == DT_STRTAB && offset_of(p, e, d.d_un.d_ptr, &table) &&
			table < p->file.len)
			p->strings = (struct image_bytes){p->file.at + table, p->file.len - table};
	for (at = 0; next_entry(p, &at, &d);) {
		if (d.d_tag == DT_RPATH)
			p->rpath = string_at(p->strings, d.d_un.d_val);
		if (d.d_tag == DT_RUNPATH)
			p->runpath = string_at(p->strings, d.d_un.d_val);
	}
	if (p->runpath)
		p->rpath = NULL;
	for (at = 0; (name = program_needed(p, &at));) {
		p->needs_libcuda |= strcmp(name, "libcuda.so.1") == 0;
		if (strncmp(name, "libcudart.so", 12) == 0)
			p->libcudart = name;
	}
}

static void read_headers(struct program *p)
{
	Elf64_Ehdr e;
	Elf64_Phdr h;

	if (!read_at(p->file, 0, &e, sizeof(e)))
		return;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		if (!read_at(p->file, e.e_phoff + i * sizeof(h), &h, sizeof(h)))
			return;
		p->is_dynamic |= h.p_type == PT_INTERP;
		if (h.p_type == PT_DYNAMIC && h.p_offset < p->file.len) {
			p->dynamic = (struct image_bytes){
				p->file.at + h.p_offset, MIN(h.p_filesz, p->file.len - h.p_offset)};
			read_dynamic(p, &e);
		}
	}
}

/* Finds the interpreter of a script. For "#!/usr/bin/env python3", it is python3. */
static void read_script(struct program *p)
{
	char line[256] = {0}, *word, *save = NULL;
	const char *slash;

	if (p->file.len < 3 || memcmp(p->file.at, "#!", 2) != 0)
		return;
	memcpy(line, p->file.at + 2, MIN(p->file.len - 2, sizeof(line) - 1));
	line[strcspn(line, "\n")] = 0;
	word = strtok_r(line, " \t\r", &save);
	slash = word ? strrchr(word, '/') : NULL;
	if (slash && strcmp(slash, "/env") == 0)
		word = strtok_r(NULL, " \t\r", &save);
	if (word && word[0] != '-' && strlen(word) < sizeof(p->interpreter))
		strcpy(p->interpreter, word);
}

/* Returns whether the file would start with more rights than the caller has. The loader then
 * ignores LD_LIBRARY_PATH. */
static bool is_privileged(const char *path, const struct stat *st)
{
	return ((st->st_mode & S_ISUID) && st->st_uid != geteuid()) ||
	       ((st->st_mode & S_ISGID) && st->st_gid != getegid()) ||
	       (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

bool program_holds(const struct program *p, const char *text)
{
	struct image_bytes b = find_section(p->file, ".rodata");

	return b.len && memmem(b.at, b.len, text, strlen(text) + 1);
}

int program_open_headers(const char *path, struct program *ret)
{
	struct program p = {0};
	unsigned char ident[EI_NIDENT];
	struct stat st;
	bool is_elf;
	void *at;
	int fd;

	if (snprintf(p.path, sizeof(p.path), "%s", path) >= (int)sizeof(p.path))
		return -ENAMETOOLONG;
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
	p.is_privileged = is_privileged(p.path, &st);
	is_elf = read_at(p.file, 0, ident, sizeof(ident)) && memcmp(ident, ELFMAG, SELFMAG) == 0;
	p.is_elf64 = is_elf && ident[EI_CLASS] == ELFCLASS64;
	p.is_elf32 = is_elf && ident[EI_CLASS] == ELFCLASS32;
	if (p.is_elf64)
		read_headers(&p);
	*ret = p;
	return 0;
}

bool program_has_runtime(const struct program *p)
{
	return p->is_elf64 && !p->libcudart && find_section(p->file, ".nvFatBinSegment").len &&
	       program_holds(p, "libcuda.so.1");
}

int program_open(const char *name, struct program *ret)
{
	char path[sizeof(ret->path)];
	struct program p;
	int r = find_in_path(name, path, sizeof(path));

	if (r == 0)
		r = program_open_headers(path, &p);
	if (r < 0)
		return r;
	read_script(&p);
	if (p.is_elf64) {
		p.names_libcuda = program_holds(&p, "libcuda.so.1");
		p.names_libcuda_path = program_holds(&p, "/libcuda.so.1");
		p.has_static_cudart = program_has_runtime(&p);
	}
	*ret = p;
	return 0;
}

struct code {
	bool ptx, cubin;
};

static int note_kernel(void *user, const char *name, size_t len)
{
	(void)user;
	(void)name;
	(void)len;
	return 1;
}

/* nvcc puts a cubin without kernels into each program that it links, so only those with kernels
 * count, and those that cannot be read. */
static int note_code(void *user, const struct image_entry *e)
{
	struct code *code = user;
	size_t len;
	char *cubin;

	code->ptx |= e->kind == IMAGE_PTX;
	if (e->kind != IMAGE_ELF || code->cubin)
		return 0;
	code->cubin = true;
	if (image_unpack(e, MAX_CUBIN_BYTES, &cubin, &len) < 0)
		return 0;
	code->cubin = image_elf_kernels((struct image_bytes){(const uint8_t *)cubin, len},
			      note_kernel, NULL) != 0;
	free(cubin);
	return 0;
}

const char *program_needs_gpu(const struct program *p)
{
	struct code code = {0};

	if (p->has_static_cudart)
		return "NVIDIA's CUDA runtime is linked into it, and calls of that need NVIDIA's "
		       "driver: build it again with NVCC_APPEND_FLAGS='-cudart shared' in the "
		       "environment, or run it on a GPU";
	if (p->libcudart && strcmp(p->libcudart, "libcudart.so.12") != 0 &&
		strcmp(p->libcudart, "libcudart.so.13") != 0)
		return "heddle has a CUDA runtime for programs of CUDA 12 and 13, and it needs "
		       "another one: build it with CUDA 12 or 13, or run it on a GPU";
	image_walk(p->file, note_code, &code);
	if (code.cubin && !code.ptx)
		return "it holds cubins and no PTX, and the virtual GPU runs PTX alone: run it on "
		       "a GPU, or compile it with -gencode arch=compute_90,code=compute_90";
	return NULL;
}

void program_close(struct program *p)
{
	if (p->file.at)
		munmap((void *)p->file.at, p->file.len);
	p->file = (struct image_bytes){0};
}

const char *program_obstacle(const struct program *p, char *buf, size_t size)
{
	struct program other;
	bool found;

	if (p->is_elf32) {
		snprintf(buf, size, "it is a 32-bit program");
		return buf;
	}
	if (p->is_elf64 && !p->is_dynamic) {
		snprintf(buf, size, "it is statically linked: no library can be put in front");
		return buf;
	}
	if (p->is_elf64 && p->is_privileged) {
		snprintf(buf, size,
			"it is setuid or setgid, or has capabilities: LD_LIBRARY_PATH does not "
			"count");
		return buf;
	}
	if (p->is_elf64)
		return loader_passes(p, buf, size) ? buf : NULL;
	if (!p->interpreter[0] || program_open(p->interpreter, &other) < 0)
		return NULL;
	found = other.is_elf64 && program_obstacle(&other, buf, size);
	program_close(&other);
	return found ? buf : NULL;
}
