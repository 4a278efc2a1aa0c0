/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests records of kernels in memory: means, the regression, costs, curves, which users share a
 * record, limits on the number of records, and invalid values. */
#include "unit.h"

#include "sched/model/durations.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

static const struct duration_owner owner = {
	.uid = 1000, .n_sms = 4, .device = "virtual GPU", .driver = "1.0"};

struct fixture {
	struct durations *d;
	uint64_t number;
};

static struct fixture begin(void)
{
	struct fixture f;

	assert_int_equal(durations_create(&f.d), 0);
	f.number = durations_number(f.d, &owner, 77, "kernel");
	return f;
}

/* Returns the shape of a launch. The simulated kernel takes 5 us, plus 10 ns times n for each wave
 * of blocks. */
static struct sched_shape shape(const struct fixture *f, uint64_t blocks, float n)
{
	return (struct sched_shape){.kernel = f->number,
		.total = blocks,
		.threads = 256,
		.n_sms = 4,
		.input = {n, 4096}};
}

static uint64_t takes(const struct sched_shape *s)
{
	return 5000 + (s->total + 3) / 4 * (uint64_t)s->input[0] * 10;
}

static void learn(const struct fixture *f, uint64_t blocks, float n)
{
	struct sched_shape s = shape(f, blocks, n);

	model_durations.learn(f->d, &s, takes(&s), false);
}

static uint64_t predict(const struct fixture *f, uint64_t blocks, float n)
{
	struct sched_shape s = shape(f, blocks, n);

	return model_durations.predict(f->d, &s);
}

static double error_at(const struct fixture *f, uint64_t blocks, float n)
{
	struct sched_shape s = shape(f, blocks, n);

	return fabs((double)model_durations.predict(f->d, &s) / (double)takes(&s) - 1);
}

static void mean_of_a_shape(void **state)
{
	struct fixture f = begin();
	struct sched_shape s = shape(&f, 100, 50);
	const struct duration_kernel *k;

	assert_true(model_durations.predict(f.d, &s) == SCHED_UNKNOWN);
	for (uint64_t i = 0; i < 100; i++)
		model_durations.learn(f.d, &s, i < 50 ? 1000 : 3000, false);
	/* The prediction follows about the last eight launches. */
	assert_in_range(model_durations.predict(f.d, &s), 2900, 3000);
	k = durations_find(f.d, f.number);
	assert_int_equal(k->n_shapes, 1);
	assert_int_equal(k->shape[0].n, 100);
	assert_in_range(k->shape[0].mean_ns, 1900, 2100);
	assert_int_equal(k->shape[0].first_ns, 1000);
	assert_true(k->shape[0].predicted_ns == SCHED_UNKNOWN);
	assert_int_equal(k->launches, 100);
	durations_destroy(f.d);
}

static void learn_us(const struct fixture *f, unsigned times, uint64_t us, bool disturbed)
{
	struct sched_shape s = shape(f, 100, 50);

	while (times-- > 0)
		model_durations.learn(f->d, &s, us * 1000, disturbed);
}

/* A slow outlier changes the prediction little, even if it was the first launch. */
static void slow_ones(void **state)
{
	struct fixture f = begin(), g = begin();

	learn_us(&f, 10, 1000, false);
	learn_us(&f, 1, 3000, false);
	assert_in_range(predict(&f, 100, 50), 1000000, 1063000);
	learn_us(&g, 1, 2000, false);
	learn_us(&g, 1, 1000, false);
	assert_int_equal(predict(&g, 100, 50), 1000000);
	durations_destroy(f.d);
	durations_destroy(g.d);
}

/* The measured time of a preempted launch may be too long, so it only lowers the prediction. But if
 * it is very much longer, the kernel does other work now, and the prediction follows. */
static void disturbed_ones(void **state)
{
	struct fixture f = begin(), g = begin();

	learn_us(&f, 10, 1000, false);
	learn_us(&f, 100, 1200, true);
	assert_int_equal(predict(&f, 100, 50), 1000000);
	learn_us(&f, 20, 900, true);
	assert_in_range(predict(&f, 100, 50), 900000, 930000);
	learn_us(&f, 100, 5000, true);
	assert_true(predict(&f, 100, 50) > 2000000);
	learn_us(&g, 1, 1200, true);
	assert_int_equal(predict(&g, 100, 50), 1200000);
	durations_destroy(f.d);
	durations_destroy(g.d);
}

