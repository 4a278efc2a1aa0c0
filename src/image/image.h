/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Device code containers: what a program hands to cuModuleLoadData and cuLibraryLoadData, and what
 * sits in executables. Finds the PTX that the driver would compile for a device, and the names of
 * kernels that come without PTX.
 *
 * A fat binary is a wrapper (magic, version, pointer) in the program's data, which points to a
 * container (16-byte header) of entries, each PTX text or a cubin, for one architecture, plain,
 * LZ4 or zstd. Programs also pass bare PTX text and bare cubins. Executables hold containers back
 * to back in .nv_fatbin and __nv_relfatbin.
 *
 * Everything but image_span treats its bytes as hostile: bounded reads, bounded memory. Nothing
 * here keeps state; all functions are thread safe. */
#ifndef HEDDLE_IMAGE_H
#define HEDDLE_IMAGE_H

#include "base/base.h"

enum image_kind { IMAGE_PTX = 1, IMAGE_ELF = 2 };
enum image_packing {
	IMAGE_PLAIN,
	IMAGE_LZ4,
	IMAGE_ZSTD,
	IMAGE_PACKED_OLD, /* CUDA 7 and before; not unpacked (-ENOTSUP) */
};

struct image_bytes {
	const uint8_t *at;
	size_t len;
};

struct image_entry {
	enum image_kind kind;
	enum image_packing packing;
	uint32_t arch;            /* 90 for sm_90 or compute_90 */
	char variant;             /* 'a': this architecture only, 'f': this family, 0 */
	struct image_bytes bytes; /* as stored */
	uint64_t full_bytes;      /* unpacked, as the entry says; PTX may end on NULs */
	struct image_bytes name;  /* source file, may be empty */
};

/* Calls fn for each entry, in order: of a container (or several, back to back, with padding), of
 * the fat binary sections of a host executable, of a bare cubin, of PTX text (arch from .target).
 * fn returning non-zero ends the walk, and is returned. -ENOENT: nothing that looks like device
 * code; -EBADMSG: a container or entry reaches beyond its bytes (entries before it were told). */
typedef int image_entry_fn(void *user, const struct image_entry *e);
int image_walk(struct image_bytes image, image_entry_fn *fn, void *user);

/* The entry's PTX or cubin in memory from malloc; PTX ends at its first NUL and gets one.
 * -E2BIG past max_bytes (0: 256 MiB), -EBADMSG broken data, -ENOTSUP an old packing, -ENOMEM. */
int image_unpack(const struct image_entry *e, size_t max_bytes, char **ret, size_t *ret_len);

/* How many bytes image has, which the program passed without a length. Reads as far as the headers
 * say, as the driver does: only for pointers that the driver would be given too. A wrapper's
 * container is followed; *ret_prelinked, if not NULL, gets the number of further containers that a
 * version 2 wrapper lists and image_prelinked returns. -ENOENT: no known magic. */
int image_span(const void *image, struct image_bytes *ret, unsigned *ret_prelinked);
int image_prelinked(const void *image, unsigned index, struct image_bytes *ret);

struct image_pick {
	char *ptx; /* from malloc; NULL: no PTX that this device can use */
	size_t ptx_len;
	uint32_t ptx_arch;
	bool has_sass;   /* a cubin for this device is there: the driver would not compile */
	bool sass_newer; /* … and it is for a newer architecture than ptx */
	unsigned n_ptx, n_elf, n_unusable;
};
/* What the driver would compile on a device of compute capability cc (90 for 9.0): PTX of the
 * highest architecture not above it ('a': equal only, 'f': same family); among equals the later
 * one. 0 also when nothing fits. Errors as image_walk and image_unpack. */
int image_pick(struct image_bytes image, uint32_t cc, size_t max_bytes, struct image_pick *ret);
void image_pick_finish(struct image_pick *p);
/* The rule for one PTX entry: could the driver compile it for cc, and we unpack it? */
bool image_usable(const struct image_entry *e, uint32_t cc);

/* Calls fn with the name of each kernel in a cubin (sections .text.NAME with an entry symbol). */
typedef int image_name_fn(void *user, const char *name, size_t len);
int image_elf_kernels(struct image_bytes cubin, image_name_fn *fn, void *user);
/* Calls fn for the bytes of each section of a 64-bit little-endian ELF called `name`. */
typedef int image_section_fn(void *user, struct image_bytes section);
int image_elf_sections(struct image_bytes elf, const char *name, image_section_fn *fn, void *user);
/* The PTX that a cubin was made from, where it was compiled with -lineinfo or -G: from its debug
 * sections, without comments and .loc; lines are where they were. From malloc, with a NUL behind
 * it. No driver compiles that: it is to be read. -ENOENT: there is none; -ENOTSUP: compressed in a
 * way that is not known; -EBADMSG, -ENOMEM. */
int image_elf_ptx(struct image_bytes cubin, char **ret, size_t *ret_len);
/* Architecture of a bare cubin from its header. */
int image_elf_arch(struct image_bytes cubin, uint32_t *ret_arch, char *ret_variant);
bool image_is_ptx(struct image_bytes image); /* text that begins like a PTX module */

#endif
