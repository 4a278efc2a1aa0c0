/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any bytes as a recorded launch: an accepted record lies within the bytes and is complete, and
 * writing it and reading that again gives the same record. */
#include "host/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (8u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint64_t sum(const uint8_t *at, uint64_t n)
{
	uint64_t all = 0;

	for (uint64_t i = 0; i < n; i++)
		all += at[i];
	return all;
}

/* Reads every byte of the record, so that a sanitizer can check each access. */
static uint64_t touch(const struct record *r)
{
	uint64_t all = strlen(r->kernel) + strlen(r->program) + strlen(r->device);

	if (strlen(r->ptx) != r->ptx_len || !*r->kernel)
		abort();
	all += sum(r->params, r->param_bytes);
	for (uint32_t i = 0; i < r->n_regions; i++) {
		const struct record_region *g = &r->regions[i];

		all += strlen(g->variable);
		if (g->had > RECORD_BYTES || g->left > RECORD_DIGEST)
			abort();
		if (g->had == RECORD_BYTES)
			all += sum(g->before, g->bytes);
		if (g->left == RECORD_BYTES)
			all += sum(g->after, g->bytes);
		if (g->left == RECORD_DIGEST)
			all += sum(g->after, RECORD_DIGEST_BYTES);
	}
	for (uint32_t i = 0; i < r->n_pointers; i++) {
		const struct record_pointer *p = &r->pointers[i];

		if (p->region >= r->n_regions || p->offset >= r->regions[p->region].bytes ||
			p->at + 8 > r->param_bytes)
			abort();
	}
	return all;
}

static void check(const struct record *r, size_t len)
{
	struct strbuf b = {0};
	struct arena a;
	struct record again;
	uint32_t version;

	arena_init(&a, 0);
	record_write(r, &b);
	if (b.failed || b.len != len || !record_is_whole((const uint8_t *)b.at, b.len) ||
		record_read(&a, (const uint8_t *)b.at, b.len, &again, &version) ||
		touch(&again) != touch(r))
		abort();
	arena_finish(&a);
	strbuf_finish(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* Allocates the exact size, so that a sanitizer sees a read past the end. */
	uint8_t *exact = malloc(len + !len);
	struct record r;
	struct arena a;
	uint32_t version = 0;
	int status;

	if (!exact)
		return 0;
	if (len)
		memcpy(exact, data, len);
	arena_init(&a, LIMIT_BYTES);
	status = record_read(&a, exact, len, &r, &version);
	if (status == 0)
		check(&r, len);
	else if (status == -EPROTONOSUPPORT && version == RECORD_VERSION)
		abort();
	record_is_whole(exact, len);
	arena_finish(&a);
	free(exact);
	return 0;
}
