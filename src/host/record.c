/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The file format: a header, four texts, the parameters, the pointers, the regions, the variables'
 * names, and the contents. All numbers are little endian, without padding. The reader checks every
 * count and reference before it uses it. */
#include "host/record.h"

#include <errno.h>
#include <string.h>

#define MAGIC        "heddle\nL"
#define PARAMS_MOST  65536u
#define REGIONS_MOST 65536u

struct head {
	char magic[8];
	uint32_t version;
	uint8_t digest[32]; /* SHA-256 of all bytes after it */
	uint32_t finished;
	uint64_t launch, ptx_bytes;
	uint32_t grid[3], block[3], shared_bytes;
	uint32_t kernel_bytes, program_bytes, device_bytes; /* lengths of texts include the NUL */
	uint32_t param_bytes, n_pointers, n_regions, unused;
};

struct region_head {
	uint64_t bytes, address, pointer_at;
	uint32_t name_bytes, had, left, unused;
};

#define DIGESTED (offsetof(struct head, digest) + sizeof(((struct head *)0)->digest))
_Static_assert(sizeof(struct head) == 120, "no padding");
_Static_assert(sizeof(struct region_head) == 40, "no padding");
_Static_assert(sizeof(struct record_pointer) == 16, "no padding");

/* ---- writing ---- */

static void add_bytes(struct strbuf *out, const void *at, size_t bytes)
{
	if (bytes)
		strbuf_add(out, at, bytes);
}

/* Returns how many bytes the file has of the region's memory after the launch. */
static uint64_t after_bytes(const struct record_region *g)
{
	return g->left == RECORD_BYTES    ? g->bytes
	       : g->left == RECORD_DIGEST ? RECORD_DIGEST_BYTES
					  : 0;
}

static void add_regions(const struct record *r, struct strbuf *out)
{
	for (uint32_t i = 0; i < r->n_regions; i++) {
		const struct record_region *g = &r->regions[i];
		const struct region_head h = {.bytes = g->bytes,
			.address = g->address,
			.pointer_at = g->pointer_at,
			.name_bytes = (uint32_t)strlen(g->variable) + 1,
			.had = g->had,
			.left = g->left};

		add_bytes(out, &h, sizeof(h));
	}
	for (uint32_t i = 0; i < r->n_regions; i++)
		add_bytes(out, r->regions[i].variable, strlen(r->regions[i].variable) + 1);
	for (uint32_t i = 0; i < r->n_regions; i++) {
		const struct record_region *g = &r->regions[i];

		if (g->had == RECORD_BYTES)
			add_bytes(out, g->before, g->bytes);
		add_bytes(out, g->after, after_bytes(g));
	}
}

void record_write(const struct record *r, struct strbuf *out)
{
	struct head h = {.version = RECORD_VERSION,
		.finished = r->finished,
		.launch = r->launch,
		.ptx_bytes = r->ptx_len + 1,
		.shared_bytes = r->shared_bytes,
		.kernel_bytes = (uint32_t)strlen(r->kernel) + 1,
		.program_bytes = (uint32_t)strlen(r->program) + 1,
		.device_bytes = (uint32_t)strlen(r->device) + 1,
		.param_bytes = r->param_bytes,
		.n_pointers = r->n_pointers,
		.n_regions = r->n_regions};
	size_t from = out->len;

	memcpy(h.magic, MAGIC, sizeof(h.magic));
	memcpy(h.grid, r->grid, sizeof(h.grid));
	memcpy(h.block, r->block, sizeof(h.block));
	add_bytes(out, &h, sizeof(h));
	add_bytes(out, r->kernel, h.kernel_bytes);
	add_bytes(out, r->program, h.program_bytes);
	add_bytes(out, r->device, h.device_bytes);
	add_bytes(out, r->ptx, r->ptx_len);
	add_bytes(out, "", 1);
	add_bytes(out, r->params, r->param_bytes);
	add_bytes(out, r->pointers, r->n_pointers * sizeof(*r->pointers));
	add_regions(r, out);
	if (out->failed)
		return;
	from += DIGESTED;
	sha256(out->at + from, out->len - from, h.digest);
	memcpy(out->at + from - sizeof(h.digest), h.digest, sizeof(h.digest));
}

bool record_is_whole(const uint8_t *at, size_t len)
{
	uint8_t digest[32];

	if (len < sizeof(struct head))
		return false;
	sha256(at + DIGESTED, len - DIGESTED, digest);
	return !memcmp(at + offsetof(struct head, digest), digest, sizeof(digest));
}

/* ---- reading ---- */

struct rest {
	const uint8_t *at;
	uint64_t len;
};

static const uint8_t *take_bytes(struct rest *r, uint64_t n)
{
	const uint8_t *at = r->at;

	if (n > r->len)
		return NULL;
	r->at += n;
	r->len -= n;
	return at;
}

