/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures how much longer a hand-over takes than the running blocks need. This is the low-priority
 * tenant of that measurement. It launches long grids whose blocks record when they ran, then reads
 * the daemon's event log. "The order" is the word by which the daemon preempts the launch. For each
 * preemption the program finds the blocks that ran when the daemon stored the order, the time until
 * the last of these blocks ended (the residual), and the further time until the last worker left.
 *
 * Clocks: the daemon stamps the order with CLOCK_MONOTONIC. Blocks and the relay use the device's
 * global timer, which is CLOCK_REALTIME plus a constant. The preemptions themselves give the offset
 * between the clocks: a relay cannot see an order before it was stored, so the least of (seen -
 * stored) is the offset plus the one-way latency of the bus. --one-way-ns states this latency (half
 * of the round trip).
 *
 * Run as: heddle run -p low -- stamps --events FILE ..., beside a high-priority program. */
#include "gpu.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct settings {
	double blocks, threads, block_us, for_ms, one_way_ns;
	const char *events, *ptx;
};

struct block_time {
	uint64_t start, end;
};

struct handover {
	double total, residual, beyond; /* ns */
};

static void die(const char *what)
{
	fprintf(stderr, "stamps: %s\n", what);
	exit(1);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void parse(int argc, char **argv, struct settings *s)
{
	const struct {
		const char *name;
		double *number;
		const char **text;
	} options[] = {
		{"--blocks", &s->blocks, NULL},
		{"--threads", &s->threads, NULL},
		{"--block-us", &s->block_us, NULL},
		{"--for-ms", &s->for_ms, NULL},
		{"--one-way-ns", &s->one_way_ns, NULL},
		{"--events", NULL, &s->events},
		{"--ptx", NULL, &s->ptx},
	};
	size_t n = sizeof(options) / sizeof(options[0]);

	for (int i = 1; i + 1 < argc; i += 2) {
		size_t k = 0;

		while (k < n && strcmp(options[k].name, argv[i]))
			k++;
		if (k == n)
			die("usage: stamps --ptx FILE --events FILE [--blocks N] [--threads N] "
			    "[--block-us D] [--for-ms M] [--one-way-ns N]");
		if (options[k].number)
			*options[k].number = strtod(argv[i + 1], NULL);
		else
			*options[k].text = argv[i + 1];
	}
	if (!s->events || !s->ptx)
		die("--events and --ptx are needed");
}

/* ---- the grids ---- */

struct grids {
	struct gpu gpu;
	CUdeviceptr times, out;
	unsigned blocks, threads, rounds;
};

static void launch(const struct grids *g, unsigned blocks, unsigned rounds)
{
	unsigned clock = 1;
	void *args[] = {(void *)&g->times, (void *)&g->out, &rounds, &clock};

	must(cuLaunchKernel(g->gpu.kernel, blocks, 1, 1, g->threads, 1, 1, 0, NULL, args, NULL),
		"launch");
	must(cuCtxSynchronize(), "kernel");
}

static void open_grids(const struct settings *s, struct grids *g)
{
	unsigned wave;
	uint64_t t;

	gpu_open(&g->gpu, NULL, s->ptx, "stamp");
	g->threads = (unsigned)s->threads;
	g->blocks = (unsigned)s->blocks;
	wave = gpu_wave(&g->gpu, g->threads);
	must(cuMemAlloc(&g->times, (size_t)g->blocks * sizeof(struct block_time)), "memory");
	must(cuMemAlloc(&g->out, (size_t)g->blocks * g->threads * sizeof(float)), "memory");
	for (int warm = 0; warm < 2; warm++) { /* finds how many loop rounds make the duration */
		unsigned blocks = wave < g->blocks ? wave : g->blocks;
		double one, many;

		t = now_ns(CLOCK_MONOTONIC);
		launch(g, blocks, 1);
		one = (double)(now_ns(CLOCK_MONOTONIC) - t);
		t = now_ns(CLOCK_MONOTONIC);
		launch(g, blocks, 200000);
		many = (double)(now_ns(CLOCK_MONOTONIC) - t);
		g->rounds =
			(unsigned)(s->block_us * 1e3 * 200000 / (many > one ? many - one : 1)) + 1;
	}
}

/* Launches grids until the time is over. Returns the stamps of all grids, in launch order. */
static struct block_time *run_grids(const struct settings *s, const struct grids *g, size_t *ret_n)
{
	uint64_t end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(s->for_ms * 1e6);
	struct block_time *at = NULL;
	size_t n = 0;

	while (now_ns(CLOCK_MONOTONIC) < end) {
		launch(g, g->blocks, g->rounds);
		at = realloc(at, (n + g->blocks) * sizeof(*at));
		if (!at)
			die("out of memory");
		must(cuMemcpyDtoH(at + n, g->times, g->blocks * sizeof(*at)), "copy");
		n += g->blocks;
	}
	*ret_n = n;
	return at;
}

/* ---- the daemon's log ---- */

static bool field(const char *line, const char *key, uint64_t *ret)
{
	const char *p = strstr(line, key);

	if (!p)
		return false;
	p += strlen(key);
	*ret = strtoull(p + strspn(p, "\": "), NULL, 10);
	return true;
}

struct order {
	uint64_t store, seen, drained;
};

/* Reads the preemptions whose log line describes the same order that the workers obeyed when they
 * drained. */
static struct order *read_orders(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "r");
	struct order *at = NULL;
	char *line = NULL;
	size_t cap = 0, n = 0;

	if (!f)
		die("the event log cannot be read");
	while (getline(&line, &cap, f) > 0) {
		struct order o;
		uint64_t seq, drained_seq;

		if (!strstr(line, "\"drained\"") || !strstr(line, "\"stamp\"") ||
			!field(line, "\"store_ns\"", &o.store) ||
			!field(line, "\"device_seen_ns\"", &o.seen) ||
			!field(line, "\"device_drained_ns\"", &o.drained) ||
			!field(line, "\"seq\"", &seq) ||
			!field(line, "\"drained_seq\"", &drained_seq) || seq != drained_seq)
			continue;
		at = realloc(at, (n + 1) * sizeof(*at));
		if (!at)
			die("out of memory");
		at[n++] = o;
	}
	free(line);
	fclose(f);
	*ret_n = n;
	return at;
}

