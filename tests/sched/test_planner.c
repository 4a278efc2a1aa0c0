/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests third-party policies under the engine (sched/engine/planner.h), in virtual time: the views
 * that they see, what the engine does with their plans, and that no launch waits for ever because
 * of a bad plan. */
#include "unit.h"

#include "policy_bad.h"
#include "sched/engine/planner.h"
#include "sched/engine/sched.h"
#include "sched/model/durations.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

static struct heddle_policy_view seen;
static struct heddle_policy_device device;
static struct heddle_policy_kernel kernels[8];
static struct heddle_policy_tenant tenants[8];
static uint8_t quota_seen[8][4];
static unsigned asked, said;
static uint32_t block_bytes = 1024;
static int inside;
static char what_said[256];

void bad_view(const struct heddle_policy_view *in)
{
	assert_int_equal(inside, 1);
	asked++;
	seen = *in;
	device = *in->device;
	for (uint32_t i = 0; i < in->n_kernels && i < 8; i++) {
		kernels[i] = *heddle_policy_kernel_at(in, i);
		memcpy(quota_seen[i], kernels[i].quota, 4);
	}
	for (uint32_t i = 0; i < in->n_tenants && i < 8; i++)
		tenants[i] = *heddle_policy_tenant_at(in, i);
}

static void on_enter(void *user, const char *call)
{
	(void)user;
	assert_non_null(call);
	assert_int_equal(inside++, 0);
}

static void on_leave(void *user)
{
	(void)user;
	assert_int_equal(--inside, 0);
}

static void on_say(void *user, const char *what)
{
	(void)user;
	said++;
	snprintf(what_said, sizeof(what_said), "%s", what);
}

struct fixture {
	struct sched *s;
	struct sched_policy_watch watch;
	struct sched_policy policy;
	struct sched_tenant *a, *b;
	uint64_t now, next_id;
	unsigned held;
};

static void tell(struct fixture *f)
{
	struct sched_action a;

	assert_int_equal(sched_decide(f->s, f->now), 0);
	while (sched_next(f->s, &a))
		f->held += (a.type == SCHED_HOLD) - (a.type == SCHED_RELEASE);
}

/* Creates an engine for four SMs that hold 8 blocks of 256 threads each. */
static void begin(struct fixture *f, const char *options)
{
	struct sched_options o = {.n_sms = 4, .simultaneous = true, .spatial = true};

	asked = said = 0;
	what_said[0] = 0;
	*f = (struct fixture){.now = 1000 * MS, .next_id = 1};
	f->watch = (struct sched_policy_watch){.enter = on_enter, .leave = on_leave, .say = on_say};
	f->policy = (struct sched_policy){
		.name = "bad", .table = heddle_policy(), .options = options, .watch = &f->watch};
	assert_int_equal(sched_create(&o, &f->policy, &f->s), 0);
	assert_int_equal(sched_join(f->s, f->now, 1, 0, 1, NULL, &f->a), 0);
	assert_int_equal(sched_join(f->s, f->now, 2, 2, 3, NULL, &f->b), 0);
	tell(f);
}

static struct sched_launch *launch(struct fixture *f, struct sched_tenant *t, uint64_t blocks)
{
	struct sched_launch_info i = {.id = f->next_id++,
		.kernel = 77,
		.total = blocks,
		.threads = 256,
		.regs = 32,
		.unranked = t == f->b,
		.counts = t == f->b ? 0xfe : 0, /* all counts below 8 */
		.shared_bytes = block_bytes};
	struct sched_launch *l = NULL;

	assert_int_equal(sched_submit(f->s, f->now, t, &i, &l), 0);
	tell(f);
	sched_arrive(f->s, f->now, l, SCHED_BEGAN_TOLD);
	tell(f);
	return l;
}

static void pass_ns(struct fixture *f, uint64_t ns)
{
	f->now += ns;
	tell(f);
}