/* Takes a text of this many bytes. Its last byte must be its only NUL. */
static const char *take_text(struct rest *r, uint64_t bytes)
{
	const uint8_t *at = bytes ? take_bytes(r, bytes) : NULL;

	return at && memchr(at, 0, bytes) == at + bytes - 1 ? (const char *)at : NULL;
}

static bool is_shape(const struct head *h)
{
	for (unsigned i = 0; i < 3; i++)
		if (!h->grid[i] || !h->block[i])
			return false;
	return true;
}

static bool take_regions(const struct head *h, struct rest *r, const struct region_head *heads,
	struct record_region *to)
{
	for (uint32_t i = 0; i < h->n_regions; i++) {
		struct region_head g;

		memcpy(&g, (const uint8_t *)heads + i * sizeof(g), sizeof(g));
		to[i].variable = take_text(r, g.name_bytes);
		to[i].bytes = g.bytes;
		to[i].address = g.address;
		to[i].had = g.had;
		to[i].left = g.left;
		to[i].pointer_at = g.pointer_at;
		if (!to[i].variable || !g.bytes || g.bytes > RECORD_REGION_BYTES ||
			g.address > UINT64_MAX - g.bytes || g.had > RECORD_BYTES ||
			g.left > RECORD_DIGEST ||
			(g.pointer_at != RECORD_NO_POINTER &&
				(g.had != RECORD_BYTES || g.bytes < 8 ||
					g.pointer_at > g.bytes - 8)) ||
			(!h->finished && g.left != RECORD_LEFT_OUT))
			return false;
	}
	for (uint32_t i = 0; i < h->n_regions; i++) {
		if (to[i].had == RECORD_BYTES && !(to[i].before = take_bytes(r, to[i].bytes)))
			return false;
		if (after_bytes(&to[i]) && !(to[i].after = take_bytes(r, after_bytes(&to[i]))))
			return false;
	}
	return r->len == 0;
}

static bool are_pointers(
	const struct head *h, const struct record_pointer *p, const struct record_region *regions)
{
	for (uint32_t i = 0; i < h->n_pointers; i++)
		if (h->param_bytes < 8 || p[i].at > h->param_bytes - 8 ||
			p[i].region >= h->n_regions || p[i].offset >= regions[p[i].region].bytes)
			return false;
	return true;
}

int record_read(
	struct arena *a, const uint8_t *at, size_t len, struct record *ret, uint32_t *ret_version)
{
	struct rest rest = {at, len};
	struct head h;
	struct record r = {0};
	const uint8_t *head = take_bytes(&rest, sizeof(h)), *pointers, *heads;
	struct record_pointer *p;
	struct record_region *regions;

	if (!head || memcmp(head, MAGIC, sizeof(h.magic)) != 0)
		return -EBADMSG;
	memcpy(&h, head, sizeof(h));
	*ret_version = h.version;
	if (h.version != RECORD_VERSION)
		return -EPROTONOSUPPORT;
	if (!is_shape(&h) || !h.launch || h.finished > 1 || h.param_bytes > PARAMS_MOST ||
		h.n_pointers > PARAMS_MOST / 8 || h.n_regions > REGIONS_MOST)
		return -EBADMSG;
	r.kernel = take_text(&rest, h.kernel_bytes);
	r.program = take_text(&rest, h.program_bytes);
	r.device = take_text(&rest, h.device_bytes);
	r.ptx = take_text(&rest, h.ptx_bytes);
	r.params = take_bytes(&rest, h.param_bytes);
	pointers = take_bytes(&rest, (uint64_t)h.n_pointers * sizeof(*p));
	heads = take_bytes(&rest, (uint64_t)h.n_regions * sizeof(struct region_head));
	if (!r.kernel || !*r.kernel || !r.program || !r.device || !r.ptx || !r.params ||
		!pointers || !heads)
		return -EBADMSG;
	p = ARENA_ARRAY(a, struct record_pointer, h.n_pointers + 1);
	regions = ARENA_ARRAY(a, struct record_region, h.n_regions + 1);
	if (!p || !regions)
		return -ENOMEM;
	memcpy(p, pointers, h.n_pointers * sizeof(*p));
	if (!take_regions(&h, &rest, (const struct region_head *)heads, regions) ||
		!are_pointers(&h, p, regions))
		return -EBADMSG;
	memcpy(r.grid, h.grid, sizeof(r.grid));
	memcpy(r.block, h.block, sizeof(r.block));
	r.shared_bytes = h.shared_bytes;
	r.launch = h.launch;
	r.finished = h.finished;
	r.ptx_len = h.ptx_bytes - 1;
	r.param_bytes = h.param_bytes;
	r.n_pointers = h.n_pointers;
	r.n_regions = h.n_regions;
	r.pointers = p;
	r.regions = regions;
	*ret = r;
	return 0;
}

uint64_t record_relocate(const struct record *r, const unsigned long long *addresses, uint64_t word)
{
	for (uint32_t i = 0; i < r->n_regions; i++) {
		const struct record_region *g = &r->regions[i];

		if (word >= g->address && word - g->address < g->bytes)
			return addresses[i] + (word - g->address);
	}
	return word;
}
