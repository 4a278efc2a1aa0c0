/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests which data about kernels the daemon learns from launches, and which users may read it.
 * Includes launches that it never saw running, the last ones of a tenant, and invalid values. */
#include "fake.h"

#include <math.h>
#include <string.h>

struct told {
	unsigned n_kernels, n_shapes;
	struct wire_kernel kernel; /* the last kernel received */
	struct wire_shape shape;
};

static struct told ask(struct hd *d, uint32_t uid)
{
	struct strbuf out = {0};
	struct told t = {0};
	struct wire_head h = {0};

	hd_profile(d, uid, &out);
	for (size_t at = 0; at < out.len; at += h.bytes) {
		memcpy(&h, out.at + at, sizeof(h));
		assert_int_equal(wire_check(out.at + at, h.bytes), 0);
		if (h.type == WIRE_KERNEL) {
			memcpy(&t.kernel, out.at + at, sizeof(t.kernel));
			t.n_kernels++;
		} else if (h.type == WIRE_SHAPE) {
			memcpy(&t.shape, out.at + at, sizeof(t.shape));
			t.n_shapes++;
		}
	}
	assert_int_equal(h.type, WIRE_END);
	strbuf_finish(&out);
	return t;
}

/* Returns a launch of `total` blocks that took 1 ms per block and that the shim has closed. */
static struct wire_slot *launched(struct hd *d, struct fake *f, unsigned slot, uint64_t total)
{
	uint32_t watch = f->page->watch;
	struct wire_slot *w;

	f->page->watch = 0; /* the daemon must not look before the slot is complete */
	w = submit(d, f, slot, total);
	f->page->watch = watch;
	w->claim = 3;
	w->input[0] = 4096;
	w->host.arrived_ns = now;
	w->host.done_ns = now + total * MS;
	w->host.done = w->gen + 1;
	return w;
}

static void told_to_its_user(void **state)
{
	struct hd *d = make(NULL);
	struct fake a, b;
	struct told t;

	assert_int_equal(join_as(d, 5, "GPU-0", &a), 0);
	assert_int_equal(join_as(d, 6, "GPU-0", &b), 0);
	assert_int_equal(ask(d, DURATION_ANY).n_kernels, 0);
	run_through(d, &a, submit(d, &a, 0, 8));
	now += MS;
	close_slot(d, &a, launched(d, &a, 1, 8));
	close_slot(d, &b, launched(d, &b, 0, 16));
	t = ask(d, 5);
	assert_true(t.n_kernels == 1 && t.kernel.uid == 5 && t.shape.total == 8);
	assert_string_equal(t.kernel.name, "kernel");
	assert_int_equal(t.kernel.code, 99);
	assert_int_equal(t.kernel.n_sms, 4);
	assert_int_equal(t.kernel.claim, 3);
	t = ask(d, 6);
	assert_true(t.n_kernels == 1 && t.kernel.uid == 6 && t.shape.total == 16);
	assert_true(
		t.shape.predicted_ns == UINT64_MAX); /* the other user's durations are not used */
	assert_true(t.shape.first_ns == 16 * MS && t.shape.input[0] == 4096);
	assert_int_equal(ask(d, 7).n_kernels, 0);
	assert_int_equal(ask(d, DURATION_ANY).n_kernels, 2);
	leave(d, &a);
	leave(d, &b);
	/* The tenants of the device are gone, but the data about it stays. */
	assert_int_equal(ask(d, DURATION_ANY).n_kernels, 2);
	hd_destroy(d);
}

/* The program ended before the daemon saw these launches. */
static void last_launches(void **state)
{
	struct hd *d = make(NULL);
	struct fake f;
	struct told t;

	assert_int_equal(join_as(d, 5, "GPU-0", &f), 0);
	launched(d, &f, 0, 8)->state = WIRE_SLOT_CLOSED;
	launched(d, &f, 1, 8); /* done, but the shim has not seen it */
	submit(d, &f, 2, 8);   /* not finished */
	launched(d, &f, 3, 16);
	leave(d, &f);
	t = ask(d, 5);
	assert_true(t.n_kernels == 1 && t.n_shapes == 2);
	assert_int_equal(t.kernel.launches, 3);
	/* A single launch was measured. Twice as many blocks are predicted to take twice as
	 * long. */
	assert_int_equal(t.shape.total, 16);
	assert_in_range(t.shape.predicted_ns, 15 * MS, 17 * MS);
	assert_true(t.kernel.n_errors == 1 && t.kernel.error_mean < 0.1f);
	hd_destroy(d);
}

/* A page may contain any values. */
static void odd_inputs(void **state)
{
	static const float odd[] = {-1, -0.0f, 1e30f, 5};
	struct hd *d = make(NULL);
	struct wire_slot *w;
	struct fake f;
	struct told t;

	assert_int_equal(join_as(d, 5, "GPU-0", &f), 0);
	w = launched(d, &f, 0, 8);
	memcpy(w->input, odd, sizeof(odd));
	w->input[4] = NAN;
	w->input[5] = INFINITY;
	memset(w->name, 'x', sizeof(w->name));
	close_slot(d, &f, w);
	t = ask(d, 5);
	for (unsigned i = 0; i < WIRE_INPUTS; i++)
		assert_true(t.shape.input[i] == (i == 3 ? 5 : 0) && !signbit(t.shape.input[i]));
	assert_int_equal(strlen(t.kernel.name), 63);
	/* A duration of zero or less teaches nothing. */
	w = launched(d, &f, 1, 9);
	w->host.done_ns = w->host.arrived_ns;
	close_slot(d, &f, w);
	w = launched(d, &f, 2, 10);
	w->host.done_ns = 1;
	close_slot(d, &f, w);
	w = launched(d, &f, 3, 0);
	close_slot(d, &f, w);
	w = launched(d, &f, 4, UINT64_MAX);
	w->host.done_ns = UINT64_MAX;
	close_slot(d, &f, w);
	t = ask(d, 5);
	assert_int_equal(t.n_shapes, 1);
	leave(d, &f);
	hd_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_to_its_user),
		cmocka_unit_test(last_launches),
		cmocka_unit_test(odd_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