static void expect_quota(const struct fixture *f, const struct sched_launch *l, uint8_t n)
{
	uint8_t q[CTL_MAX_SMS];

	sched_quotas(f->s, l, q);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(q[i], n);
}

static void expect_line(const char *part)
{
	assert_int_equal(said, 1);
	assert_non_null(strstr(what_said, part));
}

static void sees_all(void **state)
{
	struct fixture f;
	struct sched_launch *a, *b;
	unsigned before;

	begin(&f, "3");
	assert_int_equal(device.n_sms, 4);
	assert_int_equal(device.threads_per_sm, 2048);
	assert_int_equal(device.simultaneous, 1);
	a = launch(&f, f.a, 1000);
	b = launch(&f, f.b, 500);
	sched_progress(f.s, a, 100);
	sched_started(f.s, 0, a, 110);
	sched_opaque(f.s, f.now, f.b, true, true);
	pass_ns(&f, 10 * MS);
	assert_int_equal(seen.abi, HEDDLE_POLICY_ABI);
	assert_int_equal(seen.size, sizeof(seen));
	assert_int_equal(seen.now_ns, f.now);
	assert_int_equal(seen.n_kernels, 3);
	assert_int_equal(seen.n_tenants, 2);
	assert_int_equal(tenants[kernels[0].tenant_index].id, 1);
	assert_int_equal(tenants[kernels[1].tenant_index].id, 2);
	assert_int_equal(tenants[kernels[1].tenant_index].weight, 3);
	assert_int_equal(tenants[kernels[1].tenant_index].priority, 2);
	assert_int_equal(tenants[kernels[1].tenant_index].opaque, 1);
	assert_int_equal(tenants[kernels[0].tenant_index].opaque, 0);
	assert_int_equal(tenants[kernels[0].tenant_index].pause_ns, HEDDLE_POLICY_UNKNOWN);
	/* 3 of 8 blocks on each of 4 SMs for 10 ms: 3/8 of 4 SMs for 10 ms */
	assert_int_equal(tenants[kernels[0].tenant_index].sm_ns, 15 * MS);
	assert_int_equal(tenants[kernels[0].tenant_index].service_ns, 10 * MS);
	assert_int_equal(kernels[0].kind, HEDDLE_POLICY_MANAGED);
	assert_int_equal(kernels[0].launch, 1);
	assert_int_equal(kernels[0].code, 77);
	assert_int_equal(kernels[0].threads, 256);
	assert_int_equal(kernels[0].regs, 32);
	assert_int_equal(kernels[0].shared_bytes, 1024);
	assert_int_equal(kernels[0].blocks_per_sm, 8);
	assert_int_equal(kernels[0].blocks, 1000);
	assert_int_equal(kernels[0].finished, 100);
	assert_int_equal(kernels[0].started, 110);
	assert_int_equal(kernels[0].running, 1);
	assert_int_equal(kernels[0].unranked, 0);
	assert_int_equal(kernels[1].unranked, 1);
	assert_int_equal(kernels[1].counts, 0xfe);
	assert_int_equal(kernels[0].predicted_ns, HEDDLE_POLICY_UNKNOWN);
	assert_int_equal(kernels[0].curve_ns[32], HEDDLE_POLICY_UNKNOWN);
	assert_int_equal(quota_seen[0][3], 3);
	assert_int_equal(kernels[2].kind, HEDDLE_POLICY_OPAQUE);
	assert_int_equal(tenants[kernels[2].tenant_index].id, 2);
	expect_quota(&f, a, 3);
	expect_quota(&f, b, 3);
	/* When the last block of an unfinished launch has started, there is room for others soon,
	 * so the policy is asked again. Before that it is not. */
	before = asked;
	sched_started(f.s, 0, a, 999);
	pass_ns(&f, 1);
	assert_int_equal(asked, before);
	sched_started(f.s, 0, a, 1000);
	pass_ns(&f, 1);
	assert_int_equal(asked, before + 1);
	assert_int_equal(said, 0);
	sched_destroy(f.s);
	assert_int_equal(inside, 0);
}

