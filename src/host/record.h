/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One launch of a program's kernel as a file. It contains the kernel's PTX, the launch's shape and
 * parameters, and the memory that the parameters point to, before and after the launch. The shim
 * writes the file (shim/record.c), and the command line can run it (job/recording.h).
 *
 * A region is an allocation that a parameter points into, or a variable of the module. Addresses
 * differ from run to run, so a pointer among the parameters is stored as a region and an offset.
 * The contents of a region are stored unchanged. A region that contains addresses is marked, and
 * the allocations that these addresses point into are regions as well. An address within a region
 * is recognised only by its value: 8 aligned bytes that point into a region. */
#ifndef HEDDLE_HOST_RECORD_H
#define HEDDLE_HOST_RECORD_H

#include "base/base.h"

#define RECORD_VERSION 1
#define RECORD_SUFFIX  ".launch"
/* name of the file that selects the launch to record; two lines: the launch's number and the
 * kernel's name */
#define RECORD_WANTED "wanted"
/* name of a file in the folder; each line: KERNEL, tab, reason */
#define RECORD_SKIPPED      "skipped"
#define RECORD_MOST_BYTES   (64u << 20) /* maximum total size of the files of a recording */
#define RECORD_REGION_BYTES (16ull << 30)
#define RECORD_NO_POINTER   UINT64_MAX

enum record_contents {
	RECORD_LEFT_OUT, /* unknown, because it did not fit or could not be read */
	RECORD_ZERO,
	RECORD_BYTES,  /* at `before` or `after` */
	RECORD_SAME,   /* after only: the same bytes as before */
	RECORD_DIGEST, /* after only: the SHA-256 of the bytes is stored at `after` */
};

struct record_region {
	const char *variable; /* name of a module variable; "": the region is a buffer */
	uint64_t bytes;       /* at least 1 */
	uint64_t address;     /* address in the recorded program */
	enum record_contents had, left;
	const uint8_t *before, *after; /* pointers need not be aligned */
	/* offset of the first address in `before`; RECORD_NO_POINTER if there is none */
	uint64_t pointer_at;
};

/* A parameter's 8 bytes that contain the address of a region plus an offset. A variable is a region
 * as well. */
struct record_pointer {
	uint32_t at, region;
	uint64_t offset; /* offset in the region; less than its bytes */
};

struct record {
	const char *program, *device, *kernel, *ptx; /* kernel: the name of the entry in the PTX */
	size_t ptx_len;
	uint32_t grid[3], block[3], shared_bytes; /* dynamic shared memory */
	/* number of this launch among the kernel's launches, from 1 */
	uint64_t launch;
	bool finished; /* true if it ended without error; otherwise all `left` are unknown */
	const uint8_t *params;
	uint32_t param_bytes, n_pointers, n_regions;
	const struct record_pointer *pointers;
	const struct record_region *regions;
};

#define RECORD_DIGEST_BYTES 32

/* Appends the content of a recording's file to out. */
void record_write(const struct record *r, struct strbuf *out);
/* Decodes a recorded launch from any bytes. *ret points into at[0, len), and its arrays are in the
 * arena. Returns 0, -EBADMSG if these bytes are no recorded launch, -EPROTONOSUPPORT if their
 * format has another version (stored in *ret_version), or -ENOMEM. */
int record_read(
	struct arena *a, const uint8_t *at, size_t len, struct record *ret, uint32_t *ret_version);
/* If the 64-bit value is an address in one of the recorded regions, returns the corresponding
 * address in the regions' new locations, `addresses`. Returns any other value unchanged. */
uint64_t record_relocate(
	const struct record *r, const unsigned long long *addresses, uint64_t word);
/* Returns true if the digest in the bytes is correct, so that the bytes are as record_write wrote
 * them. */
bool record_is_whole(const uint8_t *at, size_t len);

#endif
