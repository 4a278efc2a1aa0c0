/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The file format: a mark of 8 bytes, a count, then one record for each launch shape. The bytes
 * come from a file, so implausible values are refused. */
#include "shim/form/known.h"

#include <math.h>
#include <string.h>

#define MARK         "hdtaugh2"
#define BLOCK_NS_MAX 1e12

struct head {
	char mark[8];
	uint32_t n;
};

struct row {
	uint32_t form, threads, shared, launches, scale, zero;
	double ns[PACE_CHUNKS];
	uint64_t grid_ns, total_seen;
};

void known_write(const struct known *at, uint32_t n, struct strbuf *out)
{
	struct head h = {.mark = MARK, .n = n};

	strbuf_add(out, (const char *)&h, sizeof(h));
	for (uint32_t i = 0; i < n; i++) {
		struct row r = {.form = at[i].form,
			.threads = at[i].threads,
			.shared = at[i].shared,
			.launches = at[i].pace.launches,
			.scale = at[i].scale,
			.grid_ns = at[i].pace.grid_ns,
			.total_seen = at[i].pace.total_seen};

		memcpy(r.ns, at[i].pace.ns, sizeof(r.ns));
		strbuf_add(out, (const char *)&r, sizeof(r));
	}
}

static bool is_sane(const struct row *r)
{
	for (unsigned i = 0; i < PACE_CHUNKS; i++) {
		if (!isfinite(r->ns[i]) || r->ns[i] < 0 || r->ns[i] > BLOCK_NS_MAX)
			return false;
	}
	return r->form <= 1 && r->scale < 32 && r->threads && r->threads <= 1024;
}

uint32_t known_read(const char *at, size_t len, struct known ret[KNOWN_MAX])
{
	struct head h;

	if (len < sizeof(h))
		return 0;
	memcpy(&h, at, sizeof(h));
	if (memcmp(h.mark, MARK, sizeof(h.mark)) || h.n > KNOWN_MAX ||
		len != sizeof(h) + h.n * sizeof(struct row))
		return 0;
	for (uint32_t i = 0; i < h.n; i++) {
		struct row r;

		memcpy(&r, at + sizeof(h) + i * sizeof(r), sizeof(r));
		if (!is_sane(&r))
			return 0;
		ret[i] = (struct known){
			.form = r.form, .threads = r.threads, .shared = r.shared, .scale = r.scale};
		memcpy(ret[i].pace.ns, r.ns, sizeof(r.ns));
		ret[i].pace.launches = r.launches;
		ret[i].pace.grid_ns = r.grid_ns;
		ret[i].pace.total_seen = r.total_seen;
	}
	return h.n;
}

const struct pace *known_find(const struct known *at, uint32_t n, const struct known *like)
{
	for (uint32_t i = 0; i < n; i++) {
		if (at[i].form == like->form && at[i].threads == like->threads &&
			at[i].shared == like->shared && at[i].scale == like->scale)
			return &at[i].pace;
	}
	return NULL;
}