/* Returns the tenant's work that the policy sees. */
static uint64_t work_of(uint32_t id)
{
	for (unsigned i = 0; i < 2; i++) {
		if (tenants[i].id == id)
			return tenants[i].work_ns;
	}
	return UINT64_MAX;
}

/* For a launch with a predicted duration, its finished blocks count, each with its predicted time.
 * For other launches the elapsed time counts. */
static void sees_work(void **state)
{
	struct sched_launch *l;
	struct fixture f;

	begin(&f, "255");
	l = launch(&f, f.a, 40);
	pass_ns(&f, 2 * MS);
	sched_progress(f.s, l, 20);
	tell(&f);
	pass_ns(&f, MS);
	sched_end(f.s, f.now, l, true, 3 * MS);
	tell(&f);
	assert_int_equal(work_of(1), 3 * MS);
	l = launch(&f, f.a, 40);
	pass_ns(&f, 10 * MS);
	sched_progress(f.s, l, 20);
	launch(&f, f.b, 8);
	assert_int_equal(kernels[0].predicted_ns, 3 * MS);
	assert_int_equal(work_of(1), 3 * MS + 1500000);
	sched_progress(f.s, l, 10); /* an older report */
	sched_end(f.s, f.now, l, true, 0);
	tell(&f);
	assert_int_equal(work_of(1), 6 * MS);
	sched_destroy(f.s);
}

/* A launch has half of the blocks that fit on each SM, from its start to its end. Its duration on
 * the whole device is taken as half of its time. */
static void half_of_an_sm(void **state)
{
	struct sched_launch *l;
	struct fixture f;

	begin(&f, "4");
	l = launch(&f, f.a, 40);
	pass_ns(&f, 3 * MS);
	sched_end(f.s, f.now, l, true, 3 * MS);
	tell(&f);
	launch(&f, f.a, 40);
	assert_int_equal(kernels[0].predicted_ns, 1500000);
	sched_destroy(f.s);
}

/* Once in a while the engine waits for a tenant's next launch, although others have work and the
 * tenant's pauses have been long. */
static void waits_again(void **state)
{
	struct sched_launch *l, *o;
	struct sched_stats st;
	struct fixture f;

	begin(&f, "3");
	o = launch(&f, f.b, 1000000);
	for (unsigned i = 0; i < 40; i++) {
		l = launch(&f, f.a, 40);
		pass_ns(&f, MS);
		sched_end(f.s, f.now, l, true, MS);
		tell(&f);
		pass_ns(&f, 100000);
		pass_ns(&f, 3 * MS);
	}
	sched_stats(f.s, &st);
	assert_in_range(st.lingers, 2, 8);
	sched_end(f.s, f.now, o, false, 0);
	sched_destroy(f.s);
}

static void begins_bounded(void **state)
{
	uint8_t q[CTL_MAX_SMS];
	struct fixture f;

	begin(&f, "2");
	launch(&f, f.a, 1000);
	sched_begin_quotas(f.s, f.a, q);
	assert_int_equal(q[0], 2);
	assert_int_equal(q[3], 2);
	/* the same for SMs that the device lacks, so that the device can read one word for all */
	assert_int_equal(q[255], 2);
	sched_destroy(f.s);
}

static void no_quota(void **state)
{
	struct fixture f;

	begin(&f, "200");
	expect_quota(&f, launch(&f, f.a, 1000), 255);
	launch(&f, f.b, 1000);
	expect_line("a quota of 200 blocks");
	sched_destroy(f.s);
}

/* The policy gives each of two launches 6 blocks of 256 threads per SM, but an SM holds 8. */
static void clips(void **state)
{
	struct sched_launch *a, *b;
	struct fixture f;

	begin(&f, "6");
	a = launch(&f, f.a, 1000);
	assert_int_equal(said, 0);
	b = launch(&f, f.b, 1000);
	expect_quota(&f, a, 6);
	expect_quota(&f, b, 2);
	expect_line("beside the quotas of earlier kernels 2 fit");
	sched_destroy(f.s);
	begin(&f, "31");
	expect_quota(&f, launch(&f, f.a, 1000), 8);
	expect_line("a quota of 31 blocks of 256 threads");
	sched_destroy(f.s);
}

