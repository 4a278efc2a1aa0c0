/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Containers of device code: the images that programs pass to cuModuleLoadData and
 * cuLibraryLoadData, and the sections of executables. The functions find the PTX that the driver
 * would compile for a device, and the names of kernels without PTX.
 *
 * A fat binary is a wrapper (magic, version, pointer) in the program's data. It points to a
 * container, which has a 16-byte header and then entries. Each entry is PTX text or a cubin for one
 * architecture: plain, LZ4 or zstd. Programs also pass plain PTX text and plain cubins. Executables
 * contain consecutive containers in the sections .nv_fatbin and __nv_relfatbin.
 *
 * All functions except image_span and image_prelinked treat their input as hostile: reads and
 * memory are bounded. No function keeps state, and all are thread safe. */
#ifndef HEDDLE_IMAGE_H
#define HEDDLE_IMAGE_H

#include "base/base.h"

enum image_kind { IMAGE_PTX = 1, IMAGE_ELF = 2 };
enum image_packing {
	IMAGE_PLAIN,
	IMAGE_LZ4,
	IMAGE_ZSTD,
	IMAGE_PACKED_OLD, /* format of CUDA 7 and earlier, which cannot be unpacked (-ENOTSUP) */
};

struct image_bytes {
	const uint8_t *at;
	size_t len;
};

struct image_entry {
	enum image_kind kind;
	enum image_packing packing;
	uint32_t arch;            /* architecture number: 90 for sm_90 or compute_90 */
	char variant;             /* 'a': only this architecture; 'f': its family; 0: none */
	struct image_bytes bytes; /* contents as stored, possibly compressed */
	uint64_t full_bytes;      /* unpacked size according to the entry; PTX may end with NULs */
	struct image_bytes name;  /* name of the source file, possibly empty */
};

/* Calls fn for each entry of an image, in order. The image can be consecutive containers with
 * padding, a host executable with fat binary sections, a plain cubin, or PTX text (its arch comes
 * from .target). If fn returns non-zero, the walk ends and returns that value. Returns -ENOENT if
 * there is no device code. Returns -EBADMSG if a container or entry is longer than the image; fn
 * was then called for the entries before it. */
typedef int image_entry_fn(void *user, const struct image_entry *e);
int image_walk(struct image_bytes image, image_entry_fn *fn, void *user);

/* Unpacks the entry's PTX or cubin into memory from malloc. PTX ends at its first NUL, and a NUL is
 * appended. Returns -E2BIG for more than max_bytes (0 means 256 MiB), -EBADMSG for invalid data,
 * -ENOTSUP for an old packing, or -ENOMEM. */
int image_unpack(const struct image_entry *e, size_t max_bytes, char **ret, size_t *ret_len);

/* Finds the size of an image that the program passed without a length. If the image is a wrapper,
 * the result is the container that the wrapper points to. Like the driver, the function reads as
 * far as the headers say, so pass only pointers that the driver would get too. Returns -ENOENT if
 * the magic number is unknown.
 *
 * A version 2 wrapper can list further containers, whose number is returned in *ret_prelinked
 * unless ret_prelinked is NULL. Get each of them with image_prelinked. */
int image_span(const void *image, struct image_bytes *ret, unsigned *ret_prelinked);
int image_prelinked(const void *image, unsigned index, struct image_bytes *ret);

struct image_pick {
	char *ptx; /* from malloc; NULL if there is no PTX that this device can use */
	size_t ptx_len;
	uint32_t ptx_arch;
	/* true if there is a cubin for this device, so the driver would not compile PTX */
	bool has_sass;
	bool sass_newer; /* this cubin is for a newer architecture than ptx is */
	unsigned n_ptx, n_elf, n_unusable;
};
/* Picks the PTX that the driver would compile for compute capability cc (90 for 9.0): the PTX with
 * the highest architecture not above cc. PTX with suffix 'a' fits only the same architecture, and
 * with suffix 'f' only the same family. Of two entries with equal architecture it picks the later
 * one. Returns 0 also if no entry fits; errors are those of image_walk and image_unpack. */
int image_pick(struct image_bytes image, uint32_t cc, size_t max_bytes, struct image_pick *ret);
void image_pick_finish(struct image_pick *p);
/* Returns true if the driver could compile this PTX entry for cc, and image_unpack supports its
 * packing. */
bool image_usable(const struct image_entry *e, uint32_t cc);

/* Calls fn with the name of each kernel of a cubin (each function symbol with the CUDA entry
 * flag). */
typedef int image_name_fn(void *user, const char *name, size_t len);
int image_elf_kernels(struct image_bytes cubin, image_name_fn *fn, void *user);
/* Calls fn for each section with this name in a 64-bit little-endian ELF file. */
typedef int image_section_fn(void *user, struct image_bytes section);
int image_elf_sections(struct image_bytes elf, const char *name, image_section_fn *fn, void *user);
/* Extracts the PTX from the debug sections of a cubin that was compiled with -lineinfo or -G.
 * Comments and .loc are missing, but line numbers are right. The text is for people to read; no
 * driver compiles it. The memory comes from malloc and ends with a NUL. Returns -ENOENT if there is
 * no such section, -ENOTSUP for an unknown compression, -EBADMSG or -ENOMEM. */
int image_elf_ptx(struct image_bytes cubin, char **ret, size_t *ret_len);
/* Reads the architecture from the header of a plain cubin. */
int image_elf_arch(struct image_bytes cubin, uint32_t *ret_arch, char *ret_variant);
bool image_is_ptx(struct image_bytes image); /* true if the text begins like a PTX module */

#endif
