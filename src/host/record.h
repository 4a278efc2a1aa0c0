/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One launch of a program's kernel as a file: its PTX, shape and parameters, and the memory that
 * these lead to as it was before the launch and after it. The shim writes it (shim/record.c); the
 * command line runs it as a kernel specification (cli/corun/recording.h).
 *
 * A region is an allocation that a parameter points into, or a variable of the module. Addresses
 * differ from run to run: a pointer among the parameters is kept as a region and an offset in it.
 * Words within a region are kept as they were; a region that holds addresses is marked, and what
 * these lead to are regions, too. Such a word is known by its value alone: 8 bytes, aligned, with
 * an address within a region. */
#ifndef HEDDLE_HOST_RECORD_H
#define HEDDLE_HOST_RECORD_H

#include "base/base.h"

#define RECORD_VERSION      1
#define RECORD_SUFFIX       ".launch"
#define RECORD_WANTED       "wanted" /* file of the folder: two lines, which launch of which kernel */
#define RECORD_SKIPPED      "skipped"   /* file of the folder: KERNEL, tab, why; a line each */
#define RECORD_MOST_BYTES   (64u << 20) /* of all files of one recording */
#define RECORD_REGION_BYTES (16ull << 30)
#define RECORD_NO_POINTER   UINT64_MAX

enum record_contents {
	RECORD_LEFT_OUT, /* not known: it did not fit, or could not be read */
	RECORD_ZERO,
	RECORD_BYTES,  /* at `before` or `after` */
	RECORD_SAME,   /* after only: as before */
	RECORD_DIGEST, /* after only: bytes with this SHA-256, which is at `after` */
};

struct record_region {
	const char *variable; /* its name in the module; "": a buffer */
	uint64_t bytes;       /* at least 1 */
	uint64_t address;     /* in the program */
	enum record_contents had, left;
	const uint8_t *before, *after; /* not aligned */
	uint64_t pointer_at; /* offset of the first address in `before`; RECORD_NO_POINTER: none */
};

/* 8 bytes of the parameters: the address of region + offset. A variable is a region, too. */
struct record_pointer {
	uint32_t at, region;
	uint64_t offset; /* less than the region's bytes */
};

struct record {
	const char *program, *device, *kernel, *ptx; /* kernel: its name in the PTX */
	size_t ptx_len;
	uint32_t grid[3], block[3], shared_bytes; /* dynamic shared memory */
	uint64_t launch;                          /* which of the kernel's launches, from 1 */
	bool finished; /* without an error: else no region's `left` is known */
	const uint8_t *params;
	uint32_t param_bytes, n_pointers, n_regions;
	const struct record_pointer *pointers;
	const struct record_region *regions;
};

#define RECORD_DIGEST_BYTES 32

/* Appends the file's bytes. */
void record_write(const struct record *r, struct strbuf *out);
/* Reads any bytes. What *ret points to is in at[0, len), its arrays in the arena. 0; -EBADMSG:
 * these bytes are no recorded launch; -EPROTONOSUPPORT: of another format, *ret_version; -ENOMEM.
 */
int record_read(
	struct arena *a, const uint8_t *at, size_t len, struct record *ret, uint32_t *ret_version);
/* A word that is an address in the program becomes the same place of the regions at these
 * addresses. Any other word stays. */
uint64_t record_relocate(
	const struct record *r, const unsigned long long *addresses, uint64_t word);
/* Whether the bytes are those that record_write wrote, by the digest in them. */
bool record_is_whole(const uint8_t *at, size_t len);

#endif