/* Blocks of the two launches do not fit on an SM together. The later launch waits, which is
 * reported once. */
static void no_room(void **state)
{
	struct sched_launch *a, *b;
	struct sched_tenant *c;
	struct fixture f;

	begin(&f, "1");
	assert_int_equal(sched_join(f.s, f.now, 3, 1, 1, NULL, &c), 0);
	block_bytes = 200 << 10;
	a = launch(&f, f.a, 1000);
	assert_int_equal(said, 0);
	pass_ns(&f, MS);
	b = launch(&f, c, 1000);
	block_bytes = 1024;
	expect_quota(&f, a, 1);
	expect_quota(&f, b, 0);
	sched_drained(f.s, f.now, b);
	expect_line("204800 bytes of shared memory does not fit on an SM");
	sched_end(f.s, f.now, a, true, MS);
	tell(&f);
	expect_quota(&f, b, 1);
	expect_line("some launches wait until others end");
	sched_destroy(f.s);
}

/* The plan gives both launches only the last SM, where blocks of both do not fit. */
static void no_room_on_one_sm(void **state)
{
	struct sched_tenant *c;
	struct fixture f;

	begin(&f, "last=1");
	assert_int_equal(sched_join(f.s, f.now, 3, 1, 1, NULL, &c), 0);
	block_bytes = 200 << 10;
	launch(&f, f.a, 1000);
	assert_int_equal(said, 0);
	pass_ns(&f, MS);
	launch(&f, c, 1000);
	block_bytes = 1024;
	pass_ns(&f, MS);
	expect_line("204800 bytes of shared memory does not fit on an SM");
	sched_destroy(f.s);
}

static void gives_nobody(void **state)
{
	struct sched_launch *a;
	struct fixture f;

	begin(&f, "nobody");
	a = launch(&f, f.a, 1000);
	expect_quota(&f, a, 0);
	assert_int_equal(said, 0);
	assert_int_equal(sched_state(a), LAUNCH_HELD);
	sched_drained(f.s, f.now, a);
	tell(&f);
	assert_true(sched_deadline(f.s) <= f.now + PLANNER_EMPTY_NS);
	pass_ns(&f, PLANNER_EMPTY_NS);
	expect_quota(&f, a, 255);
	expect_line("no launch got an SM");
	pass_ns(&f, 10 * MS);
	expect_quota(&f, a, 255); /* not just for a moment */
	expect_quota(&f, launch(&f, f.b, 10), 255);
	assert_int_equal(said, 1);
	sched_destroy(f.s);
}

/* If the policy holds all tenants, their unmanaged work is released after a while, too. */
static void holds_all(void **state)
{
	struct fixture f;

	begin(&f, "hold");
	assert_int_equal(f.held, 2);
	sched_opaque(f.s, f.now, f.a, true, false);
	tell(&f);
	pass_ns(&f, PLANNER_EMPTY_NS);
	assert_int_equal(f.held, 0);
	expect_line("no launch got an SM");
	sched_destroy(f.s);
}

/* A launch of a held tenant begins without SMs, even if an earlier launch of the tenant has
 * some. */
static void begins_held(void **state)
{
	struct sched_launch *a, *b;
	struct fixture f;

	begin(&f, "hold but first");
	a = launch(&f, f.a, 1000);
	expect_quota(&f, a, 0);
	sched_drained(f.s, f.now, a);
	tell(&f);
	expect_quota(&f, a, 2);
	b = launch(&f, f.a, 1000);
	expect_quota(&f, b, 0);
	expect_quota(&f, a, 2);
	assert_int_equal(sched_state(b), LAUNCH_HELD);
	sched_destroy(f.s);
}

