/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MH: a search for the keys of MD5 digests (MD5Hash of SHOC), in integers, so results are exact.
 * The host chooses a key for each batch and digests it, and so knows what the search must find. It
 * digests every key once to learn how many of each warp's digests begin with a given byte. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK  384
#define WARPS  (BLOCK / 32)
#define LENGTH 7 /* of a key, as in the kernel */

struct problem {
	uint32_t constant[64]; /* of MD5's steps */
	uint32_t n, letters, warps, batches;
	const uint32_t *wanted; /* four words a batch */
	uint16_t *begin;        /* for each warp: how many digests begin with each byte */
	uint32_t *near;
};

/* RFC 1321, 3.4. */
static void fill_constants(uint32_t constant[64])
{
	for (int k = 0; k < 64; k++)
		constant[k] = (uint32_t)(fabs(sin(k + 1)) * 4294967296.0);
}

/* The digest of a message of one block. */
static void digest_block(const uint32_t constant[64], const uint32_t block[16], uint32_t digest[4])
{
	static const uint32_t start[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	static const uint8_t turns[4][4] = {
		{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
	uint32_t a = start[0], b = start[1], c = start[2], d = start[3];
	for (uint32_t k = 0; k < 64; k++) {
		uint32_t mixed, word, sum, by = turns[k / 16][k % 4];
		if (k < 16) {
			mixed = (b & c) | (~b & d);
			word = k;
		} else if (k < 32) {
			mixed = (d & b) | (~d & c);
			word = (5 * k + 1) % 16;
		} else if (k < 48) {
			mixed = b ^ c ^ d;
			word = (3 * k + 5) % 16;
		} else {
			mixed = c ^ (b | ~d);
			word = 7 * k % 16;
		}
		sum = a + mixed + block[word] + constant[k];
		a = d;
		d = c;
		c = b;
		b += sum << by | sum >> (32 - by);
	}
	digest[0] = start[0] + a;
	digest[1] = start[1] + b;
	digest[2] = start[2] + c;
	digest[3] = start[3] + d;
}

/* Makes the block of key number `key` that MD5 digests: the key's digits are the characters. */
static void block_of(const struct problem *p, uint64_t key, uint32_t block[16])
{
	uint8_t text[64] = {0};
	for (int k = 0; k < LENGTH; k++, key /= p->letters)
		text[k] = (uint8_t)('!' + key % p->letters);
	text[LENGTH] = 0x80;
	text[56] = 8 * LENGTH;
	for (int k = 0; k < 16; k++)
		block[k] = text[4 * k] | (uint32_t)text[4 * k + 1] << 8 |
			   (uint32_t)text[4 * k + 2] << 16 | (uint32_t)text[4 * k + 3] << 24;
}

static void count_begins(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t warp = from; warp < to; warp++) {
		uint64_t first = warp * 32 * p->letters;
		uint64_t all = (uint64_t)p->n * p->letters;
		memset(p->begin + 256 * warp, 0, 256 * sizeof(p->begin[0]));
		for (uint64_t key = first; key < first + 32 * p->letters && key < all; key++) {
			uint32_t block[16], digest[4];
			block_of(p, key, block);
			digest_block(p->constant, block, digest);
			p->begin[256 * warp + (digest[0] & 0xff)]++;
		}
	}
}

static void fill_near(void *context, uint64_t from, uint64_t to)
{
	const struct problem *p = context;
	for (uint64_t batch = from; batch < to; batch++)
		for (uint64_t warp = 0; warp < p->warps; warp++)
			p->near[batch * p->warps + warp] =
				p->begin[256 * warp + (p->wanted[4 * batch] & 0xff)];
}

/* Draws each batch's key. */
static void draw_keys(const struct problem *p, uint64_t seed, uint32_t *wanted, uint32_t *found)
{
	for (uint32_t batch = 0; batch < p->batches; batch++) {
		uint64_t key = ex_random(seed, batch) % ((uint64_t)p->n * p->letters);
		uint32_t block[16];
		block_of(p, key, block);
		digest_block(p->constant, block, wanted + 4 * (size_t)batch);
		found[3 * (size_t)batch] = (uint32_t)key;
		found[3 * (size_t)batch + 1] = block[0];
		found[3 * (size_t)batch + 2] = block[1];
	}
}

static void build(struct ex_work *w)
{
	uint32_t n = w->size->p[0], letters = w->size->p[1], batches = w->size->p[2];
	uint32_t per_block = w->size->p[3];
	ex_apply_scale(w, &n, &batches, &per_block);
	struct problem p = {.n = n, .letters = letters, .batches = batches};
	w->grid[0] = ex_div_up(n, BLOCK);
	w->grid[1] = batches / per_block;
	w->grid[2] = 1;
	w->block = BLOCK;
	p.warps = w->grid[0] * WARPS;
	size_t counts = (size_t)batches * p.warps * 4, keys = (size_t)batches * 12;
	unsigned wanted = ex_add_buffer(w, (size_t)batches * 16, false);
	ex_add_buffer(w, counts, true);
	ex_add_buffer(w, keys, true);
	ex_add_u32(w, n);
	ex_add_u32(w, letters);
	ex_add_u32(w, per_block);
	w->expected[0] = p.near = ex_alloc(counts);
	w->expected[1] = ex_alloc(keys);
	fill_constants(p.constant);
	draw_keys(&p, w->seed, w->buffer[wanted].host, w->expected[1]);
	p.wanted = w->buffer[wanted].host;
	p.begin = ex_alloc((size_t)p.warps * 256 * sizeof(p.begin[0]));
	ex_parallel(p.warps, count_begins, &p);
	ex_parallel(batches, fill_near, &p);
	free(p.begin);
}

static void check(const struct ex_work *w, struct ex_verdict *v)
{
	ex_check_words(v, w->buffer[1].host, w->expected[0], w->buffer[1].bytes / 4);
	ex_check_words(v, w->buffer[2].host, w->expected[1], w->buffer[2].bytes / 4);
}

const struct example ex_program = {"mh", "mh", build, check};
