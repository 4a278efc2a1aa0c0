/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Chooses the padding that limits a grid to a quota. */
#include "shim/order/pads.h"

#include "base/base.h"

uint32_t pads_choose(const struct pads *p, uint32_t quota, struct ctl_args *io)
{
	uint32_t n = MIN(quota, PADS_MAX), above;

	io->least = 1;
	io->more = CTL_NO_QUOTA - 1;
	if (!p->counts)
		return 0;
	if (!quota || quota >= p->fit) {
		io->least = p->fit;
		io->more = CTL_NO_QUOTA - p->fit;
		return 0;
	}
	while (n && !(p->counts >> n & 1))
		n--;
	if (!n)
		n = (uint32_t)__builtin_ctz(p->counts);
	above = n + 1;
	while (above < p->fit && !(above <= PADS_MAX && p->counts >> above & 1))
		above++;
	io->least = p->counts & ((1u << n) - 1) ? n : 1;
	io->more = above - 1 - io->least;
	return n;
}

uint32_t pads_least(const uint8_t quota[CTL_MAX_SMS], uint32_t n_sms)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < n_sms; i++) {
		uint32_t q = __atomic_load_n(&quota[i], __ATOMIC_RELAXED);

		if (q && (!least || q < least))
			least = q;
	}
	return least;
}
