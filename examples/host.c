/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions for a program's build and check: memory, random inputs that depend only on the seed and
 * the index, work on all CPUs, and comparison. */
#include "common.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 32

static const struct ex_size sizes[] = {
#define SIZE(program, class, size, target, ...) {#program, #class, #size, target, {__VA_ARGS__}},
#include "sizes.def"
#undef SIZE
};

const struct ex_size *ex_sizes(size_t *ret_count)
{
	*ret_count = sizeof(sizes) / sizeof(sizes[0]);
	return sizes;
}

const struct ex_size *ex_find_size(const char *program, const char *device_class, const char *size)
{
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
		if (!strcmp(sizes[k].program, program) &&
			!strcmp(sizes[k].device_class, device_class) &&
			!strcmp(sizes[k].size, size))
			return &sizes[k];
	return NULL;
}

void *ex_alloc(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
	if (!p) {
		fprintf(stderr, "%s: out of memory\n", ex_program.name);
		exit(1);
	}
	return p;
}

unsigned ex_add_buffer(struct ex_work *w, size_t bytes, bool out)
{
	w->buffer[w->buffers] = (struct ex_buffer){ex_alloc(bytes), bytes, out};
	w->arg[w->args++] = (struct ex_arg){.is_buffer = true, .buffer = w->buffers};
	return w->buffers++;
}

void ex_add_u32(struct ex_work *w, uint32_t v)
{
	w->arg[w->args++] = (struct ex_arg){.word = v};
}

void ex_add_f32(struct ex_work *w, float v)
{
	uint32_t bits;
	memcpy(&bits, &v, sizeof(bits));
	ex_add_u32(w, bits);
}

void ex_apply_scale(const struct ex_work *w, uint32_t *n, uint32_t *batches, uint32_t *per_block)
{
	if (w->scale == 1.0)
		return;
	double wanted = *batches * w->scale / *per_block;
	if (*batches == *per_block && *per_block > 1) {
		*batches = *per_block = (uint32_t)fmax(1.0, round(*per_block * w->scale));
	} else if (wanted >= 16.0) {
		*batches = (uint32_t)round(wanted) * *per_block;
	} else {
		*n = (uint32_t)fmax(1.0, round(*n * w->scale));
	}
}

uint64_t ex_random(uint64_t seed, uint64_t i)
{
	uint64_t z = seed * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

float ex_unit(uint64_t seed, uint64_t i)
{
	return (float)(ex_random(seed, i) >> 40) * 0x1p-24f;
}

int ex_small_int(uint64_t seed, uint64_t i)
{
	return (int)(ex_random(seed, i) % 17) - 8;
}

uint32_t ex_div_up(uint64_t n, uint64_t by)
{
	return (uint32_t)((n + by - 1) / by);
}

struct part {
	void (*f)(void *, uint64_t, uint64_t);
	void *context;
	uint64_t from, to;
};

static void *run_part(void *p)
{
	struct part *part = p;
	part->f(part->context, part->from, part->to);
	return NULL;
}

void ex_parallel(uint64_t count, void (*f)(void *, uint64_t, uint64_t), void *context)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (uint64_t)cpus;
	if (n > count)
		n = count;
	pthread_t thread[THREADS_MAX];
	struct part part[THREADS_MAX];
	bool running[THREADS_MAX];
	for (uint64_t k = 0; k < n; k++) {
		part[k] = (struct part){f, context, count * k / n, count * (k + 1) / n};
		running[k] = pthread_create(&thread[k], NULL, run_part, &part[k]) == 0;
		if (!running[k])
			run_part(&part[k]);
	}
	for (uint64_t k = 0; k < n; k++)
		if (running[k])
			pthread_join(thread[k], NULL);
}

/* ---- references that outlive a process ---- */

static const char *reference_folder;

void ex_reference_folder(const char *path)
{
	reference_folder = path;
}

