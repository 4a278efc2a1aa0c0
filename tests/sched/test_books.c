/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the engine's accounts, exact to the nanosecond: the cost of a preemption (FLEP, section
 * 4.2), and the times that a launch waited, ran and still has to run (section 5.1). The scenarios
 * test the decisions that follow from them. */
#include "unit.h"

#include "named.h"
#include "sched/engine/sched.h"

#define US     1000ull
#define MS     1000000ull
#define RESUME (20 * US) /* the engine's default */

struct fixture {
	struct sched *s;
	struct sched_tenant *low, *high;
	uint64_t now, next_id;
};

static void tell(struct fixture *f)
{
	struct sched_action a;

	assert_int_equal(sched_decide(f->s, f->now), 0);
	while (sched_next(f->s, &a))
		;
}

static struct fixture begin(bool spatial)
{
	struct sched_options o = {.n_sms = 4, .simultaneous = true, .spatial = spatial};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};

	assert_int_equal(sched_create(&o, &sched_policy_hpf, &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.low), 0);
	assert_int_equal(sched_join(f.s, f.now, 2, 2, 1, NULL, &f.high), 0);
	tell(&f);
	return f;
}

/* Two workers per SM. */
static struct sched_launch *submit(
	struct fixture *f, struct sched_tenant *t, uint64_t kernel, uint64_t blocks)
{
	struct sched_launch_info i = {.id = f->next_id++,
		.kernel = kernel,
		.total = blocks,
		.threads = 256,
		.workers_per_sm = 2};
	struct sched_launch *l = NULL;

	assert_int_equal(sched_submit(f->s, f->now, t, &i, &l), 0);
	tell(f);
	return l;
}

static struct sched_launch *launch(
	struct fixture *f, struct sched_tenant *t, uint64_t kernel, uint64_t blocks)
{
	struct sched_launch *l = submit(f, t, kernel, blocks);

	sched_arrive(f->s, f->now, l, SCHED_BEGAN_TOLD);
	tell(f);
	return l;
}

static void drained(struct fixture *f, struct sched_launch *l)
{
	sched_drained(f->s, f->now, l);
	tell(f);
}

static void end(struct fixture *f, struct sched_launch *l)
{
	sched_end(f->s, f->now, l, true, 0);
	tell(f);
}

static struct sched_info look(const struct fixture *f, const struct sched_launch *l)
{
	struct sched_info i;

	sched_launch_state(f->s, f->now, l, &i);
	return i;
}

/* The high-priority launch takes the device. The victim's workers have left after leaves_ns. The
 * victim gets the device back 1 ms later. */
static void preempt(struct fixture *f, struct sched_launch *victim, uint64_t leaves_ns)
{
	struct sched_launch *h = submit(f, f->high, 9, 400);

	assert_int_equal(look(f, victim).state, LAUNCH_DRAINING);
	f->now += leaves_ns;
	drained(f, victim);
	sched_arrive(f->s, f->now, h, SCHED_BEGAN_TOLD);
	tell(f);
	f->now += MS;
	end(f, h);
	/* The engine waits for the high-priority tenant if its last pause was short. */
	f->now += 20 * MS;
	tell(f);
	assert_int_equal(look(f, victim).state, LAUNCH_RUNNING);
}

static void cost_is_learnt(void **state)
{
	struct fixture f = begin(false);
	struct sched_launch *l = launch(&f, f.low, 1, 800), *other;

	assert_int_equal(look(&f, l).cost_ns, 100 * US); /* no preemption was seen */
	f.now += MS;
	preempt(&f, l, 70 * US);
	assert_int_equal(look(&f, l).cost_ns, 70 * US + RESUME);
	preempt(&f, l, 130 * US);
	assert_int_equal(look(&f, l).cost_ns, 100 * US + RESUME);
	/* The cost belongs to the kernel, so a later launch of the kernel has it, and other kernels
	 * do not. */
	other = submit(&f, f.low, 2, 800);
	assert_int_equal(look(&f, other).cost_ns, 100 * US);
	sched_end(f.s, f.now, other, false, 0);
	sched_end(f.s, f.now, l, false, 0);
	l = launch(&f, f.low, 1, 300);
	assert_int_equal(look(&f, l).cost_ns, 100 * US + RESUME);
	sched_destroy(f.s);
}

