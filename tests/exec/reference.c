/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: reference PREFIX KERNEL WORD...
 * Checks that a kernel left in its buffers (files PREFIX.0, PREFIX.1 ..., in the order of the
 * arguments) what the host computes for the same specification. WORD: an argument of heddle
 * exec. Exit status 1: they differ; 2: no such kernel, or an unreadable file. */
#include "job/spec.h"
#include "lab/tasks/narrow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 16

struct buffer {
	uint64_t n;
	void *before, *after;
};

struct job {
	unsigned n_buffers, n_scalars;
	struct buffer buffers[MAX_ARGS];
	uint32_t scalars[MAX_ARGS]; /* values as bits */
	uint32_t blocks;            /* number of blocks in the grid */
	unsigned wrong;
};

static const uint32_t *before(const struct job *j, unsigned i)
{
	return j->buffers[i].before;
}

static const float *numbers(const struct job *j, unsigned i)
{
	return j->buffers[i].before;
}

static float number(const struct job *j, unsigned i)
{
	float f;

	memcpy(&f, &j->scalars[i], sizeof(f));
	return f;
}

static void differs(struct job *j, uint64_t i, double is, double want)
{
	if (j->wrong++ < 3)
		printf("element %llu: %.9g, not %.9g\n", (unsigned long long)i, is, want);
}

/* Compares the i-th buffer with `want`. */
static void same(struct job *j, unsigned i, const uint32_t *want)
{
	const uint32_t *is = j->buffers[i].after;

	for (uint64_t k = 0; k < j->buffers[i].n; k++)
		if (is[k] != want[k])
			differs(j, k, is[k], want[k]);
}

static uint32_t *copy(const void *from, uint64_t n)
{
	uint32_t *to = calloc(n, sizeof(*to));

	if (!to)
		abort();
	if (from)
		memcpy(to, from, n * sizeof(*to));
	return to;
}

