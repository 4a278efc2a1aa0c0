/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implements curve.h. Pruning starts at the smallest measured count and goes on to the smallest
 * larger count that is faster. It keeps exactly the counts that it visits. */
#include "curve.h"

uint32_t curve_most(uint32_t blocks_per_sm, uint64_t left, uint32_t n_sms)
{
	uint64_t share = left / n_sms + (left % n_sms != 0);

	return (uint32_t)MIN(MAX(share, 1), MAX(blocks_per_sm, 1u));
}

/* Returns the lowest n bits of i in reverse order. */
static uint32_t reverse_bits(uint32_t i, uint32_t n)
{
	uint32_t r = 0;

	for (uint32_t b = 0; b < n; b++)
		r |= (i >> b & 1) << (n - 1 - b);
	return r;
}

uint32_t curve_turn(uint32_t most, uint32_t step)
{
	uint32_t bits = 0, below;

	step %= most;
	if (step < 2)
		return step ? 1 : most;
	while (1u << bits < most)
		bits++;
	/* Steps 0 and 1 returned `most` and 1. */
	step--;
	for (uint32_t i = 1;; i++) {
		below = reverse_bits(i, bits);
		if (below + 1 < most && --step == 0)
			return most - below;
	}
}

uint32_t curve_next(const double *ns, uint32_t most, uint32_t count)
{
	for (uint32_t n = count + 1; n <= most; n++)
		if (ns[n] > 0 && (!count || ns[n] < ns[count]))
			return n;
	return 0;
}

uint32_t curve_prune(const double *ns, uint32_t most, bool *ret_kept)
{
	uint32_t kept = 0;

	for (uint32_t n = 1; n <= most; n++)
		ret_kept[n] = false;
	for (uint32_t n = curve_next(ns, most, 0); n; n = curve_next(ns, most, n)) {
		ret_kept[n] = true;
		kept++;
	}
	return kept;
}
