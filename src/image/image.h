/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Containers of device code: the images that programs pass to cuModuleLoadData and
 * cuLibraryLoadData, and the sections of executables. Finds the PTX that the driver would
 * compile for a device, and the names of kernels without PTX.
 *
 * A fat binary is a wrapper (magic, version, pointer) in the program's data. It points to a
 * container (16-byte header) of entries. Each entry is PTX text or a cubin for one architecture:
 * plain, LZ4 or zstd. Programs also pass plain PTX text and plain cubins. Executables hold
 * consecutive containers in .nv_fatbin and __nv_relfatbin.
 *
 * All functions but image_span treat their bytes as hostile: reads and memory are bounded. No
 * function keeps state; all are thread safe. */
#ifndef HEDDLE_IMAGE_H
#define HEDDLE_IMAGE_H

#include "base/base.h"

enum image_kind { IMAGE_PTX = 1, IMAGE_ELF = 2 };
enum image_packing {
	IMAGE_PLAIN,
	IMAGE_LZ4,
	IMAGE_ZSTD,
	IMAGE_PACKED_OLD, /* CUDA 7 and earlier; cannot be unpacked (-ENOTSUP) */
};

struct image_bytes {
	const uint8_t *at;
	size_t len;
};

struct image_entry {
	enum image_kind kind;
	enum image_packing packing;
	uint32_t arch;            /* 90 for sm_90 or compute_90 */
	char variant;             /* 'a': only this architecture; 'f': this family; or 0 */
	struct image_bytes bytes; /* as stored */
	uint64_t full_bytes;      /* unpacked size as the entry states it; PTX may end with NULs */
	struct image_bytes name;  /* source file, may be empty */
};

/* Calls fn for each entry, in order: of consecutive containers with padding, of the fat binary
 * sections of a host executable, of a plain cubin, or of PTX text (arch from .target). If fn
 * returns non-zero, the walk ends and returns this. -ENOENT: no device code was found; -EBADMSG:
 * a container or entry exceeds its bytes (fn was called for the entries before it). */
typedef int image_entry_fn(void *user, const struct image_entry *e);
int image_walk(struct image_bytes image, image_entry_fn *fn, void *user);

/* Unpacks the entry's PTX or cubin into memory from malloc. PTX ends at its first NUL and gets
 * one. -E2BIG: more than max_bytes (0: 256 MiB); -EBADMSG: invalid data; -ENOTSUP: an old
 * packing; -ENOMEM. */
int image_unpack(const struct image_entry *e, size_t max_bytes, char **ret, size_t *ret_len);

/* The size of an image that the program passed without a length. Reads as far as the headers
 * say, as the driver does, so pass only pointers that the driver would get, too. Follows a
 * wrapper to its container. *ret_prelinked, if not NULL, gets the number of further containers
 * that a version 2 wrapper lists, for image_prelinked. -ENOENT: unknown magic. */
int image_span(const void *image, struct image_bytes *ret, unsigned *ret_prelinked);
int image_prelinked(const void *image, unsigned index, struct image_bytes *ret);

struct image_pick {
	char *ptx; /* from malloc; NULL: no PTX that this device can use */
	size_t ptx_len;
	uint32_t ptx_arch;
	bool has_sass;   /* there is a cubin for this device, so the driver would not compile */
	bool sass_newer; /* that cubin is for a newer architecture than ptx */
	unsigned n_ptx, n_elf, n_unusable;
};
/* Picks the PTX that the driver would compile for compute capability cc (90 for 9.0): the one of
 * the highest architecture not above cc ('a': equal only; 'f': same family); among equals the
 * later one. Also 0 if there is none. Errors as for image_walk and image_unpack. */
int image_pick(struct image_bytes image, uint32_t cc, size_t max_bytes, struct image_pick *ret);
void image_pick_finish(struct image_pick *p);
/* The rule for one PTX entry: true if the driver could compile it for cc, and image_unpack
 * supports its packing. */
bool image_usable(const struct image_entry *e, uint32_t cc);

/* Calls fn with the name of each kernel of a cubin (sections .text.NAME with an entry symbol). */
typedef int image_name_fn(void *user, const char *name, size_t len);
int image_elf_kernels(struct image_bytes cubin, image_name_fn *fn, void *user);
/* Calls fn for each section with this name in a 64-bit little-endian ELF file. */
typedef int image_section_fn(void *user, struct image_bytes section);
int image_elf_sections(struct image_bytes elf, const char *name, image_section_fn *fn, void *user);
/* Extracts the PTX that a cubin was compiled from with -lineinfo or -G, from its debug sections.
 * Comments and .loc are missing, but line numbers are right. The memory is from malloc, with a
 * NUL at the end. The text is for reading; no driver compiles it. -ENOENT: there is none;
 * -ENOTSUP: unknown compression; -EBADMSG, -ENOMEM. */
int image_elf_ptx(struct image_bytes cubin, char **ret, size_t *ret_len);
/* The architecture of a plain cubin, from its header. */
int image_elf_arch(struct image_bytes cubin, uint32_t *ret_arch, char *ret_variant);
bool image_is_ptx(struct image_bytes image); /* true for text that begins like a PTX module */

#endif