/* After one launch, the prediction is proportional to the number of blocks. After a few more it is
 * good, even for inputs that were never measured. */
static void other_shapes(void **state)
{
	struct fixture f = begin();
	double sum = 0, mean, worst;

	learn(&f, 400, 1000);
	assert_in_range(predict(&f, 800, 1000), 1800000, 2100000);
	for (uint64_t i = 0; i < 60; i++)
		learn(&f, 4 + random_bits(1, i) % 400, (float)(100 + random_bits(2, i) % 2000));
	for (uint64_t i = 0; i < 100; i++)
		sum += error_at(
			&f, 4 + random_bits(3, i) % 400, (float)(100 + random_bits(4, i) % 2000));
	assert_true(sum / 100 < 0.05);
	assert_true(duration_error(durations_find(f.d, f.number), &mean, &worst));
	assert_true(mean < 0.2 && worst >= mean);
	durations_destroy(f.d);
}

/* One shape runs thousands of times. This does not displace the other shapes in the regression. */
static void often(void **state)
{
	struct fixture f = begin();

	for (uint64_t i = 0; i < 60; i++)
		learn(&f, 4 + random_bits(1, i) % 400, (float)(100 + random_bits(2, i) % 2000));
	for (unsigned i = 0; i < 5000; i++)
		learn(&f, 40, 100);
	assert_true(error_at(&f, 300, 1000) < 0.12);
	durations_destroy(f.d);
}

/* Whatever the measurements are, no prediction is 0, negative, NaN, or beyond the range of the
 * clock. */
static void nonsense(void **state)
{
	struct fixture f = begin();
	bool any = false;

	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t ran = random_bits(20, i) >> random_bits(21, i) % 64;
		struct sched_shape s = shape(&f, random_bits(5, i) >> random_bits(6, i) % 64, 1);
		uint64_t said;

		s.total = MAX(s.total, 1u);
		s.threads = (uint32_t)random_bits(7, i);
		s.shared_bytes = (uint32_t)random_bits(8, i);
		s.n_sms = (uint32_t)(random_bits(9, i) % 300);
		for (unsigned k = 0; k < SCHED_INPUTS; k++)
			s.input[k] = (float)ldexp(1, (int)(random_bits(10 + k, i) % 60));
		said = model_durations.predict(f.d, &s);
		assert_true(said == SCHED_UNKNOWN ? !any : said >= 1 && said <= 1000000000000000);
		model_durations.learn(f.d, &s, ran, false);
		any |= ran > 0 && ran <= 1000000000000000;
	}
	assert_true(duration_is_sane(durations_find(f.d, f.number)));
	durations_destroy(f.d);
}

static void numbers_that_are_none(void **state)
{
	struct ridge r = {0};
	double x[RIDGE_FEATURES] = {0}, bad[RIDGE_FEATURES] = {NAN};

	assert_true(ridge_predict(&r, x) == 0);
	ridge_learn(&r, bad, 1);
	ridge_learn(&r, x, INFINITY);
	assert_int_equal(r.n, 0);
	ridge_learn(&r, x, 3);
	assert_true(ridge_predict(&r, x) == 3);
	assert_true(isfinite(ridge_predict(&r, bad)));
	assert_true(ridge_is_sane(&r));
	r.sum[3] = NAN;
	assert_false(ridge_is_sane(&r));
	assert_true(isfinite(ridge_predict(&r, x)));
}

static void costs_and_curves(void **state)
{
	struct fixture f = begin();
	struct sched_shape s = shape(&f, 100, 1);
	float curve[SCHED_PER_SM];
	uint64_t sum = 0;

	assert_int_equal(model_durations.cost(f.d, f.number, 5), 5);
	for (uint64_t i = 1; i <= 75; i++) {
		model_durations.learn_cost(f.d, f.number, i * i);
		sum += i > 25 ? i * i : 0;
		if (i == 2)
			assert_int_equal(model_durations.cost(f.d, f.number, 5), 2);
	}
	assert_int_equal(model_durations.cost(f.d, f.number, 5), sum / 50);
	model_durations.learn_curve(f.d, &s, 2, 10, 3000);
	model_durations.learn_curve(f.d, &s, 2, 10, 5000);
	model_durations.learn_curve(f.d, &s, 33, 10, 5000);
	model_durations.learn_curve(f.d, &s, 0, 10, 5000);
	model_durations.learn_curve(f.d, &s, 32, 0, 5000);
	model_durations.curve(f.d, f.number, curve);
	assert_true(curve[1] == 400 && curve[0] == 0 && curve[31] == 0);
	durations_destroy(f.d);
}

