/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes the loss by preemption. The time of a pair is the median of its rounds, because a delay
 * on the host can make single rounds longer. Confidence intervals come from resampling the rounds
 * of each pair (percentile bootstrap); the set of pairs stays fixed. */
#include "lab/preempt/lost.h"

#include "base/measure.h"

#include <errno.h>
#include <stdlib.h>

#define RESAMPLES 2000

/* The source of a sample of rounds: the measured rounds themselves, or rounds drawn at random from
 * them. */
struct drawing {
	bool draws;
	uint64_t drawn;  /* number of rounds drawn so far */
	double *scratch; /* space for the rounds of one pair */
};

static double draw_median(const struct lost_samples *s, struct drawing *d)
{
	for (unsigned i = 0; i < s->n; i++)
		d->scratch[i] = s->ns[d->draws ? random_bits(1, d->drawn++) % s->n : i];
	return median_of(d->scratch, s->n);
}

static bool is_counted(const struct lost_pair *p)
{
	return p->of[LOST_ORIGINAL].n && p->of[LOST_KEPT].n && p->of[LOST_TEMPORAL].preemptions &&
	       p->of[LOST_SPATIAL].preemptions;
}

static unsigned mean_of(const struct lost_pair *pairs, unsigned n, int low, struct drawing *d,
	double ret_overhead[LOST_FORMS], double ret_us[LOST_FORMS])
{
	unsigned m = 0;

	for (unsigned k = 0; k < LOST_FORMS; k++)
		ret_overhead[k] = ret_us[k] = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct lost_pair *p = &pairs[i];
		double original, kept;

		if (!is_counted(p) || (low >= 0 && p->low != (unsigned)low))
			continue;
		original = draw_median(&p->of[LOST_ORIGINAL], d);
		kept = draw_median(&p->of[LOST_KEPT], d);
		for (unsigned k = LOST_TEMPORAL; k < LOST_FORMS; k++) {
			const struct lost_samples *s = &p->of[k];
			double took = draw_median(s, d);

			ret_overhead[k] += (took - original) / original;
			ret_us[k] += (took - kept) * s->n / s->preemptions / 1e3;
		}
		m++;
	}
	for (unsigned k = 0; m && k < LOST_FORMS; k++) {
		ret_overhead[k] /= m;
		ret_us[k] /= m;
	}
	return m;
}

static double *scratch_for(const struct lost_pair *pairs, unsigned n)
{
	unsigned most = 1;

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < LOST_FORMS; k++)
			most = MAX(most, pairs[i].of[k].n);
	return malloc(most * sizeof(double));
}

unsigned lost_mean(const struct lost_pair *pairs, unsigned n, int low,
	double ret_overhead[LOST_FORMS], double ret_us[LOST_FORMS])
{
	struct drawing d = {.scratch = scratch_for(pairs, n)};
	unsigned m = d.scratch ? mean_of(pairs, n, low, &d, ret_overhead, ret_us) : 0;

	free(d.scratch);
	return m;
}

/* Returns the spread of the rounds relative to their median, or -1 if there is only one round. */
static double spread_of(const struct lost_samples *s, struct drawing *d)
{
	double median = draw_median(s, d); /* also sorts d->scratch */
	unsigned cut = s->n / 10;

	return s->n > 1 ? (d->scratch[s->n - 1 - cut] - d->scratch[cut]) / median : -1;
}

unsigned lost_noisy(const struct lost_pair *pairs, unsigned n, int low, double most)
{
	struct drawing d = {.scratch = scratch_for(pairs, n)};
	unsigned m = 0;

	for (unsigned i = 0; d.scratch && i < n; i++) {
		bool noisy = false;

		if (!is_counted(&pairs[i]) || (low >= 0 && pairs[i].low != (unsigned)low))
			continue;
		for (unsigned k = 0; k < LOST_FORMS; k++) {
			double spread = spread_of(&pairs[i].of[k], &d);

			noisy |= spread < 0 || spread > most;
		}
		m += noisy;
	}
	free(d.scratch);
	return m;
}

static double reduction_of(const double of[LOST_FORMS])
{
	return of[LOST_TEMPORAL] ? 1 - of[LOST_SPATIAL] / of[LOST_TEMPORAL] : 0;
}

static void find_interval(double *values, double *ret_low, double *ret_high)
{
	sort_values(values, RESAMPLES);
	*ret_low = values[RESAMPLES * 25 / 1000];
	*ret_high = values[RESAMPLES * 975 / 1000 - 1];
}

static void find_intervals(const struct lost_pair *pairs, unsigned n, struct drawing *d,
	double *values[LOST_FORMS], struct lost *l)
{
	double overhead[LOST_FORMS], us[LOST_FORMS];

	for (unsigned i = 0; i < RESAMPLES; i++) {
		mean_of(pairs, n, -1, d, overhead, us);
		values[0][i] = reduction_of(us);
		for (unsigned k = LOST_TEMPORAL; k < LOST_FORMS; k++)
			values[k][i] = us[k];
	}
	find_interval(values[0], &l->reduction_low, &l->reduction_high);
	for (unsigned k = LOST_TEMPORAL; k < LOST_FORMS; k++)
		find_interval(values[k], &l->us_low[k], &l->us_high[k]);
}

int lost_sum_up(const struct lost_pair *pairs, unsigned n, struct lost *ret)
{
	struct drawing d = {.scratch = scratch_for(pairs, n)};
	double *room = malloc(sizeof(double) * RESAMPLES * LOST_FORMS);
	double *values[LOST_FORMS] = {room, NULL, room + RESAMPLES, room + 2 * RESAMPLES};
	struct lost l = {0};

	if (!room || !d.scratch) {
		free(room);
		free(d.scratch);
		return -ENOMEM;
	}
	l.pairs = mean_of(pairs, n, -1, &d, l.overhead, l.us);
	l.reduction = reduction_of(l.us);
	l.overhead_reduction = reduction_of(l.overhead);
	d.draws = true;
	find_intervals(pairs, n, &d, values, &l);
	for (unsigned i = 0; i < n; i++) {
		if (!is_counted(&pairs[i]))
			continue;
		l.rounds += pairs[i].of[LOST_SPATIAL].n;
		for (unsigned k = LOST_TEMPORAL; k < LOST_FORMS; k++)
			l.preemptions[k] += pairs[i].of[k].preemptions;
	}
	free(room);
	free(d.scratch);
	*ret = l;
	return 0;
}