static bool load_reference(struct ex_work *w, const char *path)
{
	size_t bytes = w->expected_bytes[0] + w->expected_bytes[1];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *at = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size == bytes)
		at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return false;
	for (unsigned k = 0; k < 2; k++) {
		free(w->expected[k]);
		w->expected[k] = w->expected_bytes[k] ? at + (k ? w->expected_bytes[0] : 0) : NULL;
	}
	w->mapped = at;
	return true;
}

void ex_free_work(struct ex_work *w)
{
	for (unsigned j = 0; j < w->buffers; j++)
		free(w->buffer[j].host);
	if (w->mapped)
		munmap(w->mapped, w->expected_bytes[0] + w->expected_bytes[1]);
	for (unsigned k = 0; k < 2 && !w->mapped; k++)
		free(w->expected[k]);
}

/* Whole or not at all: others may look for it meanwhile. */
static void save_reference(const struct ex_work *w, const char *path)
{
	char other[600];
	snprintf(other, sizeof(other), "%s.%d", path, (int)getpid());
	FILE *f = fopen(other, "wb");
	bool ok = f;
	for (unsigned k = 0; k < 2 && ok; k++)
		ok = !w->expected_bytes[k] ||
		     fwrite(w->expected[k], 1, w->expected_bytes[k], f) == w->expected_bytes[k];
	if (f && fclose(f))
		ok = false;
	if (!ok || rename(other, path))
		unlink(other);
}

void ex_reference(
	struct ex_work *w, uint64_t count, void (*f)(void *, uint64_t, uint64_t), void *context)
{
	char path[512] = "";
	if (reference_folder)
		snprintf(path, sizeof(path), "%s/%s-%s-%g-%llu", reference_folder, ex_program.name,
			w->size->size, w->scale, (unsigned long long)w->seed);
	if (path[0] && load_reference(w, path))
		return;
	ex_parallel(count, f, context);
	if (path[0])
		save_reference(w, path);
}

static void note_wrong(struct ex_verdict *v, uint64_t at, double got, double want)
{
	if (v->wrong++ == 0) {
		v->first_wrong = at;
		v->got = got;
		v->want = want;
	}
}

void ex_check_words(struct ex_verdict *v, const void *got, const void *want, uint64_t count)
{
	if (memcmp(got, want, count * 4) == 0)
		return;
	const uint32_t *g = got, *w = want;
	for (uint64_t k = 0; k < count; k++)
		if (g[k] != w[k])
			note_wrong(v, k, g[k], w[k]);
}

void ex_check_bound(struct ex_verdict *v, const float *got, const float *want, uint64_t count,
	double bound, double floor)
{
	for (uint64_t k = 0; k < count; k++) {
		double error = fabs((double)got[k] - want[k]) / fmax(fabs(want[k]), floor);
		if (!(error <= bound)) /* also where got is not a number */
			note_wrong(v, k, got[k], want[k]);
		else if (error > v->max_error)
			v->max_error = error;
	}
}

void ex_check_repeated(struct ex_verdict *v, const void *got, uint64_t count, const void *want,
	uint64_t period, double bound, double floor)
{
	for (uint64_t from = 0; from < count; from += period) {
		uint64_t some = period < count - from ? period : count - from, wrong = v->wrong;
		if (bound > 0.0)
			ex_check_bound(v, (const float *)got + from, want, some, bound, floor);
		else
			ex_check_words(v, (const uint32_t *)got + from, want, some);
		if (wrong == 0 && v->wrong)
			v->first_wrong += from;
	}
}

uint64_t ex_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Sleeps until shortly before the time, and then polls the clock. */
void ex_sleep_until(uint64_t at_ns)
{
	uint64_t early = at_ns > 100000 ? at_ns - 100000 : 0;
	if (early > ex_now_ns()) {
		struct timespec t = {(time_t)(early / 1000000000u), (long)(early % 1000000000u)};
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
			;
	}
	while (ex_now_ns() < at_ns)
		;
}
