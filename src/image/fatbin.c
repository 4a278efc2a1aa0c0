/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses containers of device code: headers, entries, and the choice of the entry for a device.
 * Fields are read with memcpy at fixed offsets (little-endian hosts only, like CUDA). Every length
 * is checked against the remaining bytes before use, except for images without a known length
 * (image_span, image_prelinked). */
#include "image/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONTAINER_MAGIC 0xba55ed50u
#define ENTRY_BYTES     64
#define MAX_PRELINKED   4096

/* Flags of a fatbin entry. */
#define ENTRY_OLD_PACKING 0x1000u
#define ENTRY_LZ4         0x2000u
#define ENTRY_ZSTD        0x8000u
#define ENTRY_ARCH_ONLY   0x100000u /* only for this architecture, such as sm_90a */
#define ENTRY_FAMILY      0x200000u /* for an architecture family, such as sm_100f */

struct wrapper {
	uint32_t magic, version;
	const void *container;
	const void *more; /* version 2: NULL-terminated array of prelinked containers */
};

static uint64_t read_field(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

static bool is_elf(struct image_bytes b)
{
	return b.len >= 64 && !memcmp(b.at, "\177ELF", 4);
}

/* ---- visiting all entries ---- */

static int parse_entry(struct image_bytes rest, struct image_entry *e, size_t *ret_whole)
{
	uint64_t head, size, packed, flags, name_off, name_len;

	if (rest.len < ENTRY_BYTES)
		return -EBADMSG;
	head = read_field(rest.at + 4, 4);
	size = read_field(rest.at + 8, 8);
	if (head < ENTRY_BYTES || head > rest.len || size > rest.len - head)
		return -EBADMSG;
	packed = read_field(rest.at + 16, 4);
	flags = read_field(rest.at + 40, 8);
	*e = (struct image_entry){
		.kind = (enum image_kind)read_field(rest.at, 2),
		.arch = (uint32_t)read_field(rest.at + 28, 4),
		.variant = flags & ENTRY_ARCH_ONLY ? 'a'
			   : flags & ENTRY_FAMILY  ? 'f'
						   : 0,
		.bytes = {rest.at + head, (size_t)size},
		.full_bytes = size,
	};
	if (flags & ENTRY_ZSTD)
		e->packing = IMAGE_ZSTD;
	else if (flags & ENTRY_LZ4)
		e->packing = IMAGE_LZ4;
	else if (flags & ENTRY_OLD_PACKING)
		e->packing = IMAGE_PACKED_OLD;
	if (e->packing != IMAGE_PLAIN) {
		e->full_bytes = read_field(rest.at + 56, 8);
		if (packed > size)
			return -EBADMSG;
		if (packed) /* bytes beyond this size are padding */
			e->bytes.len = (size_t)packed;
	}
	name_off = read_field(rest.at + 32, 4);
	name_len = read_field(rest.at + 36, 4);
	if (name_off >= ENTRY_BYTES && name_off <= head && name_len <= head - name_off)
		e->name = (struct image_bytes){rest.at + name_off, (size_t)name_len};
	*ret_whole = (size_t)(head + size);
	return 0;
}

static int walk_container(
	struct image_bytes rest, image_entry_fn *fn, void *user, size_t *ret_whole)
{
	uint64_t head, size;
	size_t at, end;
	int r;

	if (rest.len < 16)
		return -EBADMSG;
	head = read_field(rest.at + 6, 2);
	size = read_field(rest.at + 8, 8);
	if (head < 16 || head > rest.len)
		return -EBADMSG;
	/* Visit complete entries even if the container is truncated. */
	end = (size_t)head + (size_t)MIN(size, rest.len - head);
	for (at = (size_t)head; at < end;) {
		struct image_entry e;
		size_t whole;

		r = parse_entry((struct image_bytes){rest.at + at, end - at}, &e, &whole);
		if (r < 0)
			return r;
		if (e.kind == IMAGE_PTX || e.kind == IMAGE_ELF) {
			r = fn(user, &e);
			if (r)
				return r;
		}
		at += whole;
	}
	if (size > rest.len - head)
		return -EBADMSG;
	*ret_whole = end;
	return 0;
}

struct walk {
	image_entry_fn *fn;
	void *user;
	unsigned containers;
};

/* Walks consecutive containers, which are 8-byte aligned with zeros between them. */
static int walk_section(void *user, struct image_bytes b)
{
	struct walk *w = user;
	size_t at = 0;

	while (b.len - at >= 16) {
		size_t whole;
		int r;

		if ((uint32_t)read_field(b.at + at, 4) != CONTAINER_MAGIC) {
			at += 8 - at % 8;
			if (at > b.len)
				break;
			continue;
		}
		w->containers++;
		r = walk_container(
			(struct image_bytes){b.at + at, b.len - at}, w->fn, w->user, &whole);
		if (r)
			return r;
		at += whole;
	}
	return 0;
}

/* Returns the architecture of PTX text (90 for ".target sm_90a"), or 0 if its first 64 KiB contain
 * no .target. */
static uint32_t ptx_target(struct image_bytes b, char *ret_variant)
{
	size_t len = MIN(b.len, (size_t)65536);
	const char *p = memmem(b.at, len, ".target", 7);
	const char *end = (const char *)b.at + len;
	uint32_t arch = 0;

	*ret_variant = 0;
	if (!p)
		return 0;
	p = memmem(p, (size_t)(end - p), "sm_", 3);
	for (p = p ? p + 3 : end; p < end && *p >= '0' && *p <= '9' && arch < 10000; p++)
		arch = arch * 10 + (uint32_t)(*p - '0');
	if (p < end && (*p == 'a' || *p == 'f'))
		*ret_variant = *p;
	return arch;
}

bool image_is_ptx(struct image_bytes b)
{
	size_t i = 0;

	/* Skips comments and blanks, which can come before the first directive, .version. */
	while (i < b.len) {
		if (strchr(" \t\r\n\f\v", b.at[i]) && b.at[i]) {
			i++;
		} else if (b.len - i >= 2 && !memcmp(b.at + i, "//", 2)) {
			while (i < b.len && b.at[i] != '\n')
				i++;
		} else if (b.len - i >= 2 && !memcmp(b.at + i, "/*", 2)) {
			const uint8_t *e = memmem(b.at + i + 2, b.len - i - 2, "*/", 2);

			if (!e)
				return false;
			i = (size_t)(e - b.at) + 2;
		} else {
			break;
		}
	}
	return b.len - i >= 8 && !memcmp(b.at + i, ".version", 8);
}

int image_walk(struct image_bytes b, image_entry_fn *fn, void *user)
{
	struct walk w = {.fn = fn, .user = user};
	struct image_entry e = {.bytes = b, .full_bytes = b.len};
	int r;

	if (b.len >= 16 && (uint32_t)read_field(b.at, 4) == CONTAINER_MAGIC)
		return walk_section(&w, b);
	if (is_elf(b)) {
		if (read_field(b.at + 18, 2) == 190) { /* EM_CUDA */
			e.kind = IMAGE_ELF;
			r = image_elf_arch(b, &e.arch, &e.variant);
			return r < 0 ? r : fn(user, &e);
		}
		r = image_elf_sections(b, ".nv_fatbin", walk_section, &w);
		if (r)
			return r;
		r = image_elf_sections(b, "__nv_relfatbin", walk_section, &w);
		return r ? r : w.containers ? 0 : -ENOENT;
	}
	if (!image_is_ptx(b))
		return -ENOENT;
	e.kind = IMAGE_PTX;
	e.arch = ptx_target(b, &e.variant);
	return fn(user, &e);
}

/* ---- finding the length of an image from its contents ---- */

static size_t elf_span(const uint8_t *p)
{
	uint64_t end = read_field(p + 52, 2), at;
	unsigned i;
	const struct {
		unsigned off, size, n, file_off, file_size;
	} tables[2] = {{32, 54, 56, 8, 32}, {40, 58, 60, 24, 32}};

	/* The file ends after the last of its header tables and the data of its program headers and
	 * sections. */
	for (i = 0; i < 2; i++) {
		uint64_t off = read_field(p + tables[i].off, 8),
			 size = read_field(p + tables[i].size, 2);
		uint64_t n = read_field(p + tables[i].n, 2), j;

		end = n ? MAX(end, off + size * n) : end;
		for (j = 0; j < n && size >= 56; j++) {
			const uint8_t *row = p + off + size * j;
			bool nobits = i == 1 && read_field(row + 4, 4) == 8;

			at = read_field(row + tables[i].file_off, 8) +
			     read_field(row + tables[i].file_size, 8);
			end = nobits ? end : MAX(end, at);
		}
	}
	return (size_t)end;
}

static int bare_span(const void *image, struct image_bytes *ret)
{
	const uint8_t *p = image;

	if (*p == 0)
		return -ENOENT;
	/* Compare one byte at a time: the text may be shorter than four bytes. */
	if (p[0] == 0x50 && p[1] == 0xed && p[2] == 0x55 && p[3] == 0xba) {
		*ret = (struct image_bytes){
			p, (size_t)(read_field(p + 6, 2) + read_field(p + 8, 8))};
		return 0;
	}
	if (!memcmp(p, "\177ELF", MIN((size_t)4, strnlen(image, 4)))) {
		*ret = (struct image_bytes){p, elf_span(p)};
		return 0;
	}
	*ret = (struct image_bytes){p, strlen(image)};
	return image_is_ptx(*ret) ? 0 : -ENOENT;
}

static const struct wrapper *as_wrapper(const void *image)
{
	const uint8_t *p = image;

	/* The first byte has matched. So the image is not text, and no format with this first byte
	 * is shorter than a wrapper. The next three bytes can be read. */
	if (p[0] != 0xb1 || p[1] != 0x43 || p[2] != 0x62 || p[3] != 0x46)
		return NULL;
	return image;
}

int image_span(const void *image, struct image_bytes *ret, unsigned *ret_prelinked)
{
	const struct wrapper *w;
	unsigned n = 0;
	int r;

	if (!image)
		return -ENOENT;
	w = as_wrapper(image);
	if (w && !w->container)
		return -ENOENT;
	r = bare_span(w ? w->container : image, ret);
	if (r < 0)
		return r;
	if (w && w->version == 2 && w->more) {
		const void *const *list = w->more;

		while (n < MAX_PRELINKED && list[n])
			n++;
	}
	if (ret_prelinked)
		*ret_prelinked = n;
	return 0;
}

int image_prelinked(const void *image, unsigned index, struct image_bytes *ret)
{
	const struct wrapper *w = as_wrapper(image);

	if (!w || w->version != 2 || !w->more)
		return -ENOENT;
	return bare_span(((const void *const *)w->more)[index], ret);
}

/* ---- choosing an entry for a device ---- */

struct picking {
	uint32_t cc;
	struct image_entry best;
	uint32_t sass_arch;
	struct image_pick *out;
};

bool image_usable(const struct image_entry *e, uint32_t cc)
{
	if (e->packing == IMAGE_PACKED_OLD)
		return false;
	if (e->variant == 'a')
		return e->arch == cc;
	if (e->variant == 'f')
		return e->arch <= cc && e->arch / 10 == cc / 10;
	return e->arch <= cc;
}

static bool sass_fits(const struct picking *p, const struct image_entry *e)
{
	if (e->variant == 'a')
		return e->arch == p->cc;
	return e->arch <= p->cc && e->arch / 10 == p->cc / 10;
}

static int consider_entry(void *user, const struct image_entry *e)
{
	struct picking *p = user;

	if (e->kind == IMAGE_ELF) {
		p->out->n_elf++;
		if (sass_fits(p, e)) {
			p->out->has_sass = true;
			p->sass_arch = MAX(p->sass_arch, e->arch);
		}
		return 0;
	}
	p->out->n_ptx++;
	if (e->packing == IMAGE_PACKED_OLD)
		p->out->n_unusable++;
	else if (image_usable(e, p->cc) && e->arch >= p->best.arch)
		p->best = *e;
	return 0;
}

int image_pick(struct image_bytes image, uint32_t cc, size_t max_bytes, struct image_pick *ret)
{
	struct image_pick out = {0};
	struct picking p = {.cc = cc, .out = &out};
	int r = image_walk(image, consider_entry, &p);

	if (r < 0)
		return r;
	if (p.best.bytes.at) {
		r = image_unpack(&p.best, max_bytes, &out.ptx, &out.ptx_len);
		if (r < 0)
			return r;
		out.ptx_arch = p.best.arch;
	}
	out.sass_newer = out.has_sass && p.sass_arch > out.ptx_arch;
	*ret = out;
	return 0;
}

void image_pick_finish(struct image_pick *p)
{
	free(p->ptx);
	*p = (struct image_pick){0};
}