static void cost_is_of_fifty(void **state)
{
	struct fixture f = begin(false);
	struct sched_launch *l = launch(&f, f.low, 1, 800);
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= 75; i++) {
		preempt(&f, l, i * i * US);
		sum += i * i * US + RESUME;
		if (i > 50)
			sum -= (i - 50) * (i - 50) * US + RESUME;
		assert_int_equal(look(&f, l).cost_ns, sum / (i < 50 ? i : 50));
		assert_int_equal(look(&f, l).preemptions, i);
	}
	sched_destroy(f.s);
}

/* The engine learns no cost from the drain of a launch that it did not tell to leave, or that was
 * not on the device when it was told. */
static void cost_of_none(void **state)
{
	struct fixture f = begin(false);
	struct sched_launch *h = launch(&f, f.high, 9, 400), *l = launch(&f, f.low, 1, 800);

	assert_int_equal(look(&f, l).state, LAUNCH_HELD);
	f.now += 30 * US;
	drained(&f, l);
	assert_int_equal(look(&f, l).cost_ns, 100 * US);
	end(&f, h);
	f.now += 20 * MS;
	tell(&f);
	h = submit(&f, f.high, 9, 400);
	assert_int_equal(look(&f, l).state, LAUNCH_DRAINING);
	sched_absent(f.s, l);
	f.now += 40 * US;
	drained(&f, l);
	assert_int_equal(look(&f, l).cost_ns, 100 * US);
	sched_destroy(f.s);
}

/* Giving up some SMs is a preemption, too. Its cost is the time that the next owner of the SMs
 * waits. */
static void cost_of_shrinking(void **state)
{
	struct fixture f = begin(true);
	struct sched_launch *l = launch(&f, f.low, 1, 800), *h = launch(&f, f.high, 9, 2);

	assert_int_equal(look(&f, l).n_sms, 2);
	f.now += 35 * US;
	sched_shrunk(f.s, f.now, l);
	assert_int_equal(look(&f, l).cost_ns, 35 * US + RESUME);
	f.now += US;
	sched_shrunk(f.s, f.now, l); /* a second report of the same shrink is ignored */
	assert_int_equal(look(&f, l).cost_ns, 35 * US + RESUME);
	end(&f, h);
	f.now += 20 * MS;
	tell(&f);
	assert_int_equal(look(&f, l).n_sms, 4);
	/* The launch gets the SMs back before any of its workers has left. */
	h = launch(&f, f.high, 9, 2);
	assert_int_equal(look(&f, l).n_sms, 2);
	end(&f, h);
	f.now += 20 * MS;
	tell(&f);
	assert_int_equal(look(&f, l).n_sms, 4);
	sched_shrunk(f.s, f.now, l);
	assert_int_equal(look(&f, l).cost_ns, 35 * US + RESUME);
	/* The launch loses some SMs, then all. This is one preemption, which ends when the last
	 * worker leaves. */
	h = launch(&f, f.high, 9, 2);
	f.now += 500 * US;
	launch(&f, f.high, 8, 400);
	assert_int_equal(look(&f, l).state, LAUNCH_DRAINING);
	sched_shrunk(f.s, f.now, l);
	f.now += 65 * US;
	drained(&f, l);
	assert_int_equal(look(&f, l).cost_ns, 50 * US + RESUME);
	sched_destroy(f.s);
}

/* The waiting time (T_w) grows while a launch is active but not on the device. The remaining time
 * (T_r) and the time that it ran change only while it is on the device. */
static void waited(void **state)
{
	struct fixture f = begin(false);
	struct sched_launch *h = launch(&f, f.high, 9, 400), *l = launch(&f, f.low, 1, 800);

	drained(&f, l); /* the launch's workers read quota 0 */
	f.now += 3 * MS;
	assert_int_equal(look(&f, l).waited_ns, 3 * MS);
	assert_int_equal(look(&f, l).ran_ns, 0);
	end(&f, h);
	f.now += 2 * MS;
	assert_int_equal(look(&f, l).waited_ns, 3 * MS);
	assert_int_equal(look(&f, l).ran_ns, 2 * MS);
	/* A draining launch still counts as running. After the drain it counts as waiting. */
	h = submit(&f, f.high, 9, 400);
	f.now += 100 * US;
	assert_int_equal(look(&f, l).ran_ns, 2 * MS + 100 * US);
	drained(&f, l);
	sched_arrive(f.s, f.now, h, SCHED_BEGAN_TOLD);
	tell(&f);
	f.now += 5 * MS;
	assert_int_equal(look(&f, l).waited_ns, 8 * MS);
	assert_int_equal(look(&f, l).ran_ns, 2 * MS + 100 * US);
	/* h was next in its stream, so its waiting counted. In a queue behind a launch of its
	 * stream, it would not. */
	assert_int_equal(look(&f, h).waited_ns, 100 * US);
	assert_int_equal(look(&f, h).ran_ns, 5 * MS);
	sched_destroy(f.s);
}

