/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes the shares and losses of programs that run together. Each time window is computed
 * separately. A round that spans the boundary of two windows counts in each by the fraction of its
 * time there. */
#include "lab/preempt/shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/measure.h"

double shares_rounds(const uint64_t *done_ns, unsigned n, uint64_t at_ns)
{
	/* binary search: rounds before low are finished at at_ns, rounds from high on are not */
	unsigned low = 0, high = n;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (done_ns[mid] <= at_ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || low == n)
		return low;
	return low + (double)(at_ns - done_ns[low - 1]) / (double)(done_ns[low] - done_ns[low - 1]);
}

void shares_cut(const uint64_t *done_ns, unsigned n, uint64_t from_ns, uint64_t window_ns,
	unsigned windows, double *ret_finished)
{
	for (unsigned w = 0; w <= windows; w++)
		ret_finished[w] = shares_rounds(done_ns, n, from_ns + w * window_ns);
}

static double rate_in_window(const double *finished, uint64_t window_ns, unsigned window)
{
	return (finished[window + 1] - finished[window]) / ((double)window_ns / 1e9);
}

double shares_rate(const double *finished, uint64_t window_ns, unsigned windows)
{
	double *rate = calloc(windows, sizeof(*rate)), median;

	if (!rate)
		return 0;
	for (unsigned w = 0; w < windows; w++)
		rate[w] = rate_in_window(finished, window_ns, w);
	median = median_of(rate, windows);
	free(rate);
	return median;
}

double shares_wanted(const unsigned *weight, unsigned n, unsigned i)
{
	double sum = 0;

	for (unsigned k = 0; k < n; k++)
		sum += weight[k];
	return weight[i] / sum;
}

double shares_deviation(const double *share, const unsigned *weight, unsigned n)
{
	double most = 0;

	for (unsigned i = 0; i < n; i++)
		most = fmax(most, 100 * fabs(share[i] - shares_wanted(weight, n, i)));
	return most;
}

/* Returns maximum minus minimum, or -1 for a single value. Sorts values. */
static double spread_of(double *values, unsigned n)
{
	sort_values(values, n);
	return n > 1 ? values[n - 1] - values[0] : -1;
}

/* The values of each window: each program's share and progress, and the lost throughput. */
struct columns {
	double *share[SHARES_MAX], *progress[SHARES_MAX], *lost;
};

static int fill_columns(const struct shares_input *in, struct columns *c)
{
	for (unsigned w = 0; w < in->windows; w++) {
		double sum = 0;

		for (unsigned i = 0; i < in->n; i++) {
			c->progress[i][w] = rate_in_window(in->finished[i], in->window_ns, w) /
					    in->alone_per_s[i];
			sum += c->progress[i][w];
		}
		if (sum <= 0)
			return -ENODATA;
		for (unsigned i = 0; i < in->n; i++)
			c->share[i][w] = c->progress[i][w] / sum;
		c->lost[w] = 1 - sum;
	}
	return 0;
}

int shares_sum_up(const struct shares_input *in, struct shares *ret)
{
	double *values = calloc((size_t)in->windows * (2 * SHARES_MAX + 1), sizeof(*values));
	struct shares s = {.share_spread = -1};
	struct columns c;
	int r;

	if (!values)
		return -ENOMEM;
	for (unsigned i = 0; i < SHARES_MAX; i++) {
		c.share[i] = values + (size_t)in->windows * i;
		c.progress[i] = values + (size_t)in->windows * (SHARES_MAX + i);
	}
	c.lost = values + (size_t)in->windows * 2 * SHARES_MAX;
	r = fill_columns(in, &c);
	if (r == 0) {
		for (unsigned i = 0; i < in->n; i++) {
			s.share[i] = median_of(c.share[i], in->windows);
			s.progress[i] = median_of(c.progress[i], in->windows);
			s.share_spread = fmax(s.share_spread, spread_of(c.share[i], in->windows));
		}
		s.lost = median_of(c.lost, in->windows);
		s.lost_spread = spread_of(c.lost, in->windows);
		s.deviation = shares_deviation(s.share, in->weight, in->n);
		*ret = s;
	}
	free(values);
	return r;
}
