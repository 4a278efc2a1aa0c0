/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MH: a search for the keys of MD5 digests, as MD5Hash of SHOC does it (MD5: RFC 1321). A key is
 * LENGTH characters, each one of `letters` from '!' on. Thread t sets the characters behind the
 * first to the digits of t and tries all letters as the first one. The thread that finds the key of
 * the wanted digest stores its number and the key. Each warp also stores how many of its digests
 * begin with the wanted one's first byte, so a block that did not run shows. Batches
 * (gridDim.y * per_block) search the same keys for digests of their own. */
// exec: mh --grid 2,3 --block 384 u32[24]:rand(1) u32[144]:zero u32[18]:zero u32:700 u32:2 u32:2
// exec: mh --grid 3 --block 128 u32[4]:const(5) u32[12]:zero u32[3]:zero u32:300 u32:3 u32:1
#include "heddle_warp.h"

#define LENGTH 7
#define BITS   (8 * LENGTH)

HD u32 mix1(u32 b, u32 c, u32 d)
{
	return (b & c) | (~b & d);
}
HD u32 mix2(u32 b, u32 c, u32 d)
{
	return (b & d) | (c & ~d);
}
HD u32 mix3(u32 b, u32 c, u32 d)
{
	return b ^ c ^ d;
}
HD u32 mix4(u32 b, u32 c, u32 d)
{
	return c ^ (b | ~d);
}
HD u32 turn(u32 x, u32 by)
{
	return x << by | x >> (32 - by);
}

/* Four steps of a round: how far each turns, and its word of the block plus its constant. */
#define FOUR(mix, t1, t2, t3, t4, w1, k1, w2, k2, w3, k3, w4, k4) \
	a = b + turn(a + mix(b, c, d) + (w1) + (k1), t1);         \
	d = a + turn(d + mix(a, b, c) + (w2) + (k2), t2);         \
	c = d + turn(c + mix(d, a, b) + (w3) + (k3), t3);         \
	b = c + turn(b + mix(c, d, a) + (w4) + (k4), t4)

/* The digest of the only block: two words with the key and the end mark, zeros, the key's bits. */
HD uint4 digest_of(u32 low, u32 high)
{
	u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
	FOUR(mix1, 7, 12, 17, 22, low, 0xd76aa478, high, 0xe8c7b756, 0, 0x242070db, 0, 0xc1bdceee);
	FOUR(mix1, 7, 12, 17, 22, 0, 0xf57c0faf, 0, 0x4787c62a, 0, 0xa8304613, 0, 0xfd469501);
	FOUR(mix1, 7, 12, 17, 22, 0, 0x698098d8, 0, 0x8b44f7af, 0, 0xffff5bb1, 0, 0x895cd7be);
	FOUR(mix1, 7, 12, 17, 22, 0, 0x6b901122, 0, 0xfd987193, BITS, 0xa679438e, 0, 0x49b40821);
	FOUR(mix2, 5, 9, 14, 20, high, 0xf61e2562, 0, 0xc040b340, 0, 0x265e5a51, low, 0xe9b6c7aa);
	FOUR(mix2, 5, 9, 14, 20, 0, 0xd62f105d, 0, 0x02441453, 0, 0xd8a1e681, 0, 0xe7d3fbc8);
	FOUR(mix2, 5, 9, 14, 20, 0, 0x21e1cde6, BITS, 0xc33707d6, 0, 0xf4d50d87, 0, 0x455a14ed);
	FOUR(mix2, 5, 9, 14, 20, 0, 0xa9e3e905, 0, 0xfcefa3f8, 0, 0x676f02d9, 0, 0x8d2a4c8a);
	FOUR(mix3, 4, 11, 16, 23, 0, 0xfffa3942, 0, 0x8771f681, 0, 0x6d9d6122, BITS, 0xfde5380c);
	FOUR(mix3, 4, 11, 16, 23, high, 0xa4beea44, 0, 0x4bdecfa9, 0, 0xf6bb4b60, 0, 0xbebfbc70);
	FOUR(mix3, 4, 11, 16, 23, 0, 0x289b7ec6, low, 0xeaa127fa, 0, 0xd4ef3085, 0, 0x04881d05);
	FOUR(mix3, 4, 11, 16, 23, 0, 0xd9d4d039, 0, 0xe6db99e5, 0, 0x1fa27cf8, 0, 0xc4ac5665);
	FOUR(mix4, 6, 10, 15, 21, low, 0xf4292244, 0, 0x432aff97, BITS, 0xab9423a7, 0, 0xfc93a039);
	FOUR(mix4, 6, 10, 15, 21, 0, 0x655b59c3, 0, 0x8f0ccc92, 0, 0xffeff47d, high, 0x85845dd1);
	FOUR(mix4, 6, 10, 15, 21, 0, 0x6fa87e4f, 0, 0xfe2ce6e0, 0, 0xa3014314, 0, 0x4e0811a1);
	FOUR(mix4, 6, 10, 15, 21, 0, 0xf7537e82, 0, 0xbd3af235, 0, 0x2ad7d2bb, 0, 0xeb86d391);
	uint4 digest = {a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476};
	return digest;
}

KERNEL __launch_bounds__(384)
	mh(const uint4 *wanted, u32 *near, u32 *found, u32 n, u32 letters, u32 per_block)
{
	u32 t = blockIdx.x * blockDim.x + threadIdx.x;
	u32 warp = t >> 5, warps = (gridDim.x * blockDim.x) >> 5;
	u32 low = 0, high = 0x80u << 8 * (LENGTH - 4);
	u32 rest = t;
#pragma unroll
	for (u32 k = 1; k < LENGTH; k++) {
		u32 letter = '!' + rest % letters;
		rest /= letters;
		if (k < 4)
			low |= letter << 8 * k;
		else
			high |= letter << 8 * (k - 4);
	}
	for (u32 k = 0; k < per_block; k++) {
		u32 batch = blockIdx.y * per_block + k;
		u32 a = wanted[batch].x, b = wanted[batch].y, c = wanted[batch].z,
		    d = wanted[batch].w;
		u32 count = 0;
		for (u32 first = 0; first < letters && t < n; first++) {
			u32 key = low | ('!' + first);
			uint4 digest = digest_of(key, high);
			count += ((digest.x ^ a) & 0xff) == 0;
			if (digest.x == a && digest.y == b && digest.z == c && digest.w == d) {
				found[3 * batch] = t * letters + first;
				found[3 * batch + 1] = key;
				found[3 * batch + 2] = high;
			}
		}
		for (u32 step = 16; step; step >>= 1)
			count += __shfl_xor_sync(~0u, count, step);
		if ((threadIdx.x & 31) == 0)
			near[(u64)batch * warps + warp] = count;
	}
}