/* Time on half of the SMs that a launch could use counts half, also for what the model learns. Time
 * on all SMs that the launch can use counts in full. */
static void ran_on_some(void **state)
{
	struct fixture f = begin(true);
	struct sched_launch *l = launch(&f, f.low, 1, 800), *h, *small;

	f.now += MS;
	h = launch(&f, f.high, 9, 4); /* 4 blocks and two relays need 3 SMs */
	assert_int_equal(look(&f, l).n_sms, 1);
	f.now += 8 * MS;
	assert_int_equal(look(&f, l).ran_ns, MS + 8 * MS / 4);
	assert_int_equal(look(&f, h).ran_ns, 8 * MS);
	/* The launch's duration is unknown, so its remaining time follows from its finished blocks
	 * and the time that it ran. */
	sched_progress(f.s, l, 200);
	assert_int_equal(look(&f, l).remaining_ns, 3 * (MS + 8 * MS / 4));
	end(&f, h);
	f.now += 20 * MS; /* by now the launch is alone again */
	tell(&f);
	f.now += 20 * MS;
	assert_int_equal(look(&f, l).n_sms, 4);
	{
		uint64_t ran = look(&f, l).ran_ns;

		sched_progress(f.s, l, 800);
		/* 77 is the device's time span, which includes other launches' time */
		sched_end(f.s, f.now, l, true, 77);
		tell(&f);
		l = submit(&f, f.low, 1, 800);
		assert_int_equal(look(&f, l).predicted_ns, ran);
		sched_end(f.s, f.now, l, false, 0);
	}
	h = launch(&f, f.high, 9, 5);
	small = launch(&f, f.low, 2, 1);
	assert_int_equal(look(&f, small).n_sms, 1);
	f.now += 4 * MS;
	assert_int_equal(look(&f, small).ran_ns, 4 * MS);
	sched_destroy(f.s);
}

/* The remaining time follows the finished blocks, not the elapsed time. The predicted duration
 * never changes. */
static void remaining(void **state)
{
	struct fixture f = begin(false);
	struct sched_launch *l = launch(&f, f.low, 1, 800);

	assert_true(look(&f, l).remaining_ns == SCHED_UNKNOWN);
	f.now += 8 * MS;
	sched_progress(f.s, l, 800);
	end(&f, l);
	l = launch(&f, f.low, 1, 800);
	assert_int_equal(look(&f, l).predicted_ns, 8 * MS);
	f.now += 20 * MS;
	assert_int_equal(look(&f, l).remaining_ns, 8 * MS);
	sched_progress(f.s, l, 600);
	assert_int_equal(look(&f, l).remaining_ns, 2 * MS);
	assert_int_equal(look(&f, l).predicted_ns, 8 * MS);
	sched_destroy(f.s);
}

/* A model that records what it is asked and taught. */
struct notes {
	struct sched_shape asked, taught;
	uint64_t ran_ns, blocks, sm_ns;
	uint32_t per_sm, n_curves;
};

static uint64_t note_predict(void *state, const struct sched_shape *s)
{
	((struct notes *)state)->asked = *s;
	return 7 * MS;
}

static void note_learn(void *state, const struct sched_shape *s, uint64_t ran_ns, bool disturbed)
{
	((struct notes *)state)->taught = *s;
	((struct notes *)state)->ran_ns = ran_ns;
}

static uint64_t note_cost(void *state, uint64_t kernel, uint64_t otherwise)
{
	return kernel == 1 ? 11 * US : otherwise;
}

static void note_learn_cost(void *state, uint64_t kernel, uint64_t cost_ns)
{
}

static void note_learn_curve(
	void *state, const struct sched_shape *s, uint32_t per_sm, uint64_t blocks, uint64_t sm_ns)
{
	struct notes *n = state;

	n->per_sm = per_sm;
	n->blocks = blocks;
	n->sm_ns = sm_ns;
	n->n_curves++;
}

static const struct sched_model notebook = {
	.name = "notebook",
	.predict = note_predict,
	.learn = note_learn,
	.cost = note_cost,
	.learn_cost = note_learn_cost,
	.learn_curve = note_learn_curve,
};