/* The same code counts as another kernel for another user, device or driver. */
static void whose(void **state)
{
	struct fixture f = begin();
	struct duration_owner o[4] = {owner, owner, owner, owner};

	o[0].uid++;
	o[1].n_sms++;
	strcpy(o[2].device, "another GPU");
	strcpy(o[3].driver, "1.1");
	learn(&f, 40, 100);
	for (unsigned i = 0; i < 4; i++) {
		struct sched_shape s = shape(&f, 40, 100);

		s.kernel = durations_number(f.d, &o[i], 77, "kernel");
		assert_true(model_durations.predict(f.d, &s) == SCHED_UNKNOWN);
	}
	assert_int_equal(durations_number(f.d, &owner, 77, "another name"), f.number);
	assert_string_equal(durations_find(f.d, f.number)->name, "kernel");
	durations_destroy(f.d);
}

static void count(void *user, const struct duration_kernel *k)
{
	++*(unsigned *)user;
}

static unsigned kernels_of(const struct durations *d, uint32_t uid)
{
	unsigned n = 0;

	durations_each(d, uid, count, &n);
	return n;
}

/* One user fills the records. A second user who runs new kernels all the time gets a quarter of
 * them, and no more. */
static void room(void **state)
{
	struct fixture f = begin();
	struct duration_owner other = owner;

	other.uid = 1;
	for (unsigned i = 0; i < DURATION_KERNELS; i++)
		durations_number(f.d, &owner, i, "k");
	assert_int_equal(kernels_of(f.d, DURATION_ANY), DURATION_KERNELS);
	for (unsigned i = 0; i < 4 * DURATION_KERNELS; i++)
		durations_number(f.d, &other, i, "k");
	assert_int_equal(kernels_of(f.d, DURATION_ANY), DURATION_KERNELS);
	assert_int_equal(kernels_of(f.d, 1), DURATION_KERNELS / 4);
	/* The oldest kernel was removed. */
	assert_null(durations_find(f.d, f.number));
	for (unsigned i = 0; i < 1000; i++)
		learn(&f, i + 1, 1);
	durations_number(f.d, &owner, 77, "kernel");
	for (unsigned i = 0; i < 1000; i++)
		learn(&f, i + 1, 1);
	assert_int_equal(durations_find(f.d, f.number)->n_shapes, DURATION_SHAPES);
	assert_int_equal(
		predict(&f, 1000, 1), takes(&(struct sched_shape){.total = 1000, .input = {1}}));
	durations_destroy(f.d);
}

static void restored(void **state)
{
	struct fixture f = begin(), g = begin();
	struct duration_kernel k[3], broken;

	for (unsigned i = 0; i < 30; i++)
		learn(&f, i + 1, 100);
	durations_claim(f.d, f.number, 8);
	assert_int_equal(durations_changed(f.d, k, 3), 1);
	assert_int_equal(durations_changed(f.d, k + 1, 2), 0);
	assert_int_equal(k[0].claim, 8);
	assert_int_equal(durations_restore(g.d, &k[0]), 0);
	assert_int_equal(predict(&g, 30, 100), predict(&f, 30, 100));
	assert_int_equal(predict(&g, 500, 700), predict(&f, 500, 700));
	assert_int_equal(durations_changed(g.d, k + 1, 2), 0);
	/* The existing record has more launches, so it stays. */
	learn(&g, 30, 100);
	assert_int_equal(durations_restore(g.d, &k[0]), 0);
	assert_int_equal(durations_find(g.d, g.number)->launches, 31);
	/* Records with values that heddle never writes are refused. */
#define REFUSED(change)                                                     \
	do {                                                                \
		broken = k[0];                                              \
		broken.launches = 500;                                      \
		change;                                                     \
		assert_int_equal(durations_restore(g.d, &broken), -EINVAL); \
	} while (0)
	REFUSED(broken.n_shapes = DURATION_SHAPES + 1);
	REFUSED(broken.costs.next = DURATION_COSTS);
	REFUSED(broken.costs.n = DURATION_COSTS + 1);
	REFUSED(broken.errors.n = DURATION_ERRORS + 1);
	REFUSED(broken.errors.relative[3] = NAN);
	REFUSED(broken.curve_ns[0] = -1);
	REFUSED(broken.shape[0].n = UINT64_MAX);
	REFUSED(broken.shape[0].n = 0);
	REFUSED(broken.shape[1].input[2] = INFINITY);
	REFUSED(broken.shape[1].moving_ns = 0);
	REFUSED(broken.shape[1].used = UINT64_MAX);
	REFUSED(broken.ridge.sum[5] = NAN);
	REFUSED(broken.ridge.sum[0] = -1);
	REFUSED(broken.ridge.least[0] = 5);
	REFUSED(broken.owner.uid = DURATION_ANY);
	REFUSED(memset(broken.owner.driver, 'x', sizeof(broken.owner.driver)));
	/* A record with a wrong byte is refused, or gives valid predictions. */
	for (uint64_t i = 0; i < 20000; i++) {
		struct sched_shape s = shape(&g, 17, 3);

		broken = k[0];
		broken.launches = 1000 + i;
		((unsigned char *)&broken)[random_bits(30, i) % sizeof(broken)] =
			(unsigned char)random_bits(31, i);
		if (durations_restore(g.d, &broken) == 0) {
			uint64_t said = model_durations.predict(g.d, &s);

			assert_true(said == SCHED_UNKNOWN || (said && said <= 1000000000000000));
			learn(&g, 18, 3);
		}
	}
	durations_destroy(f.d);
	durations_destroy(g.d);
}

