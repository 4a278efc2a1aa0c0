/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* KERNELSPEC: one kernel with its launch shape and arguments, given on the command line.
 *      FILE KERNEL --grid X[,Y[,Z]] --block X[,Y[,Z]] [--shared BYTES] ARG...   (4,2 or 4x2)
 *      recorded:WHERE [KERNEL]    a recorded launch of a program (recording.h)
 *      ARG: TYPE:VALUE            a scalar passed by value (i32:5, f32:0.5)
 *           hex:0a0b...           raw bytes passed by value, for structures
 *           TYPE[N]:INIT          a buffer in device memory, whose address is passed; INIT is zero,
 *                                 iota, const(V), rand(SEED) or @FILE
 *           ...>FILE              after the kernel, writes the buffer to FILE as raw bytes;
 *                                 >- prints one value on each line
 * Counts and whole numbers may end in K, M or G (powers of 1024). rand gives integers over their
 * whole range, and floating-point numbers in [0, 1). Element i depends only on SEED and i, so the
 * same specification gives the same data on every machine. */
#ifndef HEDDLE_SPEC_H
#define HEDDLE_SPEC_H

#include "base/base.h"
#include "host/managed.h"

struct spec_arg {
	const char *text; /* the argument as the user wrote it */
	const struct spec_type *type;
	bool is_buffer;
	uint64_t count; /* number of elements, if it is a buffer */
	uint64_t bytes; /* size of the buffer or of the scalar */
	uint8_t *value; /* the scalar's bytes, if it is one */
	enum { SPEC_ZERO, SPEC_IOTA, SPEC_CONST, SPEC_RAND, SPEC_FILE, SPEC_BYTES } init;
	const uint8_t *contents; /* initial contents for SPEC_BYTES; may be unaligned */
	/* name of the module's variable that serves as the buffer; NULL: allocate it */
	const char *variable;
	uint64_t seed;
	uint8_t element[8];             /* the value V of const(V) */
	const char *in_path, *out_path; /* out_path "-": standard output */
};

struct record;
struct spec {
	struct arena *arena;
	/* the recorded launch, whose regions become the arguments; NULL: none */
	const struct record *record;
	const char *file, *kernel;
	struct host_shape shape;
	struct spec_arg *args;
	unsigned n_args;
};

#define SPEC_MAX_BYTES (16ull << 30) /* limit for one buffer */

/* Parses grid or block dimensions, such as "4", "4,2", "4x2x1" or "64K,2". Each dimension is at
 * least 1. Returns 0 or -EINVAL. */
int spec_parse_dims(const char *text, uint32_t ret[3]);
/* Parses an argument. Returns 0, -ENOMEM, or -EINVAL with one sentence in err. */
int spec_parse_arg(struct arena *a, const char *text, struct spec_arg *ret, struct strbuf *err);
/* Makes an argument that is a buffer of `bytes` bytes. contents are its initial bytes, as many as
 * the buffer has. They are borrowed, not copied; NULL means zeros. */
void spec_from_bytes(
	const char *text, const uint8_t *contents, uint64_t bytes, struct spec_arg *ret);
/* Writes the buffer's initial contents, which are arg->bytes long, to out. Returns 0, -EIO or
 * -EINVAL, with a message in err. */
int spec_fill(const struct spec_arg *arg, void *out, struct strbuf *err);
void spec_print_element(
	const struct spec_arg *arg, const void *data, uint64_t i, struct strbuf *out);
/* Prints the values of a buffer, one on each line. */
void spec_print(const struct spec_arg *arg, const void *data, struct strbuf *out);

#endif