/* The engine uses the model that its creator passed, with all features of a launch, and does not
 * touch the model's state. */
static void model_of_the_caller(void **state)
{
	struct notes n = {0};
	struct sched_options o = {.n_sms = 4, .model = &notebook, .model_state = &n};
	struct sched_launch_info i = {.id = 1,
		.kernel = 1,
		.total = 30,
		.threads = 256,
		.shared_bytes = 1024,
		.workers_per_sm = 2,
		.input = {5, 6}};
	struct fixture f = {.now = MS};
	struct sched_launch *l;

	assert_int_equal(sched_create(&o, &sched_policy_hpf, &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.low), 0);
	tell(&f);
	assert_int_equal(sched_submit(f.s, f.now, f.low, &i, &l), 0);
	tell(&f);
	assert_int_equal(n.asked.n_sms, 4);
	assert_int_equal(n.asked.shared_bytes, 1024);
	assert_true(n.asked.input[0] == 5 && n.asked.input[1] == 6 && n.asked.input[2] == 0);
	assert_int_equal(look(&f, l).predicted_ns, 7 * MS);
	assert_int_equal(look(&f, l).cost_ns, 11 * US);
	sched_arrive(f.s, f.now, l, SCHED_BEGAN_TOLD);
	sched_progress(f.s, l, 30);
	sched_end(f.s, f.now + MS, l, true, 3 * MS);
	assert_memory_equal(&n.taught, &n.asked, sizeof(n.asked));
	assert_int_equal(n.ran_ns, 3 * MS);
	assert_true(n.n_curves == 1 && n.per_sm == 2 && n.blocks == 30 && n.sm_ns == 12 * MS);
	/* The engine sees this launch only after its end. Its two blocks each had an SM to
	 * themselves. */
	i.total = 2;
	sched_learn(f.s, &i, 5 * MS);
	assert_int_equal(n.ran_ns, 5 * MS);
	assert_true(n.n_curves == 2 && n.per_sm == 1 && n.blocks == 2 && n.sm_ns == 10 * MS);
	sched_destroy(f.s);
}

/* The curve is learnt from the blocks that finish on the launch's SMs, whatever their number, even
 * if the launch never ends. */
static void curve_on_some(void **state)
{
	struct notes n = {0};
	struct sched_options o = {.n_sms = 4,
		.simultaneous = true,
		.spatial = true,
		.model = &notebook,
		.model_state = &n};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};
	struct sched_launch *l, *h;

	assert_int_equal(sched_create(&o, &sched_policy_hpf, &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.low), 0);
	assert_int_equal(sched_join(f.s, f.now, 2, 2, 1, NULL, &f.high), 0);
	tell(&f);
	l = launch(&f, f.low, 1, 800);
	f.now += 2 * MS; /* on 4 SMs */
	h = launch(&f, f.high, 9, 4);
	assert_int_equal(look(&f, l).n_sms, 1);
	f.now += 3 * MS; /* on 1 SM */
	sched_shrunk(f.s, f.now, l);
	sched_progress(f.s, l, 90);
	launch(&f, f.high, 8, 400);
	assert_int_equal(look(&f, l).state, LAUNCH_DRAINING);
	f.now += MS; /* the launch keeps its SMs until it has left */
	sched_progress(f.s, l, 100);
	drained(&f, l);
	assert_true(n.n_curves == 1 && n.per_sm == 2 && n.blocks == 100);
	assert_int_equal(n.sm_ns, 4 * 2 * MS + 3 * MS + MS);
	/* A waiting launch has no SMs. */
	f.now += 50 * MS;
	sched_end(f.s, f.now, h, false, 0);
	sched_end(f.s, f.now, l, false, 0);
	assert_int_equal(n.n_curves, 1);
	sched_destroy(f.s);
}

/* A launch whose bound never changed gives a point of the curve at that bound. The device's own
 * figure does not count, because it includes the wait for the bound. The duration on the whole
 * device is estimated from the point. */
static void curve_of_a_bound(void **state)
{
	struct notes n = {0};
	struct sched_options o = {.n_sms = 4, .model = &notebook, .model_state = &n};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};

	assert_int_equal(sched_create(&o, policy_named(NULL, "profile"), &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.low), 0);
	tell(&f);
	for (uint32_t count = 2; count > 0; count--) {
		struct sched_launch *l = launch(&f, f.low, 1, 800);

		assert_int_equal(look(&f, l).state, LAUNCH_HELD);
		drained(&f, l);
		assert_int_equal(look(&f, l).workers, 4 * count);
		f.now += 8 * MS;
		sched_end(f.s, f.now, l, true, 58 * MS);
		tell(&f);
		assert_int_equal(n.per_sm, count);
		assert_int_equal(n.blocks, 800);
		assert_int_equal(n.sm_ns, 4 * 8 * MS);
		assert_int_equal(n.ran_ns, 8 * MS * count / 2);
	}
	assert_int_equal(n.n_curves, 2);
	sched_destroy(f.s);
}