static int rising(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int falling(const void *a, const void *b)
{
	return rising(b, a);
}

static void swap_pair(uint32_t *keys, uint32_t low, uint32_t gap, bool up)
{
	if ((keys[low] > keys[low + gap]) == up) {
		uint32_t t = keys[low];

		keys[low] = keys[low + gap];
		keys[low + gap] = t;
	}
}

static void bitonic_tile(struct job *j)
{
	uint32_t *want = copy(before(j, 0), j->buffers[0].n);

	for (uint64_t k = 0; k < j->buffers[0].n; k += 512)
		qsort(want + k, 512, sizeof(*want), k / 512 % 2 ? falling : rising);
	same(j, 0, want);
	free(want);
}

static void bitonic_step(struct job *j)
{
	uint32_t *want = copy(before(j, 0), j->buffers[0].n);
	uint32_t n = j->scalars[0], run = j->scalars[1], gap = j->scalars[2];

	for (uint32_t low = 0; low + gap < n; low++)
		if (!(low & gap))
			swap_pair(want, low, gap, !(low & run));
	same(j, 0, want);
	free(want);
}

static void sort_runs(struct job *j, uint32_t width)
{
	uint64_t n = j->buffers[0].n;
	uint32_t *want = copy(before(j, 0), n);

	for (uint64_t k = 0; k < n; k += width)
		qsort(want + k, MIN(width, n - k), sizeof(*want), rising);
	same(j, 1, want);
	free(want);
}

static void msort_tile(struct job *j)
{
	sort_runs(j, 256);
}

/* The input consists of sorted runs. */
static void msort_pass(struct job *j)
{
	sort_runs(j, 2 * j->scalars[1]);
}

static void kmeans(struct job *j)
{
	uint32_t n = j->scalars[0], k = j->scalars[1], dims = j->scalars[2];
	uint32_t *want = copy(NULL, n);

	for (uint32_t i = 0; i < n; i++) {
		float best = 3.0e38f;

		for (uint32_t c = 0; c < k; c++) {
			float sum = 0;

			for (uint32_t d = 0; d < dims; d++) {
				float off = numbers(j, 0)[(uint64_t)d * n + i] -
					    numbers(j, 1)[c * dims + d];

				sum += off * off;
			}
			if (sum < best) {
				best = sum;
				want[i] = c;
			}
		}
	}
	same(j, 2, want);
	free(want);
}

static void transpose(struct job *j)
{
	uint32_t width = j->scalars[0], height = j->scalars[1];
	uint32_t *want = copy(NULL, (uint64_t)width * height);

	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			want[(uint64_t)x * height + y] = before(j, 0)[(uint64_t)y * width + x];
	same(j, 1, want);
	free(want);
}

static double normal(double d)
{
	return 0.5 * erfc(-d / sqrt(2.0));
}

static void near(struct job *j, unsigned i, uint64_t at, double want, double bound)
{
	double is = (double)((const float *)j->buffers[i].after)[at];

	if (!(fabs(is - want) <= bound))
		differs(j, at, is, want);
}

static void blackscholes(struct job *j)
{
	double rate = (double)number(j, 1), volatility = (double)number(j, 2);

	for (uint32_t i = 0; i < j->scalars[0]; i++) {
		double s = 5 + 25 * (double)numbers(j, 0)[i];
		double x = 1 + 99 * (double)numbers(j, 1)[i];
		double t = 0.25 + 9.75 * (double)numbers(j, 2)[i];
		double spread = volatility * sqrt(t);
		double d = (log(s / x) + (rate + volatility * volatility / 2) * t) / spread;
		double discounted = x * exp(-rate * t);
		double call = s * normal(d) - discounted * normal(d - spread);

		near(j, 3, i, call, 1e-5 * (s + x));
		near(j, 4, i, call + discounted - s,
			1e-5 * (s + x)); /* put-call parity must hold */
	}
}

static void histogram(struct job *j)
{
	uint32_t *want = copy(before(j, 1), 256);

	for (uint32_t i = 0; i < j->scalars[0]; i++)
		for (unsigned b = 0; b < 4; b++)
			want[before(j, 0)[i] >> 8 * b & 255]++;
	same(j, 1, want);
	free(want);
}

/* ---- GoPTX's kernels ---- */

static double half(uint16_t h)
{
	int exponent = h >> 10 & 31;
	double m = h & 1023, v;

	if (exponent == 31)
		return m != 0 ? (double)NAN : h >> 15 ? -(double)INFINITY : (double)INFINITY;
	v = exponent ? ldexp(m + 1024, exponent - 25) : ldexp(m, -24);
	return h >> 15 ? -v : v;
}

static void gelu(struct job *j)
{
	const uint16_t *in = j->buffers[0].before, *out = j->buffers[1].after;

	for (uint32_t i = 0; i < 2 * j->scalars[0]; i++) {
		double x = half(in[i]), is = half(out[i]);
		double t = tanh(x * (0.0356774081 * x * x + 0.7978845608));
		double want = x * (0.5 + 0.5 * t);

		/* The polynomial has half precision, so the tolerance grows with the argument.
		 */
		if (isnan(x) || (isinf(x) && x < 0)
				? !isnan(is)
				: !(isinf(want) && is == want) &&
					  !(fabs(is - want) <= 4e-3 * fabs(x) + 1e-7))
			differs(j, i, is, want);
	}
	for (uint64_t i = 2 * (uint64_t)j->scalars[0]; i < j->buffers[1].n; i++)
		if (out[i])
			differs(j, i, half(out[i]), 0);
}

struct image {
	const uint8_t *at;
	int width, height;
};

static int point(const struct image *m, int x, int y)
{
	x = x < 0 ? 0 : x >= m->width ? m->width - 1 : x;
	y = y < 0 ? 0 : y >= m->height ? m->height - 1 : y;
	return m->at[y * m->width + x];
}

static struct image image_of(const struct job *j)
{
	return (struct image){j->buffers[0].before, (int)j->scalars[0], (int)j->scalars[1]};
}

static int harris_at(const struct image *m, int x, int y)
{
	static const int weight[3] = {1, 2, 1};
	int xx = 0, yy = 0, xy = 0;

	for (int v = y - 1; v <= y + 1; v++)
		for (int u = x - 1; u <= x + 1; u++) {
			int gx = 0, gy = 0;

			for (int k = 0; k < 3; k++) {
				gx += weight[k] *
				      (point(m, u + 1, v + k - 1) - point(m, u - 1, v + k - 1));
				gy += weight[k] *
				      (point(m, u + k - 1, v + 1) - point(m, u + k - 1, v - 1));
			}
			xx += gx * gx >> 8;
			yy += gy * gy >> 8;
			xy += gx * gy >> 8;
		}
	/* Unsigned arithmetic, which may wrap around. */
	return (int)(16u * ((unsigned)xx * (unsigned)yy - (unsigned)xy * (unsigned)xy) -
		     (unsigned)(xx + yy) * (unsigned)(xx + yy));
}

static void harris(struct job *j)
{
	struct image m = image_of(j);
	uint32_t *want = copy(before(j, 1), j->buffers[1].n);

	for (int i = 0; i < m.width * m.height; i++)
		want[i] = (uint32_t)harris_at(&m, i % m.width, i / m.width);
	same(j, 1, want);
	free(want);
}

static void stms(struct job *j)
{
	struct image m = image_of(j);
	const float *is = j->buffers[1].after;

	for (int i = 0; i < m.width * m.height; i++) {
		int x = i % m.width, y = i / m.width, xx = 0, yy = 0, xy = 0;
		float half_of, root, want;

		for (int v = y - 1; v <= y + 1; v++)
			for (int u = x - 1; u <= x + 1; u++) {
				int gx = point(&m, u + 1, v) - point(&m, u - 1, v);
				int gy = point(&m, u, v + 1) - point(&m, u, v - 1);

				xx += gx * gx;
				yy += gy * gy;
				xy += gx * gy;
			}
		half_of = (float)(xx - yy) * 0.5f;
		root = sqrtf(half_of * half_of + (float)xy * (float)xy);
		want = (float)(xx + yy) * 0.5f - root;
		if (is[i] != want)
			differs(j, (uint64_t)i, (double)is[i], (double)want);
	}
}

/* Blocks beyond those of one matrix belong to the next matrix. */
static void lud(struct job *j)
{
	uint32_t n = j->scalars[0], offset = j->scalars[1], tiles = (n - offset) / 16 - 1;
	uint32_t *bits = copy(before(j, 0), j->buffers[0].n);
	float *want = malloc(j->buffers[0].n * sizeof(*want));

	if (!want)
		abort();
	memcpy(want, bits, j->buffers[0].n * sizeof(*want));
	for (uint32_t block = 0; block < j->blocks; block++) {
		uint32_t tile = block % (tiles * tiles);
		float *m = want + (uint64_t)(block / (tiles * tiles)) * n * n;
		uint32_t top = offset + (tile / tiles + 1) * 16;
		uint32_t left = offset + (tile % tiles + 1) * 16;

		for (uint32_t y = top; y < top + 16; y++)
			for (uint32_t x = left; x < left + 16; x++) {
				float sum = 0;

				for (uint32_t k = offset; k < offset + 16; k++)
					sum += m[y * n + k] * m[k * n + x];
				m[y * n + x] -= sum;
			}
	}
	memcpy(bits, want, j->buffers[0].n * sizeof(*want));
	same(j, 0, bits);
	free(bits);
	free(want);
}

/* Applying the normal distribution's integral to the result must give the argument again. */
static void micnd(struct job *j)
{
	for (uint32_t i = 0; i < j->scalars[0]; i++) {
		double is = (double)((const float *)j->buffers[1].after)[i];
		double p = ((before(j, 0)[i] >> 8) + 0.5) / 16777216;

		if (!(fabs(normal(is) - p) <= 1e-6))
			differs(j, i, normal(is), p);
	}
}

static void sort(struct job *j)
{
	uint32_t *want = copy(before(j, 0), j->buffers[0].n);

	for (uint64_t k = 0; k < j->buffers[0].n; k += 512)
		qsort(want + k, 512, sizeof(*want), rising);
	same(j, 0, want);
	free(want);
}

/* ---- narrow kernels: computed by the host's code of `heddle bench tasks` ---- */
static void mandelbrot(struct job *j)
{
	const struct narrow_input in = {.width = j->scalars[0],
		.height = j->scalars[1],
		.x = number(j, 2),
		.y = number(j, 3),
		.step = number(j, 4),
		.limit = j->scalars[5]};
	uint32_t *want = calloc(j->buffers[0].n, 4);

	narrow_mandelbrot(&in, NULL, want);
	same(j, 0, want);
	free(want);
}

static void wmma(struct job *j)
{
	uint32_t m = j->scalars[0], n = j->scalars[1], k = j->scalars[2];
	const uint16_t *a = j->buffers[0].before, *b = j->buffers[1].before;

	for (uint32_t i = 0; i < m * n; i++) {
		double want = (double)numbers(j, 2)[i], bound = fabs(want) * 1e-6;

		for (uint32_t l = 0; l < k; l++) {
			double product = half(a[i / n * k + l]) * half(b[i % n * k + l]);

			want += product;
			bound += fabs(product) * 1e-6;
		}
		near(j, 2, i, want, bound);
	}
}

static void matmul(struct job *j)
{
	float *want = calloc(j->buffers[2].n, 4);

	narrow_matmul(numbers(j, 0), numbers(j, 1), j->scalars[0], want);
	same(j, 2, (uint32_t *)want);
	free(want);
}

static void filterbank(struct job *j)
{
	uint32_t n = j->scalars[0];
	float *want = calloc(n, 4), *tmp = calloc(2 * n, 4);

	narrow_filterbank(numbers(j, 0), numbers(j, 1), numbers(j, 2), n, j->scalars[1],
		j->scalars[2], tmp, want);
	same(j, 3, (uint32_t *)want);
	free(want);
	free(tmp);
}

static void read_after(struct buffer *b, uint64_t bytes, const char *prefix, unsigned i)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%u", prefix, i);
	f = fopen(path, "rb");
	b->after = malloc(bytes);
	if (!f || !b->after || fread(b->after, 1, bytes, f) != bytes) {
		printf("%s: cannot be read\n", path);
		exit(2);
	}
	fclose(f);
}

