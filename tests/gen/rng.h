/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A random number generator with the same numbers on every machine (splitmix64). */
#ifndef HEDDLE_GEN_RNG_H
#define HEDDLE_GEN_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Returns a number from 0 to n - 1. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

static inline bool rng_percent(struct rng *r, uint32_t percent)
{
	return rng_below(r, 100) < percent;
}

#endif