static void never_asks(void **state)
{
	struct fixture f;
	unsigned before;

	begin(&f, "first");
	launch(&f, f.a, 1000);
	launch(&f, f.b, 1000);
	before = asked;
	assert_true(sched_deadline(f.s) <= f.now + HEDDLE_POLICY_MAX_WAKE);
	pass_ns(&f, HEDDLE_POLICY_MAX_WAKE);
	assert_int_equal(asked, before + 1);
	expect_line("wake_ns is UNKNOWN although a launch waits");
	pass_ns(&f, HEDDLE_POLICY_MAX_WAKE);
	assert_int_equal(asked, before + 2);
	assert_int_equal(said, 1);
	sched_destroy(f.s);
}

static void asks_too_soon(void **state)
{
	struct fixture f;
	unsigned before;

	begin(&f, "soon");
	launch(&f, f.a, 1000);
	before = asked;
	assert_int_equal(sched_deadline(f.s), f.now + HEDDLE_POLICY_MIN_WAKE);
	pass_ns(&f, HEDDLE_POLICY_MIN_WAKE - 1);
	assert_int_equal(asked, before);
	pass_ns(&f, 1);
	assert_int_equal(asked, before + 1);
	expect_line("less than 100 us");
	sched_destroy(f.s);
}

static void writes_behind(void **state)
{
	static const char *const how[] = {"behind", "before", "held=behind"};
	struct fixture f;

	for (unsigned i = 0; i < ARRAY_LEN(how); i++) {
		begin(&f, how[i]);
		expect_quota(&f, launch(&f, f.a, 1000), 255);
		expect_line("beyond the arrays");
		sched_destroy(f.s);
	}
}

static void creates_nothing(void **state)
{
	struct fixture f;

	begin(&f, "create=null");
	expect_quota(&f, launch(&f, f.a, 1000), 255);
	expect_line("create returned NULL");
	assert_int_equal(asked, 0);
	sched_destroy(f.s);
}

/* The policy changes from a third-party one to a built-in one and back while kernels run. Each must
 * see a complete view. */
static void switches(void **state)
{
	struct sched_options o = {.simultaneous = true, .spatial = true};
	struct sched_launch *a, *b;
	struct fixture f;

	begin(&f, "3");
	a = launch(&f, f.a, 1000);
	b = launch(&f, f.b, 1000);
	sched_reconfigure(f.s, &o, &sched_policy_hpf);
	tell(&f);
	expect_quota(&f, b, 255);
	expect_quota(&f, a, 0);
	sched_drained(f.s, f.now, a);
	sched_drained(f.s, f.now, b); /* all its blocks have left, because their number changes */
	tell(&f);
	asked = 0;
	sched_reconfigure(f.s, &o, &f.policy);
	tell(&f);
	assert_int_equal(asked, 1);
	assert_int_equal(seen.n_kernels, 2);
	assert_int_equal(quota_seen[1][0], 255);
	expect_quota(&f, a, 3);
	expect_quota(&f, b, 3);
	sched_destroy(f.s);
}

/* ---- the model of pairs, and options ---- */

static unsigned created;
static char options_seen[64];
static int answer[4];
static bool second_waits;
static uint64_t pair_ns[2];

static void *asking_create(const struct heddle_policy_device *d, const char *options)
{
	(void)d;
	created++;
	snprintf(options_seen, sizeof(options_seen), "%s", options);
	return &created;
}

/* Asks for the time of the first two kernels side by side, and of kernels that do not exist. */
static void asking_decide(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	static const uint32_t kernel[4][2] = {{0, 1}, {0, 9}, {9, 0}, {0, 1}};
	static const uint8_t quota[4][2] = {{2, 255}, {1, 1}, {1, 1}, {0, 1}};
	uint64_t none[2];

	(void)state;
	memset(out->quota, HEDDLE_POLICY_UNBOUNDED, (size_t)in->n_kernels * in->device->n_sms);
	if (second_waits && in->n_kernels == 2)
		memset(heddle_policy_row(in, out, 1), 0, in->device->n_sms);
	for (unsigned i = 0; i < 4 && in->n_kernels == 2; i++)
		answer[i] = out->ask(out, kernel[i], quota[i], i ? none : pair_ns);
}

