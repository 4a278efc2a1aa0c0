/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The programs of heddle bench tasks: their kernels (kernels/narrow.cu), the inputs of their tasks,
 * and the expected output of each task, computed on this host bit for bit. Memory is an array of
 * 32-bit words. */
#ifndef HEDDLE_NARROW_H
#define HEDDLE_NARROW_H

#include <stdbool.h>
#include <stdint.h>

#define NARROW_PARAMS 8

/* The input of a task. Tasks with equal inputs have equal outputs. */
struct narrow_input {
	uint32_t in_words, out_words, shared_bytes;
	uint32_t width, height, limit; /* their meaning depends on the program */
	float x, y, step;
};

struct narrow_params {
	uint64_t value[NARROW_PARAMS];
	void *at[NARROW_PARAMS]; /* pointers to value[], as cuLaunchKernel takes them */
	unsigned n;
};

struct narrow_program {
	const char *name, *kernel;
	/* Chooses a task's input. small: use sizes for a virtual GPU. */
	void (*shape)(struct narrow_input *i, uint64_t *seed, bool small);
	/* Sets the kernel's parameters. in and out are device addresses. */
	void (*params)(
		const struct narrow_input *i, uint64_t in, uint64_t out, struct narrow_params *ret);
	void (*expect)(const struct narrow_input *i, const float *in, uint32_t *out);
};
extern const struct narrow_program narrow_programs[];
extern const unsigned narrow_n_programs;

/* Returns a pseudo-random number less than `below`. The sequence is the same on every machine. */
uint32_t narrow_random(uint64_t *seed, uint32_t below);

void narrow_mandelbrot(const struct narrow_input *i, const float *in, uint32_t *out);
void narrow_matmul(const float *a, const float *b, uint32_t n, float *c);
/* tmp is scratch memory for 2 * n numbers. */
void narrow_filterbank(const float *r, const float *h, const float *f, uint32_t n, uint32_t every,
	uint32_t taps, float *tmp, float *out);

#endif
