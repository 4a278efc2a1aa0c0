/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The interface between an example program and the code that all examples share. A program defines
 * how to make its inputs, its launch and its expected output (build), and how to check an output
 * (check). The shared code does the rest: options, the loop of timed launches, a common start with
 * other programs, output. The functions exd_* access the device; driver.c and rt/runtime.cu
 * implement them. Nothing in these programs knows of heddle. Host memory is freed when the process
 * ends. */
#ifndef HEDDLE_EXAMPLES_COMMON_H
#define HEDDLE_EXAMPLES_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EX_BUFFERS 8
#define EX_ARGS    16
#define EX_PARAMS  6

/* One row of sizes.def. p: see there. */
struct ex_size {
	const char *program, *device_class, *size;
	double target_us; /* intended time of the kernel on that class of device, in us; 0: none */
	uint32_t p[EX_PARAMS];
};

struct ex_buffer {
	void *host; /* input, or where the output is copied to */
	size_t bytes;
	bool out;
};

struct ex_arg {
	bool is_buffer;
	union {
		uint32_t word; /* or the bits of a float */
		unsigned buffer;
	};
};

/* A problem of one size: inputs in host memory, the launch, and the expected output. */
struct ex_work {
	const struct ex_size *size;
	double scale;
	uint64_t seed;
	uint32_t grid[3], block;
	struct ex_buffer buffer[EX_BUFFERS];
	unsigned buffers;
	struct ex_arg arg[EX_ARGS];
	unsigned args;
	void *expected[2];
	size_t expected_bytes[2]; /* set ahead of ex_reference */
	/* the file mapping that holds the expected output; NULL: it is in memory of its own */
	void *mapped;
};

struct ex_verdict {
	uint64_t wrong; /* elements */
	uint64_t first_wrong;
	double got, want; /* of that one */
	double max_error; /* relative, where a bound is allowed */
};

struct example {
	const char *name, *kernel;
	void (*build)(struct ex_work *w);
	void (*check)(const struct ex_work *w, struct ex_verdict *v);
};
extern const struct example ex_program; /* defined once in each program */

struct ex_options {
	const char *size, *device_class, *barrier, *ptx, *toolchain, *role, *check, *log,
		*reference, *until;
	double scale, delay_us, for_ms;
	uint64_t seed, start_at_ns;
	unsigned repeat, parties, device, slices;
	bool json, library, calibrate, list_sizes, commands;
};

/* ---- sizes.def ---- */
const struct ex_size *ex_sizes(size_t *ret_count);
const struct ex_size *ex_find_size(const char *program, const char *device_class, const char *size);

/* ---- for build ---- */
void *ex_alloc(size_t bytes);         /* never NULL: the program ends instead */
void ex_free_work(struct ex_work *w); /* what build and ex_reference have taken of the host */
unsigned ex_add_buffer(struct ex_work *w, size_t bytes, bool out); /* index; appended as argument */
void ex_add_u32(struct ex_work *w, uint32_t v);
void ex_add_f32(struct ex_work *w, float v);
/* Multiplies the work by w->scale. Multiplies the number of batches, and keeps those of one block
 * together. If there are too few batches, multiplies n instead. If a single row of blocks runs all
 * batches, multiplies the batches of each block. */
void ex_apply_scale(const struct ex_work *w, uint32_t *n, uint32_t *batches, uint32_t *per_block);
uint64_t ex_random(uint64_t seed, uint64_t i); /* the i-th of a sequence: any order, any thread */
float ex_unit(uint64_t seed, uint64_t i);      /* in [0, 1) */
int ex_small_int(uint64_t seed, uint64_t i);   /* -8 to 8 */
uint32_t ex_div_up(uint64_t n, uint64_t by);
/* Calls f(context, from, to) for parts of [0, count) on all CPUs, and returns when all calls have
 * returned. */
void ex_parallel(
	uint64_t count, void (*f)(void *context, uint64_t from, uint64_t to), void *context);
/* Calls f in the same way, but f must only fill w->expected. With --reference, takes the results of
 * an earlier run of the same problem from that folder, if it has them. */
void ex_reference(
	struct ex_work *w, uint64_t count, void (*f)(void *, uint64_t, uint64_t), void *context);
void ex_reference_folder(const char *path);

/* ---- for check ---- */
void ex_check_words(struct ex_verdict *v, const void *got, const void *want, uint64_t count);
/* Returns whether each value is within bound * max(|want|, floor) of the expected value. */
void ex_check_bound(struct ex_verdict *v, const float *got, const float *want, uint64_t count,
	double bound, double floor);
/* Compares results that repeat: got has `count` values, and value k should be want[k % period]. A
 * bound of 0 compares bit for bit. */
void ex_check_repeated(struct ex_verdict *v, const void *got, uint64_t count, const void *want,
	uint64_t period, double bound, double floor);

/* The resources of an SM that a block of the kernel needs, and how many blocks fit on an SM; 0:
 * unknown. */
struct ex_resources {
	unsigned registers; /* a thread */
	unsigned shared_bytes, blocks_per_sm;
};

/* ---- a device; errors are printed there and end in -1 ---- */
int exd_open(const struct ex_options *o, const char *ptx, const char *kernel);
const char *exd_name(void);
int exd_multiprocessors(void);
int exd_resources(const struct ex_work *w, struct ex_resources *ret);
int exd_upload(const struct ex_work *w); /* allocates too; frees what an earlier one left */
int exd_reset(const struct ex_work *w);  /* fills the outputs with 0xff bytes */
int exd_launch(const struct ex_work *w); /* between two events; does not wait */
int exd_started(void);                   /* 1: the stream has come to the launch; 0: not yet */
int exd_wait(void);
int exd_kernel_ns(double *ret_ns);
int exd_download(const struct ex_work *w);
void exd_close(void);

/* ---- time, command line ---- */
uint64_t ex_now_ns(void); /* CLOCK_MONOTONIC */
void ex_sleep_until(uint64_t at_ns);
int ex_parse(int argc, char **argv, struct ex_options *ret_options); /* 0, or an exit status + 1 */
void ex_find_ptx(const struct ex_options *o, const char *name, char *ret_path, size_t size);

#ifdef __cplusplus
}
#endif
#endif