/* The engine waits for predictions, so they must be quick: 6 us were measured, and 10 us are
 * allowed. This measures the thread's CPU time, and takes the best of many. BOUND_US is twice the
 * allowed time, for slower machines. */
static void time_it_takes(void **state)
{
	struct fixture f = begin();
	double best = 1e9;

	for (unsigned i = 0; i < 400; i++) {
		struct sched_shape s = shape(&f, i + 1, (float)(i * i));
		struct timespec a, b;
		double us;

		for (unsigned k = 0; k < SCHED_INPUTS; k++)
			s.input[k] = (float)random_bits(k, i);
		s.threads = 32 * (i % 7 + 1);
		s.shared_bytes = i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		model_durations.learn(f.d, &s, 1000 + i, false);
		s.total += 1000;
		model_durations.predict(f.d, &s);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		us = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
		if (i > 100)
			best = fmin(best, us);
	}
	print_message("learning and predicting, all features in use: %.1f us\n", best);
	assert_true(best < BOUND_US);
	durations_destroy(f.d);
}

/* Each of two kernels saturates an SM with any number of blocks. Until the pair is measured, both
 * are predicted to take twice as long side by side. New samples of a kernel's curve do not change
 * the measured ratio of the pair. */
static void pairs(void **state)
{
	struct fixture f = begin();
	uint64_t other = durations_number(f.d, &owner, 78, "other");
	struct sched_pair p = {.kernel = {f.number, other}, .count = {2, 1}, .most = {8, 8}};
	struct sched_shape s = shape(&f, 100, 1);
	float ns[2];

	assert_int_equal(model_durations.pair(f.d, &p, ns), -ENOENT);
	assert_false(model_durations.learn_pair(f.d, &p, 10, 1000));
	for (uint32_t n = 1; n <= 8; n++) {
		s.kernel = f.number;
		model_durations.learn_curve(f.d, &s, n, 10, 1000);
		s.kernel = other;
		model_durations.learn_curve(f.d, &s, n, 10, 3000);
	}
	assert_int_equal(model_durations.pair(f.d, &p, ns), 0);
	assert_true(fabs((double)ns[0] - 200) < 0.01 && fabs((double)ns[1] - 600) < 0.01);
	for (unsigned i = 0; i < 100; i++)
		assert_true(model_durations.learn_pair(f.d, &p, 10, 1500));
	assert_int_equal(model_durations.pair(f.d, &p, ns), 0);
	assert_true(fabs((double)ns[0] - 150) < 0.01 && fabs((double)ns[1] - 600) < 0.01);
	durations_destroy(f.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mean_of_a_shape),
		cmocka_unit_test(slow_ones),
		cmocka_unit_test(disturbed_ones),
		cmocka_unit_test(other_shapes),
		cmocka_unit_test(often),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(numbers_that_are_none),
		cmocka_unit_test(costs_and_curves),
		cmocka_unit_test(pairs),
		cmocka_unit_test(whose),
		cmocka_unit_test(room),
		cmocka_unit_test(restored),
		cmocka_unit_test(time_it_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
