/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes the tasks of narrow.h on the host. To match the kernel bit for bit, each sum adds its
 * terms in the kernel's order, with a fused multiply-add wherever the kernel uses one. */
#include "lab/tasks/narrow.h"
#include "base/base.h"

#include <math.h>
#include <string.h>

uint32_t narrow_random(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 33) % below);
}

static void add_param(struct narrow_params *p, const void *value, unsigned bytes)
{
	memcpy(&p->value[p->n], value, bytes);
	p->at[p->n] = &p->value[p->n];
	p->n++;
}

/* ---- Mandelbrot: no input; the output is a picture of irregular size ---- */

void narrow_mandelbrot(const struct narrow_input *in, const float *unused, uint32_t *out)
{
	(void)unused;
	for (uint32_t i = 0; i < in->width * in->height; i++) {
		float cx = fmaf((float)(i % in->width), in->step, in->x), x = 0;
		float cy = fmaf((float)(i / in->width), in->step, in->y), y = 0;
		uint32_t n = 0;

		while (n < in->limit) {
			float yy = y * y, next;

			if (fmaf(x, x, yy) > 4.0f)
				break;
			next = fmaf(x, x, fmaf(-y, y, cx));
			y = fmaf(x + x, y, cy);
			x = next;
			n++;
		}
		out[i] = n;
	}
}

static void mandelbrot_shape(struct narrow_input *i, uint64_t *seed, bool small)
{
	uint32_t most = small ? 16 : 64;

	i->width = most / 4 + narrow_random(seed, most * 3 / 4);
	i->height = most / 4 + narrow_random(seed, most * 3 / 4);
	i->limit = small ? 32 : 256;
	i->x = -2.0f + (float)narrow_random(seed, 256) / 128;
	i->y = -1.25f + (float)narrow_random(seed, 256) / 128;
	i->step = 1.0f / (float)(1 + narrow_random(seed, 100));
	i->out_words = i->width * i->height;
}

static void mandelbrot_params(
	const struct narrow_input *i, uint64_t in, uint64_t out, struct narrow_params *ret)
{
	(void)in;
	add_param(ret, &out, 8);
	add_param(ret, &i->width, 4);
	add_param(ret, &i->height, 4);
	add_param(ret, &i->x, 4);
	add_param(ret, &i->y, 4);
	add_param(ret, &i->step, 4);
	add_param(ret, &i->limit, 4);
}

/* ---- matrix multiplication of n x n matrices ---- */

void narrow_matmul(const float *a, const float *b, uint32_t n, float *c)
{
	for (uint32_t row = 0; row < n; row++)
		for (uint32_t col = 0; col < n; col++) {
			float sum = 0;

			for (uint32_t k = 0; k < n; k++)
				sum = fmaf(a[row * n + k], b[k * n + col], sum);
			c[row * n + col] = sum;
		}
}

static void matmul_shape(struct narrow_input *i, uint64_t *seed, bool small)
{
	(void)seed;
	i->width = small ? 16 : 64;
	i->in_words = 2 * i->width * i->width;
	i->out_words = i->width * i->width;
}

static void matmul_params(
	const struct narrow_input *i, uint64_t in, uint64_t out, struct narrow_params *ret)
{
	uint64_t b = in + 4ull * i->width * i->width;

	add_param(ret, &in, 8);
	add_param(ret, &b, 8);
	add_param(ret, &out, 8);
	add_param(ret, &i->width, 4);
}

static void matmul_expect(const struct narrow_input *i, const float *in, uint32_t *out)
{
	narrow_matmul(in, in + i->width * i->width, i->width, (float *)out);
}

/* ---- a filter bank: a signal and two filters ---- */

void narrow_filterbank(const float *r, const float *h, const float *f, uint32_t n, uint32_t every,
	uint32_t taps, float *tmp, float *out)
{
	float *up = tmp + n;

	for (uint32_t i = 0; i < n; i++) {
		tmp[i] = 0;
		for (uint32_t k = 0; k < taps && k <= i; k++)
			tmp[i] = fmaf(r[i - k], h[k], tmp[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		up[i] = i % every ? 0 : tmp[i];
	for (uint32_t i = 0; i < n; i++) {
		out[i] = 0;
		for (uint32_t k = 0; k < taps && k <= i; k++)
			out[i] = fmaf(up[i - k], f[k], out[i]);
	}
}

#define FILTER_MOST 1024u
#define FILTER_TAPS 32u

static void filterbank_shape(struct narrow_input *i, uint64_t *seed, bool small)
{
	uint32_t most = small ? 128 : FILTER_MOST;

	i->width = most / 2 + narrow_random(seed, most / 2 + 1);
	i->height = 2 + narrow_random(seed, 7); /* one sample of this many is kept */
	i->limit = small ? 8 : FILTER_TAPS;
	i->in_words = i->width + 2 * i->limit;
	i->out_words = i->width;
	i->shared_bytes = 8 * i->width;
}

static void filterbank_params(
	const struct narrow_input *i, uint64_t in, uint64_t out, struct narrow_params *ret)
{
	uint64_t h = in + 4ull * i->width, f = h + 4ull * i->limit;

	add_param(ret, &in, 8);
	add_param(ret, &h, 8);
	add_param(ret, &f, 8);
	add_param(ret, &out, 8);
	add_param(ret, &i->width, 4);
	add_param(ret, &i->height, 4);
	add_param(ret, &i->limit, 4);
}

static void filterbank_expect(const struct narrow_input *i, const float *in, uint32_t *out)
{
	float tmp[2 * FILTER_MOST];

	narrow_filterbank(in, in + i->width, in + i->width + i->limit, i->width, i->height,
		i->limit, tmp, (float *)out);
}

const struct narrow_program narrow_programs[] = {
	{"mandelbrot", "mandelbrot", mandelbrot_shape, mandelbrot_params, narrow_mandelbrot},
	{"matmul", "matmul", matmul_shape, matmul_params, matmul_expect},
	{"filterbank", "filterbank", filterbank_shape, filterbank_params, filterbank_expect},
};
const unsigned narrow_n_programs = ARRAY_LEN(narrow_programs);