/* The first and the last stamp of a grid may not be its earliest start and its latest end. They
 * differ from these by far less than 20 ms. */
static bool overlaps(const struct block_time *grid, size_t n, uint64_t t)
{
	const uint64_t slack = 20000000;

	return grid[0].start < t + slack && grid[n - 1].end + slack > t;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *name, const struct handover *h, size_t n, size_t offset)
{
	double *v = malloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		memcpy(&v[i], (const char *)&h[i] + offset, sizeof(*v));
	qsort(v, n, sizeof(*v), by_value);
	printf("%-34s median %8.1f us   p99 %8.1f us   max %8.1f us\n", name, v[n / 2] / 1e3,
		v[(n * 99 + 99) / 100 - 1] / 1e3, v[n - 1] / 1e3);
	free(v);
}

int main(int argc, char **argv)
{
	struct settings s = {.blocks = 100000,
		.threads = 256,
		.block_us = 20,
		.for_ms = 2000,
		.one_way_ns = 1200};
	struct grids g;
	size_t n_blocks, n_orders, n = 0;
	int64_t mono = (int64_t)(now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC)),
		least = INT64_MAX;
	struct block_time *blocks;
	struct order *orders;
	struct handover *h;

	parse(argc, argv, &s);
	open_grids(&s, &g);
	printf("stamps: ready\n");
	fflush(stdout);
	blocks = run_grids(&s, &g, &n_blocks);
	usleep(300000); /* the daemon writes its log some time after each decision */
	orders = read_orders(s.events, &n_orders);
	h = calloc(n_orders + 1, sizeof(*h));
	for (size_t i = 0; i < n_orders; i++) {
		int64_t d = (int64_t)(orders[i].seen - orders[i].store);

		least = d < least ? d : least;
	}
	for (size_t i = 0; h && i < n_orders; i++) {
		uint64_t store = orders[i].store + (uint64_t)(least - (int64_t)s.one_way_ns),
			 last = store;
		size_t running = 0;

		for (size_t k = 0; k < n_blocks; k++) {
			/* Skip a grid that did not run at the time of the order. */
			if (k % g.blocks == 0 && !overlaps(&blocks[k], g.blocks, store)) {
				k += g.blocks - 1;
				continue;
			}
			if (blocks[k].start <= store && blocks[k].end > store) {
				running++;
				last = blocks[k].end > last ? blocks[k].end : last;
			}
		}
		if (!running)
			continue; /* a time between two grids */
		h[n++] = (struct handover){(double)orders[i].drained - (double)store,
			(double)(last - store), (double)orders[i].drained - (double)last};
	}
	if (n == 0)
		die("no preemption of this program in the log");
	printf("%zu preemptions, blocks of %g us, %u threads (timer less realtime: %.1f us)\n", n,
		s.block_us, g.threads, ((double)least - s.one_way_ns - (double)mono) / 1e3);
	report("order to last worker gone", h, n, offsetof(struct handover, total));
	report("longest residual of running blocks", h, n, offsetof(struct handover, residual));
	report("beyond the residual", h, n, offsetof(struct handover, beyond));
	return 0;
}
