/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: held_out HEDDLE PTX_FOLDER
 * Tests how well the duration of launches with unseen sizes is predicted (FLEP, section 6.2): for
 * each of eight kernels, the model learns from 100 launches of random sizes and predicts 50 of
 * other sizes. The virtual GPU runs them with its virtual clock, so that the outcome is always the
 * same. Prints a line for each kernel; fails if the errors exceed the bounds below. */
#include "sched/model/durations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEARNT       100u
#define HELD_OUT     50u
#define N_SMS        8u /* number of SMs of the virtual GPU */
#define MEAN_BOUND   0.069
#define KERNEL_BOUND 0.122

static uint64_t drawn;

/* Draws a number whose logarithm is uniformly distributed. */
static uint32_t draw(double from, double to)
{
	double part = (double)(random_bits(36, drawn++) >> 11) / 9007199254740992.0;

	return (uint32_t)lround(from * pow(to / from, part));
}

static uint32_t draw_power(uint32_t n)
{
	return 1u << random_bits(36, drawn++) % n;
}

/* A launch as a command line under construction, and its shape. */
struct call {
	struct sched_shape shape;
	unsigned n_inputs;
	char grid[64], args[2048];
};

static void add_text(struct call *c, const char *text)
{
	strncat(c->args, text, sizeof(c->args) - strlen(c->args) - 1);
}

static void add_input(struct call *c, uint64_t v)
{
	if (c->n_inputs < SCHED_INPUTS)
		c->shape.input[c->n_inputs++] = (float)v;
}

/* Adds a buffer of n elements of this type and size in bytes. */
static void buffer(struct call *c, const char *type, uint32_t bytes, uint64_t n, const char *init)
{
	char text[256];

	snprintf(text, sizeof(text), " '%s[%llu]:%s'", type, (unsigned long long)n, init);
	add_text(c, text);
	add_input(c, n * bytes);
}

static void floats(struct call *c, uint64_t n)
{
	buffer(c, "f32", 4, n, "const(1)");
}

static void number(struct call *c, uint32_t v)
{
	char text[32];

	snprintf(text, sizeof(text), " u32:%u", v);
	add_text(c, text);
	add_input(c, v);
}

/* Adds a number that has no effect on the duration, as the shim passes it to the model. */
static void fraction(struct call *c, const char *v)
{
	add_text(c, " f32:");
	add_text(c, v);
	add_input(c, 0);
}

static void blocks(struct call *c, uint32_t x, uint32_t y, uint32_t z, uint32_t threads)
{
	c->shape.total = (uint64_t)x * y * z;
	c->shape.threads = threads;
	snprintf(c->grid, sizeof(c->grid), "%u,%u,%u", x, y, z);
}

/* Returns how many blocks of `each` elements cover n. */
static uint32_t cover(uint32_t n, uint32_t each)
{
	return (n + each - 1) / each;
}

/* ---- the kernels: the sizes vary by a factor of 20 to 30 in the first dimension ---- */

static void draw_va(struct call *c)
{
	uint32_t n = draw(2000, 60000), stretches = draw_power(3);

	floats(c, n);
	floats(c, n);
	floats(c, n);
	number(c, n);
	number(c, stretches);
	blocks(c, cover(n, 256 * stretches), draw(1, 3), 1, 256);
}

static void draw_nn(struct call *c)
{
	uint32_t n = draw(2000, 40000), y = draw(1, 16), each = draw_power(2);

	floats(c, n);
	floats(c, n);
	floats(c, y * each);
	floats(c, y * each);
	floats(c, (uint64_t)(n / 128 + 16) * y * each);
	number(c, n);
	number(c, each);
	blocks(c, cover(n, 1024), y, 1, 256);
}

static void draw_pf(struct call *c)
{
	uint32_t columns = draw(500, 8000), rows = 20 * draw_power(3), steps = 5 * draw_power(4);
	uint32_t y = draw(1, 6), each = draw_power(2);

	buffer(c, "u8", 1, (uint64_t)rows * columns, "const(3)");
	buffer(c, "i32", 4, columns, "iota");
	buffer(c, "i32", 4, (uint64_t)columns * y * each, "zero");
	number(c, columns);
	number(c, rows);
	number(c, steps);
	number(c, each);
	blocks(c, cover(columns, 256 - 2 * steps), y, 1, 256);
}

static void draw_pl(struct call *c)
{
	uint32_t n = draw(500, 8000), side = 64 * draw_power(2), points = draw(8, 60);
	uint32_t y = draw(1, 4), each = draw_power(2);

	buffer(c, "u8", 1, (uint64_t)side * side * y * each, "const(7)");
	floats(c, n);
	floats(c, n);
	buffer(c, "i32", 4, 2 * points, "const(1)");
	floats(c, (uint64_t)n * y * each);
	floats(c, (uint64_t)(n / 256 + 1) * y * each);
	number(c, n);
	number(c, side);
	number(c, side);
	number(c, points);
	fraction(c, "0.0001");
	number(c, each);
	blocks(c, cover(n, 256), y, 1, 256);
}

static void draw_md(struct call *c)
{
	uint32_t n = draw(400, 6000), neighbours = draw(4, 64), y = draw(1, 4);
	uint32_t each = draw_power(2);

	floats(c, (uint64_t)4 * n * y * each);
	buffer(c, "u32", 4, (uint64_t)n * neighbours, "const(3)");
	floats(c, (uint64_t)4 * n * y * each);
	number(c, n);
	number(c, neighbours);
	fraction(c, "0.5");
	fraction(c, "1.5");
	fraction(c, "2");
	number(c, each);
	blocks(c, cover(n, 128), y, 1, 128);
}

