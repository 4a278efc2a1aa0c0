/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Let T(n) = 1 / curve(n) be the number of blocks that an SM finishes per unit of time while it
 * holds n of them. The saturation s(n) = T(n) / max T says how much of the resource that limits the
 * kernel is used by n blocks. Demands of two kernels side by side add up. With a blocks of kernel A
 * and b blocks of kernel B on each SM:
 *
 *     time of A = curve_A(a) * max(1, s_A(a) + s_B(b)) * ratio(A, B), and likewise for B.
 *
 * The formula assumes that the same resource limits both kernels. This is conservative, because
 * kernels with different limits slow each other less. The formula also ignores caches, where
 * kernels can evict each other's data. ratio(A, B) corrects both errors: it is a moving mean of
 * measured divided by predicted times.
 *
 * For counts that were not measured, T is linear between the nearest measured counts. Below the
 * smallest and above the greatest measured count T is proportional to the count, as in policy
 * greedy. */
#include "pair.h"

#include <errno.h>

#define MOVING 8u /* number of spells that a ratio's moving mean covers */
/* the greatest factor by which a measurement counts as different from the prediction; a greater
 * difference counts as this factor */
#define MOST_OFF 8.0

/* Returns blocks per ns. At least one element of the curve must be known. */
static double throughput(const float curve[SCHED_PER_SM], uint32_t count)
{
	uint32_t below = MIN(count, SCHED_PER_SM), above = below;
	double low, high;

	while (below && !(curve[below - 1] > 0))
		below--;
	while (above <= SCHED_PER_SM && !(curve[above - 1] > 0))
		above++;
	low = below ? 1 / (double)curve[below - 1] : 0;
	if (below == count)
		return low;
	if (above > SCHED_PER_SM)
		return low * count / below;
	high = 1 / (double)curve[above - 1];
	return low + (high - low) * (count - below) / (above - below);
}

static double saturation(const float curve[SCHED_PER_SM], uint32_t count, uint32_t most)
{
	double greatest = 0;

	for (uint32_t n = 1; n <= most; n++)
		greatest = MAX(greatest, throughput(curve, n));
	return throughput(curve, count) / greatest;
}

static bool is_known(const float curve[SCHED_PER_SM], uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SCHED_PER_SM; i++)
		n += curve[i] > 0;
	return n >= 2 || (n == 1 && most == 1);
}

/* Predicts by the formula alone, without the learned ratio. */
static int predict_pair(
	const struct sched_pair *p, const float curve[2][SCHED_PER_SM], double ret_ns[2])
{
	double sum = 0;

	for (unsigned i = 0; i < 2; i++) {
		if (p->most[i] < 1 || p->most[i] > SCHED_PER_SM || p->count[i] < 1 ||
			p->count[i] > p->most[i] || !is_known(curve[i], p->most[i]))
			return -ENOENT;
		sum += saturation(curve[i], p->count[i], p->most[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		ret_ns[i] = MAX(sum, 1.0) / throughput(curve[i], p->count[i]);
	return 0;
}

static uint32_t find_entry_index(uint64_t kernel, uint64_t beside)
{
	uint64_t parts[2] = {kernel, beside};

	return (uint32_t)(hash_bytes(parts, sizeof(parts), 0x70616972) % PAIR_RATIOS);
}

static double ratio_of(const struct pair_ratios *r, uint64_t kernel, uint64_t beside)
{
	const struct pair_ratio *at = &r->at[find_entry_index(kernel, beside)];

	return at->n && at->kernel == kernel && at->beside == beside ? (double)at->ratio : 1;
}

int pair_ask(const struct pair_ratios *r, const struct sched_pair *p,
	const float curve[2][SCHED_PER_SM], float ret_ns[2])
{
	double ns[2];
	int status = predict_pair(p, curve, ns);

	for (unsigned i = 0; status == 0 && i < 2; i++)
		ret_ns[i] = (float)(ns[i] * ratio_of(r, p->kernel[i], p->kernel[!i]));
	return status;
}

bool pair_teach(struct pair_ratios *r, const struct sched_pair *p,
	const float curve[2][SCHED_PER_SM], uint64_t blocks, uint64_t sm_ns)
{
	struct pair_ratio *at = &r->at[find_entry_index(p->kernel[0], p->kernel[1])];
	double ns[2], off;

	if (!blocks || !sm_ns || predict_pair(p, curve, ns) < 0 || !(curve[0][p->count[0] - 1] > 0))
		return false;
	if (!at->n || at->kernel != p->kernel[0] || at->beside != p->kernel[1])
		*at = (struct pair_ratio){
			.kernel = p->kernel[0], .beside = p->kernel[1], .ratio = 1};
	off = (double)sm_ns / (double)blocks / ns[0];
	off = MIN(MAX(off, 1 / MOST_OFF), MOST_OFF);
	/* The prediction of the formula (ratio 1) counts as one measurement, so a single odd
	 * measurement does not decide alone. */
	at->n = MIN(at->n + 1, MOVING);
	at->ratio += ((float)off - at->ratio) / (float)(at->n + 1);
	return true;
}
