/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A count, then a row for each shape. Bytes come from a file: whatever would mislead is refused. */
#include "shim/known.h"

#include <math.h>
#include <string.h>

#define BLOCK_NS_MAX 1e12

struct row {
	uint32_t form, threads, shared, launches;
	double ns[PACE_CHUNKS];
	uint64_t grid_ns, total_seen;
};

void known_write(const struct known *at, uint32_t n, struct strbuf *out)
{
	strbuf_add(out, (const char *)&n, sizeof(n));
	for (uint32_t i = 0; i < n; i++) {
		struct row r = {.form = at[i].form,
			.threads = at[i].threads,
			.shared = at[i].shared,
			.launches = at[i].pace.launches,
			.grid_ns = at[i].pace.grid_ns,
			.total_seen = at[i].pace.total_seen};

		memcpy(r.ns, at[i].pace.ns, sizeof(r.ns));
		strbuf_add(out, (const char *)&r, sizeof(r));
	}
}

/* Sizes are tried one after the other: none behind the first that was not. */
static bool is_sane(const struct row *r)
{
	bool tried = true;

	for (unsigned i = 0; i < PACE_CHUNKS; i++) {
		if (!isfinite(r->ns[i]) || r->ns[i] < 0 || r->ns[i] > BLOCK_NS_MAX ||
			(r->ns[i] > 0 && !tried))
			return false;
		tried = r->ns[i] > 0;
	}
	return r->form <= 1 && r->threads && r->threads <= 1024;
}

uint32_t known_read(const char *at, size_t len, struct known ret[KNOWN_MAX])
{
	uint32_t n = 0;

	if (len < sizeof(n))
		return 0;
	memcpy(&n, at, sizeof(n));
	if (n > KNOWN_MAX || len != sizeof(n) + n * sizeof(struct row))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		struct row r;

		memcpy(&r, at + sizeof(n) + i * sizeof(r), sizeof(r));
		if (!is_sane(&r))
			return 0;
		ret[i] = (struct known){.form = r.form, .threads = r.threads, .shared = r.shared};
		memcpy(ret[i].pace.ns, r.ns, sizeof(r.ns));
		ret[i].pace.launches = r.launches;
		ret[i].pace.grid_ns = r.grid_ns;
		ret[i].pace.total_seen = r.total_seen;
	}
	return n;
}

const struct pace *known_find(
	const struct known *at, uint32_t n, uint32_t form, uint32_t threads, uint32_t shared)
{
	for (uint32_t i = 0; i < n; i++) {
		if (at[i].form == form && at[i].threads == threads && at[i].shared == shared)
			return &at[i].pace;
	}
	return NULL;
}
