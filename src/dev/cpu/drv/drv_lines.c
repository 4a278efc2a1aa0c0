/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Source lines of PTX texts that a pass wrote. A program registers them with dev_tell_lines before
 * it loads such a text, once per process. The text itself does not contain the source lines, so
 * reports look them up by the text's hash. If too many texts are registered, the oldest are
 * dropped; reports then give the line numbers of the PTX text. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dev/dev.h"
#include "drv.h"
#include "drv_func.h"

#define TEXTS_MAX 1024

struct told {
	uint64_t hash;
	size_t len, n;
	uint32_t *lines;
};
static struct told all[TEXTS_MAX];
static unsigned next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct told *find_lines(uint64_t hash, size_t len)
{
	for (unsigned i = 0; i < TEXTS_MAX && all[i].lines; i++)
		if (all[i].hash == hash && all[i].len == len)
			return &all[i];
	return NULL;
}

__attribute__((visibility("default"))) dev_lines_fn heddle_cpu_lines;
void heddle_cpu_lines(const char *text, size_t len, const uint32_t *lines, size_t n)
{
	uint64_t hash = hash_bytes(text, len, 0);
	uint32_t *copy = malloc(n * sizeof(*copy));

	if (!copy)
		return;
	memcpy(copy, lines, n * sizeof(*copy));
	pthread_mutex_lock(&lock);
	struct told *t = find_lines(hash, len);
	if (!t)
		t = &all[next++ % TEXTS_MAX];
	free(t->lines);
	*t = (struct told){hash, len, n, copy};
	pthread_mutex_unlock(&lock);
}

void drv_lines_give(const char *text, size_t len, struct vgpu_module *m)
{
	pthread_mutex_lock(&lock);
	const struct told *t = find_lines(hash_bytes(text, len, 0), len);
	if (t)
		vgpu_module_lines(m, t->lines, t->n);
	pthread_mutex_unlock(&lock);
}
