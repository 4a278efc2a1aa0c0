/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds libc's dlsym in libc's own symbol table, without the dynamic linker, because an interposer
 * can define dlvsym too. If libc lacks the hash table that this code reads (DT_GNU_HASH), the
 * program's dlsym is used. */
#include "dev/symbol.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void *lookup_fn(void *, const char *);

/* Symbol table of a loaded library. */
struct table {
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
};

/* Returns the address of a table named in the dynamic section. For most libraries glibc has changed
 * the offsets in this section to absolute addresses, but not for all. */
static const void *table_address(uintptr_t base, uintptr_t value)
{
	return (const void *)(value < base ? base + value : value);
}

static int table_read(const struct dl_phdr_info *info, struct table *ret)
{
	struct table t = {.base = info->dlpi_addr};
	const ElfW(Dyn) *d = NULL;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(t.base + info->dlpi_phdr[i].p_vaddr);
	}
	for (; d && d->d_tag != DT_NULL; d++) {
		const void *at = table_address(t.base, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			t.symbols = at;
		else if (d->d_tag == DT_STRTAB)
			t.strings = at;
		else if (d->d_tag == DT_GNU_HASH)
			t.hash = at;
	}
	if (!t.symbols || !t.strings || !t.hash)
		return -1;
	*ret = t;
	return 0;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* Returns the address of a function that the library defines, or NULL. */
static void *table_find(const struct table *t, const char *name)
{
	uint32_t n_buckets = t->hash[0], first = t->hash[1], bloom_words = t->hash[2];
	const uint32_t *buckets =
		t->hash + 4 + (size_t)bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + n_buckets;
	uint32_t h = gnu_hash(name);

	if (!n_buckets)
		return NULL;
	for (uint32_t i = buckets[h % n_buckets]; i >= first; i++) {
		const ElfW(Sym) *s = &t->symbols[i];
		uint32_t c = chain[i - first];

		if ((c | 1) == (h | 1) && s->st_shndx != SHN_UNDEF &&
			ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
			!strcmp(t->strings + s->st_name, name))
			return (void *)(t->base + s->st_value);
		if (c & 1)
			break;
	}
	return NULL;
}

/* Finds dlsym. It is in libc since glibc 2.34, and in libdl before. */
static int visit_object(struct dl_phdr_info *info, size_t size, void *ret)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const char *file = slash ? slash + 1 : info->dlpi_name;
	struct table t;
	void *fn;

	if (!file || (strcmp(file, "libc.so.6") != 0 && strcmp(file, "libdl.so.2") != 0) ||
		table_read(info, &t) < 0)
		return 0;
	fn = table_find(&t, "dlsym");
	if (!fn)
		return 0;
	*(void **)ret = fn;
	return 1;
}

void *dev_symbol(void *handle, const char *name)
{
	static _Atomic(void *) found;
	void *fn = atomic_load_explicit(&found, memory_order_relaxed);
	lookup_fn *lookup;

	if (!fn) {
		fn = (void *)dlsym;
		dl_iterate_phdr(visit_object, &fn);
		atomic_store_explicit(&found, fn, memory_order_relaxed);
	}
	memcpy(&lookup, &fn, sizeof(lookup));
	return lookup(handle, name);
}