static void read_word(struct job *j, struct arena *a, const char *prefix, const char *word)
{
	struct strbuf err = {0};
	struct spec_arg arg;
	struct buffer *b = &j->buffers[j->n_buffers];

	if (spec_parse_arg(a, word, &arg, &err) || MAX(j->n_buffers, j->n_scalars) == MAX_ARGS) {
		printf("%s\n", err.at ? err.at : "too many arguments");
		exit(2);
	}
	if (!arg.is_buffer) {
		memcpy(&j->scalars[j->n_scalars++], arg.value, sizeof(uint32_t));
		return;
	}
	b->n = arg.count;
	b->before = malloc(arg.bytes);
	if (!b->before || spec_fill(&arg, b->before, &err)) {
		printf("%s\n", err.at ? err.at : "out of memory");
		exit(2);
	}
	read_after(b, arg.bytes, prefix, j->n_buffers++);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*check)(struct job *j);
	} kernels[] = {
		{"bitonic_tile", bitonic_tile},
		{"bitonic_step", bitonic_step},
		{"msort_tile", msort_tile},
		{"msort_pass", msort_pass},
		{"kmeans", kmeans},
		{"transpose", transpose},
		{"blackscholes", blackscholes},
		{"histogram", histogram},
		{"gelu", gelu},
		{"harris", harris},
		{"lud", lud},
		{"micnd", micnd},
		{"sort", sort},
		{"stms", stms},
		{"wmma", wmma},
		{"mandelbrot", mandelbrot},
		{"matmul", matmul},
		{"filterbank", filterbank},
	};
	struct job j = {0};
	struct arena arena;

	arena_init(&arena, 0);
	for (int i = 3; i < argc; i++) {
		uint32_t grid[3];

		if (!strcmp(argv[i], "--grid") && i + 1 < argc &&
			!spec_parse_dims(argv[i + 1], grid))
			j.blocks = grid[0] * grid[1] * grid[2];
		if (strncmp(argv[i], "--", 2) == 0)
			i++;
		else
			read_word(&j, &arena, argv[1], argv[i]);
	}
	for (size_t k = 0; argc > 2 && k < ARRAY_LEN(kernels); k++) {
		if (strcmp(kernels[k].name, argv[2]) != 0)
			continue;
		kernels[k].check(&j);
		for (unsigned i = 0; i < j.n_buffers; i++) {
			free(j.buffers[i].before);
			free(j.buffers[i].after);
		}
		arena_finish(&arena);
		return j.wrong > 0;
	}
	puts("no such kernel");
	return 2;
}