static const struct heddle_policy asking_table = {.size = sizeof(asking_table),
	.abi = HEDDLE_POLICY_ABI,
	.name = "asking",
	.create = asking_create,
	.decide = asking_decide};
static const struct sched_policy asking = {.name = "asking", .table = &asking_table};

/* Makes a model in which the kernel takes 100 ns per block on an SM, with any number of blocks. */
static void *model_make(void)
{
	struct sched_shape shape = {.kernel = 77, .total = 100, .n_sms = 4};
	void *m = model_durations.create();

	assert_non_null(m);
	for (uint32_t n = 1; n <= 8; n++)
		model_durations.learn_curve(m, &shape, n, 10, 1000);
	return m;
}

static void asks_for_pairs(void **state)
{
	struct sched_options o = {.n_sms = 4, .simultaneous = true, .spatial = true};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};

	o.model = &model_durations;
	o.model_state = model_make();
	assert_int_equal(sched_create(&o, &asking, &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.a), 0);
	assert_int_equal(sched_join(f.s, f.now, 2, 0, 1, NULL, &f.b), 0);
	memset(answer, 1, sizeof(answer));
	launch(&f, f.a, 1000);
	launch(&f, f.b, 40);
	/* Each kernel saturates an SM alone, so both take twice as long. They have 250 and 10
	 * blocks per SM. */
	assert_int_equal(answer[0], 0);
	assert_int_equal(pair_ns[0], 2 * 100 * 250);
	assert_int_equal(pair_ns[1], 2 * 100 * 10);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(answer[i], -ENOENT);
	sched_destroy(f.s);
	model_durations.destroy(o.model_state);
}

static struct {
	struct sched_pair pair;
	uint64_t blocks, sm_ns;
	uint64_t curve_blocks; /* total blocks taught to curves */
	unsigned n;
} taught;

static void note_curve(
	void *state, const struct sched_shape *s, uint32_t per_sm, uint64_t blocks, uint64_t sm_ns)
{
	(void)state;
	(void)s;
	(void)per_sm;
	(void)sm_ns;
	taught.curve_blocks += blocks;
}

static bool note_pair(void *state, const struct sched_pair *p, uint64_t blocks, uint64_t sm_ns)
{
	(void)state;
	taught.pair = *p;
	taught.blocks = blocks;
	taught.sm_ns = sm_ns;
	taught.n++;
	return true;
}

static struct sched_model noting_model(void)
{
	struct sched_model m = model_durations;

	m.learn_pair = note_pair;
	m.learn_curve = note_curve;
	memset(&taught, 0, sizeof(taught));
	return m;
}

/* The pair is measured from a's first block to the end of either kernel: 2 ms on 4 SMs, 40 blocks
 * of a. a has 8 blocks per SM, and b has 5, because its grid of 20 has no more. */
static void teaches_pairs(void **state)
{
	struct sched_options o = {
		.n_sms = 4, .simultaneous = true, .spatial = true, .tells_started = true};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};
	struct sched_model model = noting_model();
	struct sched_launch *a, *b;

	o.model = &model;
	o.model_state = model_make();
	assert_int_equal(sched_create(&o, &asking, &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.a), 0);
	assert_int_equal(sched_join(f.s, f.now, 2, 0, 1, NULL, &f.b), 0);
	b = launch(&f, f.b, 20);
	second_waits = true;
	a = launch(&f, f.a, 40);
	second_waits = false;
	sched_drained(f.s, f.now, a);
	tell(&f);
	pass_ns(&f, MS); /* the launch is returning to the device */
	sched_started(f.s, f.now, a, 1);
	pass_ns(&f, 2 * MS);
	sched_end(f.s, f.now, a, true, 2 * MS);
	assert_int_equal(taught.n, 1);
	assert_int_equal(taught.blocks, 40);
	assert_int_equal(taught.sm_ns, 2 * MS * 4);
	assert_int_equal(taught.pair.kernel[0], 77);
	assert_int_equal(taught.pair.count[0], 8);
	assert_int_equal(taught.pair.count[1], 5);
	assert_true(taught.pair.most[0] == 8 && taught.pair.most[1] == 8);
	/* b has finished only 4 blocks while both ran: too few for a measurement. */
	sched_progress(f.s, b, 4);
	tell(&f);
	assert_int_equal(taught.n, 1);
	/* The time in which b runs alone does not count for the pair. */
	pass_ns(&f, 5 * MS);
	sched_end(f.s, f.now, b, true, 8 * MS);
	assert_int_equal(taught.n, 1);
	assert_int_equal(taught.curve_blocks, 16);
	sched_destroy(f.s);
	model_durations.destroy(o.model_state);
}