/* Returns a launch that was preempted for another one, which has ended. It has a new grant, but its
 * blocks are not back on their SMs yet. */
static struct sched_launch *comes(struct fixture *f)
{
	struct sched_options o = {.n_sms = 4, .simultaneous = true, .tells_started = true};
	struct sched_launch *l, *h;

	*f = (struct fixture){.now = 1000 * MS, .next_id = 1};
	assert_int_equal(sched_create(&o, &sched_policy_hpf, &f->s), 0);
	assert_int_equal(sched_join(f->s, f->now, 1, 0, 1, NULL, &f->low), 0);
	assert_int_equal(sched_join(f->s, f->now, 2, 2, 1, NULL, &f->high), 0);
	tell(f);
	l = launch(f, f->low, 1, 800);
	sched_started(f->s, f->now, l, 100);
	f->now += MS;
	h = submit(f, f->high, 9, 400);
	f->now += 70 * US;
	drained(f, l);
	sched_arrive(f->s, f->now, h, SCHED_BEGAN_TOLD);
	tell(f);
	f->now += MS;
	end(f, h);
	assert_int_equal(look(f, l).state, LAUNCH_RUNNING);
	return l;
}

/* From the grant until blocks start again, the time counts for no tenant. */
static void change_is_nobodys(void **state)
{
	struct fixture f;
	struct sched_launch *l = comes(&f);
	uint64_t before = sched_service(f.low);

	f.now += 3 * MS;
	sched_started(f.s, f.now, l, 100); /* no block has started since the grant */
	assert_int_equal(sched_service(f.low), before);
	sched_started(f.s, f.now, l, 101);
	assert_int_equal(sched_service(f.low), before);
	f.now += 2 * MS;
	end(&f, l);
	assert_int_equal(sched_service(f.low), before + 2 * MS);
	sched_destroy(f.s);
}

/* If a launch with a grant does not return for long, the time counts for its tenant nevertheless.
 * Otherwise its turn would never end. */
static void change_is_bounded(void **state)
{
	struct fixture f;
	struct sched_launch *l = comes(&f);
	uint64_t before = sched_service(f.low);

	f.now += 50 * MS;
	end(&f, l);
	assert_int_equal(sched_service(f.low), before + 30 * MS);
	sched_destroy(f.s);
}

/* Unmanaged work that a tenant submits while it is held does not count as its service before its
 * turn comes. */
static void held_has_nothing(void **state)
{
	struct sched_options o = {.n_sms = 4, .simultaneous = true};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};
	struct sched_launch *l;

	assert_int_equal(sched_create(&o, &sched_policy_ffs, &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.low), 0);
	assert_int_equal(sched_join(f.s, f.now, 2, 0, 1, NULL, &f.high), 0);
	tell(&f);
	l = launch(&f, f.low, 1, 100000);
	submit(&f, f.high, 9, 400); /* the launch is held, because it is the other tenant's turn */
	f.now += 10 * US;
	sched_opaque(f.s, f.now, f.high, true, true);
	tell(&f);
	f.now += 50 * MS;
	tell(&f);
	assert_int_equal(look(&f, l).state, LAUNCH_DRAINING);
	assert_int_equal(sched_service(f.high), 0);
	drained(&f, l);
	f.now += 40 * US;
	sched_opaque(f.s, f.now, f.high, false, true);
	assert_int_equal(sched_service(f.high), 40 * US);
	sched_destroy(f.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost_is_learnt),
		cmocka_unit_test(cost_is_of_fifty),
		cmocka_unit_test(cost_of_none),
		cmocka_unit_test(cost_of_shrinking),
		cmocka_unit_test(waited),
		cmocka_unit_test(ran_on_some),
		cmocka_unit_test(remaining),
		cmocka_unit_test(model_of_the_caller),
		cmocka_unit_test(curve_on_some),
		cmocka_unit_test(curve_of_a_bound),
		cmocka_unit_test(change_is_nobodys),
		cmocka_unit_test(change_is_bounded),
		cmocka_unit_test(held_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