/* Writes rows of unequal length to a file. Returns the total number of elements. */
static uint32_t write_rows(const char *path, uint32_t rows, uint32_t mean)
{
	FILE *f = fopen(path, "wb");
	uint32_t at = 0;

	for (uint32_t i = 0; f && i <= rows; i++) {
		if (fwrite(&at, sizeof(at), 1, f) != 1)
			exit(2);
		if (i < rows)
			at += mean / 2 + (uint32_t)(random_bits(37, drawn++) % (mean + 1));
	}
	if (!f || fclose(f) != 0)
		exit(2);
	return at;
}

static void draw_spmv(struct call *c)
{
	static char path[64];
	uint32_t rows = draw(100, 2000), mean = draw(16, 200), y = draw(1, 4);
	uint32_t each = draw_power(2), n;
	char init[80];

	snprintf(path, sizeof(path), "rows-%d", (int)getpid());
	snprintf(init, sizeof(init), "@%s", path);
	n = write_rows(path, rows, mean);
	floats(c, n);
	buffer(c, "u32", 4, n, "const(7)");
	buffer(c, "u32", 4, rows + 1, init);
	floats(c, (uint64_t)rows * y * each);
	floats(c, (uint64_t)rows * y * each);
	number(c, rows);
	number(c, rows);
	number(c, each);
	blocks(c, cover(rows, 4), y, 1, 128);
}

static void draw_mm(struct call *c)
{
	uint32_t tiles = draw(1, 5), z = draw(1, 3), each = draw_power(2), n = 64 * tiles;
	uint64_t elements = (uint64_t)n * n * z * each;

	floats(c, elements);
	floats(c, elements);
	floats(c, elements);
	number(c, n);
	number(c, each);
	blocks(c, tiles, tiles, z, 256);
}

static void draw_cfd(struct call *c)
{
	uint32_t n = draw(300, 4000), inner = draw(1, 6), y = draw(1, 3), each = draw_power(2);

	floats(c, (uint64_t)5 * n * y * each);
	buffer(c, "u32", 4, (uint64_t)4 * n, "const(5)");
	floats(c, (uint64_t)12 * n);
	floats(c, (uint64_t)5 * n * y * each);
	number(c, n);
	number(c, inner);
	fraction(c, "0.01");
	number(c, each);
	blocks(c, cover(n, 128), y, 1, 128);
}

static const struct program {
	const char *name;
	void (*draw)(struct call *c);
} programs[] = {
	{"va", draw_va},
	{"nn", draw_nn},
	{"pf", draw_pf},
	{"pl", draw_pl},
	{"md", draw_md},
	{"spmv", draw_spmv},
	{"mm", draw_mm},
	{"cfd", draw_cfd},
};

/* ---- running ---- */

/* Runs the launch on the virtual GPU. Returns the duration in its virtual ns. */
static uint64_t call_run(
	const struct call *c, const char *heddle, const char *folder, const char *name)
{
	char command[4096], line[256];
	double ms = 0;
	FILE *f;

	snprintf(command, sizeof(command),
		"HEDDLE_VGPU=held-out-%d,serial,sms=%u '%s' exec --device cpu --json --grid %s "
		"--block %u '%s/%s.ptx' %s%s",
		(int)getpid(), N_SMS, heddle, c->grid, c->shape.threads, folder, name, name,
		c->args);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, " \"ms\": %lf", &ms);
	if (!f || pclose(f) != 0 || !(ms > 0)) {
		fprintf(stderr, "held_out: failed: %s\n", command);
		exit(2);
	}
	return (uint64_t)(ms * 1e6);
}

/* Returns the mean error of one kernel's held-out launches, and the greatest in *ret_worst. */
static double try_program(const struct program *p, const char *heddle, const char *folder,
	struct durations *d, double *ret_worst)
{
	struct duration_owner owner = {.n_sms = N_SMS, .device = "virtual GPU", .driver = "1"};
	uint64_t number = durations_number(d, &owner, hash_bytes(p->name, 2, 1), p->name);
	double sum = 0;

	*ret_worst = 0;
	for (unsigned i = 0; i < LEARNT + HELD_OUT; i++) {
		struct call c = {.shape = {.kernel = number, .n_sms = N_SMS}};
		uint64_t ran, predicted;
		double error;

		p->draw(&c);
		ran = call_run(&c, heddle, folder, p->name);
		if (i < LEARNT) {
			model_durations.learn(d, &c.shape, ran, false);
			continue;
		}
		predicted = model_durations.predict(d, &c.shape);
		error = fabs((double)predicted - (double)ran) / (double)ran;
		sum += error / HELD_OUT;
		*ret_worst = fmax(*ret_worst, error);
	}
	return sum;
}

int main(int argc, char **argv)
{
	double sum = 0, greatest = 0;
	struct durations *d;
	char rows[64];

	if (argc != 3 || durations_create(&d) < 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		double worst, mean = try_program(&programs[i], argv[1], argv[2], d, &worst);

		printf("%-4s mean error %4.1f %%, of one launch at most %5.1f %%\n",
			programs[i].name, 100 * mean, 100 * worst);
		fflush(stdout);
		sum += mean / ARRAY_LEN(programs);
		greatest = fmax(greatest, mean);
	}
	printf("mean %.1f %% (at most %.1f), worst kernel %.1f %% (at most %.1f)\n", 100 * sum,
		100 * MEAN_BOUND, 100 * greatest, 100 * KERNEL_BOUND);
	snprintf(rows, sizeof(rows), "rows-%d", (int)getpid());
	unlink(rows);
	durations_destroy(d);
	return sum <= MEAN_BOUND && greatest <= KERNEL_BOUND ? 0 : 1;
}