/* If a kernel runs beside two others, no ratio of a pair can be measured. Its own curve is then
 * measured, as without the option. */
static void teaches_no_three(void **state)
{
	struct sched_options o = {.n_sms = 4, .simultaneous = true, .spatial = true};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};
	struct sched_model model = noting_model();
	struct sched_launch *a;

	o.model = &model;
	o.model_state = model_make();
	assert_int_equal(sched_create(&o, &asking, &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.a), 0);
	assert_int_equal(sched_join(f.s, f.now, 2, 0, 1, NULL, &f.b), 0);
	a = launch(&f, f.a, 40);
	launch(&f, f.b, 40);
	launch(&f, f.a, 40);
	pass_ns(&f, 2 * MS);
	sched_end(f.s, f.now, a, true, 2 * MS);
	assert_int_equal(taught.n, 0);
	assert_int_equal(taught.curve_blocks, 40);
	sched_destroy(f.s);
	model_durations.destroy(o.model_state);
}

static void gets_options(void **state)
{
	struct sched_options o = {.n_sms = 4, .policy_options = "one"};
	char text[8] = "two", *longest;
	struct sched *s;

	created = 0;
	assert_int_equal(sched_create(&o, &asking, &s), 0);
	assert_string_equal(options_seen, "one");
	sched_reconfigure(s, &o, &asking);
	assert_int_equal(created, 1); /* nothing new was created */
	o.policy_options = text;
	sched_reconfigure(s, &o, &asking);
	assert_int_equal(created, 2);
	assert_string_equal(options_seen, "two");
	text[0] = 'T'; /* the engine compares with its own copy of the text */
	sched_reconfigure(s, &o, &asking);
	assert_int_equal(created, 3);
	assert_string_equal(options_seen, "Two");
	o.policy_options = NULL;
	sched_reconfigure(s, &o, &asking);
	assert_string_equal(options_seen, "");
	sched_destroy(s);
	longest = calloc(1, SCHED_POLICY_OPTIONS + 1);
	assert_non_null(longest);
	memset(longest, 'x', SCHED_POLICY_OPTIONS);
	o.policy_options = longest;
	assert_int_equal(sched_create(&o, &asking, &s), -EINVAL);
	free(longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sees_all),
		cmocka_unit_test(sees_work),
		cmocka_unit_test(half_of_an_sm),
		cmocka_unit_test(waits_again),
		cmocka_unit_test(begins_bounded),
		cmocka_unit_test(no_quota),
		cmocka_unit_test(clips),
		cmocka_unit_test(no_room),
		cmocka_unit_test(no_room_on_one_sm),
		cmocka_unit_test(gives_nobody),
		cmocka_unit_test(holds_all),
		cmocka_unit_test(begins_held),
		cmocka_unit_test(never_asks),
		cmocka_unit_test(asks_too_soon),
		cmocka_unit_test(writes_behind),
		cmocka_unit_test(creates_nothing),
		cmocka_unit_test(switches),
		cmocka_unit_test(asks_for_pairs),
		cmocka_unit_test(teaches_pairs),
		cmocka_unit_test(teaches_no_three),
		cmocka_unit_test(gets_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
