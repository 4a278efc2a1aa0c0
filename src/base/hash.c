/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Hashes: a fast one for tables within a process, and SHA-256 for names that outlive the process.
 * hash_bytes multiplies the input with odd constants (fractions of square roots of primes), and
 * combines the two halves of each 128-bit product. The fast hash depends on the host's byte order,
 * so it must not be stored in files or sent to other processes. */
#include "base.h"

#include <string.h>

#define K0 0x9e3779b97f4a7c15u
#define K1 0x6a09e667f3bcc909u
#define K2 0xbb67ae8584caa73bu

static uint64_t fold_product(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t h = seed ^ K0, a = 0, b = 0;
	size_t left = len;

	for (; left > 16; left -= 16, p += 16)
		h = fold_product(load64(p) ^ K1, load64(p + 8) ^ h);
	/* The last 1 to 16 bytes, read as two words that may overlap. */
	if (left >= 8) {
		a = load64(p);
		b = load64(p + left - 8);
	} else if (left >= 4) {
		a = load32(p);
		b = load32(p + left - 4);
	} else if (left) {
		a = (uint64_t)p[0] << 16 | (uint64_t)p[left >> 1] << 8 | p[left - 1];
	}
	h = fold_product(a ^ K1, b ^ h);
	return fold_product(h ^ K2, (uint64_t)len ^ K1);
}

static const uint32_t sha_k[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
	0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6,
	0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
	0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585,
	0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
	0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t ror(uint32_t v, int n)
{
	return v >> n | v << (32 - n);
}

/* Processes one 64-byte block (FIPS 180-4, 6.2.2). */
static void sha_block(uint32_t h[8], const uint8_t *p)
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (ror(a, 7) ^ ror(a, 18) ^ a >> 3) +
		       (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
	}
	memcpy(s, h, sizeof(s));
	for (int i = 0; i < 64; i++) {
		uint32_t e = s[4], a = s[0];
		uint32_t t1 = s[7] + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) +
			      ((e & s[5]) ^ (~e & s[6])) + sha_k[i] + w[i];
		uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) +
			      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		h[i] += s[i];
}

void sha256(const void *data, size_t len, uint8_t ret_digest[32])
{
	uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
		0x1f83d9ab, 0x5be0cd19};
	const uint8_t *p = data;
	uint8_t tail[128] = {0};
	size_t left = len, end;

	for (; left >= 64; left -= 64, p += 64)
		sha_block(h, p);
	/* The last one or two 64-byte blocks contain the rest of the data, a one bit, zeros, and
	 * the length of the whole data in bits. */
	if (left)
		memcpy(tail, p, left);
	tail[left] = 0x80;
	end = left < 56 ? 64 : 128;
	for (int i = 0; i < 8; i++)
		tail[end - 1 - i] = (uint8_t)((uint64_t)len * 8 >> 8 * i);
	for (size_t i = 0; i < end; i += 64)
		sha_block(h, tail + i);
	for (int i = 0; i < 32; i++)
		ret_digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

uint64_t random_bits(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void hex_encode(const uint8_t *p, size_t len, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*ret_text++ = digits[p[i] >> 4];
		*ret_text++ = digits[p[i] & 15];
	}
	*ret_text = 0;
}
