/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the journal of an engine's inputs. Each call that changes the engine writes a line, and
 * other calls write none. Each line can be read as the same input. The scenarios and random traces
 * replay their journals (repeat.c). */
#include "unit.h"

#include "sched/engine/input.h"
#include "sched/engine/journal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000ull

struct fixture {
	struct durations *d;
	struct sched_journal *j;
	struct sched *s;
	struct sched_tenant *t;
	uint64_t kernel, now;
	struct strbuf text;
	unsigned full;
};

static void note_full(void *user)
{
	struct fixture *f = user;

	f->full++;
	sched_journal_write(f->j, false, &f->text);
}

static const struct duration_owner owner = {
	.uid = 7, .n_sms = 4, .device = "a \"device\"\\", .driver = "1\t2"};

static struct sched_options options_of(const struct fixture *f)
{
	return (struct sched_options){.n_sms = 4,
		.simultaneous = true,
		.spatial = true,
		.tells_started = true,
		.model = &model_durations,
		.model_state = f->d,
		.journal = f->j,
		.policy_options = "pairs=on"};
}

static void begin(struct fixture *f)
{
	struct sched_options o;

	memset(f, 0, sizeof(*f));
	f->now = 1000 * MS;
	assert_int_equal(durations_create(&f->d), 0);
	assert_int_equal(sched_journal_create(note_full, f, &f->j), 0);
	o = options_of(f);
	assert_int_equal(sched_create(&o, &sched_policy_greedy, &f->s), 0);
	f->kernel = durations_number(f->d, &owner, 77, "k");
	assert_int_equal(sched_join(f->s, f->now, 1, 2, 3, NULL, &f->t), 0);
}

static void end(struct fixture *f)
{
	sched_destroy(f->s);
	sched_journal_destroy(f->j);
	durations_destroy(f->d);
	strbuf_finish(&f->text);
}

/* Returns the text of all inputs since the last call; valid until the next call. */
static const char *recorded(struct fixture *f)
{
	strbuf_finish(&f->text);
	sched_journal_write(f->j, true, &f->text);
	return f->text.at ? f->text.at : "";
}

static bool has_line(const char *text, const char *key, const char *name)
{
	char line[64];

	snprintf(line, sizeof(line), "{\"%s\": \"%s\"", key, name);
	return strstr(text, line) != NULL;
}

static struct sched_launch *launch(struct fixture *f, uint64_t id, uint64_t total)
{
	struct sched_launch_info i = {.id = id,
		.kernel = f->kernel,
		.total = total,
		.threads = 256,
		.workers_per_sm = 2,
		.input = {0.1f, 0, 1e18f}};
	struct sched_launch *l = NULL;

	assert_int_equal(sched_submit(f->s, f->now, f->t, &i, &l), 0);
	return l;
}

static void decide(struct fixture *f)
{
	struct sched_action a;

	assert_int_equal(sched_decide(f->s, f->now), 0);
	while (sched_next(f->s, &a))
		;
}

/* Calls each function of events.def in a way that changes something. */
static void call_all(struct fixture *f)
{
	struct sched_launch_info unseen = {.kernel = f->kernel, .total = 5, .threads = 32};
	struct sched_options o = options_of(f);
	struct sched_launch *l;
	struct sched_tenant *high;

	sched_reconfigure(f->s, &o, &sched_policy_hpf);
	sched_set_priority(f->s, f->t, -1);
	sched_set_weight(f->s, f->t, 9);
	sched_learn(f->s, &unseen, 12345);
	l = launch(f, 1, 100);
	decide(f);
	sched_arrive(f->s, f->now, l, SCHED_BEGAN_TOLD);
	sched_progress(f->s, l, 3);
	sched_started(f->s, f->now, l, 11);
	sched_idle(f->s, f->now, l, true);
	sched_idle(f->s, f->now, l, false);
	assert_int_equal(sched_join(f->s, f->now, 2, 2, 1, NULL, &high), 0);
	sched_opaque(f->s, f->now, high, true, false);
	decide(f); /* preempts the launch */
	sched_drained(f->s, f->now, l);
	sched_opaque(f->s, f->now, high, false, true);
	sched_copied(f->s, high, f->now, UINT64_MAX);
	sched_pin(f->s, f->t, true);
	sched_keep(f->s, f->t, true);
	sched_absent(f->s, l);
	sched_ended(f->s, l, f->now);
	sched_end(f->s, f->now, l, true, 5 * MS);
	sched_leave(f->s, f->now, high);
	sched_pin(f->s, f->t, false);
	sched_keep(f->s, f->t, false);
	/* A small high-priority launch takes one SM. */
	l = launch(f, 2, 100);
	f->now += 100 * MS;
	decide(f);
	sched_arrive(f->s, f->now, l, SCHED_BEGAN_FREE);
	decide(f);
	assert_int_equal(sched_join(f->s, f->now, 2, 2, 1, NULL, &high), 0);
	f->t = high;
	launch(f, 3, 2);
	f->now += MS;
	decide(f);
	sched_shrunk(f->s, f->now, l);
}

static void each_input_is_recorded(void **state)
{
	struct fixture f;
	const char *text;

	begin(&f);
	call_all(&f);
	sched_destroy(f.s);
	f.s = NULL;
	text = recorded(&f);
#define RECORDED(name)                                                                 \
	if (SCHED_INPUT_##name != SCHED_INPUT_next && !has_line(text, "input", #name)) \
		fail_msg("%s is not recorded in\n%s", #name, text);
#define EVENT_0(subject, name, ...) RECORDED(name)
#define EVENT_1(subject, name, ...) RECORDED(name)
#define EVENT_2(subject, name, ...) RECORDED(name)
#define INPUT(name)                 RECORDED(name)
#include "sched/engine/events.def"
	assert_true(has_line(text, "input", "kernel"));
	assert_true(has_line(text, "action", "begin") && has_line(text, "action", "preempt"));
	end(&f);
}

/* Each line is read, and written again unchanged. */
static void reads_back(void **state)
{
	static struct sched_input_room room;
	char why[SCHED_INPUT_WHY];
	struct strbuf again = {0};
	struct sched_input in;
	unsigned lines = 0;
	struct fixture f;

	begin(&f);
	call_all(&f);
	recorded(&f);
	for (const char *at = f.text.at; *at; at = strchr(at, '\n') + 1, lines++) {
		size_t n = strcspn(at, "\n");

		assert_true(sched_input_is(at, n));
		if (sched_input_read(at, n, &room, &in, why) < 0)
			fail_msg("%s: %.*s", why, (int)n, at);
		strbuf_finish(&again);
		sched_input_write(&in, &again);
		/* the quotas of an action are not read */
		if (in.type != SCHED_INPUT_next)
			assert_memory_equal(again.at, at, n + 1);
	}
	assert_true(lines > 40);
	strbuf_finish(&again);
	end(&f);
}

static void nothing_new(void **state)
{
	struct fixture f;
	struct sched_launch *l;

	begin(&f);
	l = launch(&f, 1, 100);
	decide(&f);
	sched_arrive(f.s, f.now, l, SCHED_BEGAN_FREE);
	decide(&f);
	sched_progress(f.s, l, 10);
	sched_started(f.s, f.now, l, 200); /* more than its total */
	decide(&f);
	recorded(&f);
	sched_progress(f.s, l, 10);
	sched_progress(f.s, l, 9);
	sched_started(f.s, f.now, l, 300);
	sched_idle(f.s, f.now, l, false);
	sched_shrunk(f.s, f.now, l);
	sched_pin(f.s, f.t, false);
	sched_keep(f.s, f.t, false);
	sched_opaque(f.s, f.now, f.t, false, true);
	sched_copied(f.s, f.t, 0, 0);
	decide(&f);
	assert_string_equal(recorded(&f), "");
	end(&f);
}

/* Of several progress reports in a row, the journal has only the last, even if it was written to
 * the file between them. */
static void last_progress(void **state)
{
	static const char want[] =
		"{\"input\": \"started\", \"engine\": 1, \"t_ns\": 1000000000, \"tenant\": 1, "
		"\"launch\": 1, \"started\": 51}\n"
		"{\"input\": \"progress\", \"engine\": 1, \"tenant\": 1, \"launch\": 1, "
		"\"finished\": 50}\n"
		"{\"input\": \"pin\", \"engine\": 1, \"tenant\": 1, \"pinned\": true}\n";
	struct fixture f;
	struct sched_launch *l;

	begin(&f);
	l = launch(&f, 1, 100);
	decide(&f);
	sched_arrive(f.s, f.now, l, SCHED_BEGAN_FREE);
	decide(&f);
	sched_started(f.s, f.now, l, 1);
	recorded(&f);
	strbuf_finish(&f.text);
	for (unsigned i = 1; i <= 50; i++) {
		sched_started(f.s, f.now, l, i + 1);
		sched_progress(f.s, l, i);
		sched_journal_write(f.j, false, &f.text);
	}
	assert_int_equal(f.text.len, 0);
	sched_pin(f.s, f.t, true);
	assert_string_equal(recorded(&f), want);
	end(&f);
}

static unsigned count_lines(const char *text, const char *name)
{
	char line[64];
	unsigned n = 0;

	snprintf(line, sizeof(line), "{\"input\": \"%s\"", name);
	for (const char *at = text; (at = strstr(at, line)); at++)
		n++;
	return n;
}

/* The report of the first block on new SMs is journaled, because the engine computes from its time
 * how long the change took. The report of the last block is journaled because it requests a
 * decision. Reports between them are not. */
static void first_and_last_block(void **state)
{
	struct fixture f;
	struct sched_launch *l;
	const char *text;

	begin(&f);
	l = launch(&f, 1, 100);
	sched_arrive(f.s, f.now, l, SCHED_BEGAN_UNKNOWN);
	decide(&f); /* grants */
	recorded(&f);
	for (unsigned i = 1; i <= 5; i++)
		sched_started(f.s, f.now + i * MS, l, i);
	text = recorded(&f);
	assert_int_equal(count_lines(text, "started"), 2);
	assert_non_null(strstr(text, "\"started\": 1}"));
	assert_non_null(strstr(text, "\"started\": 5}"));
	f.now += 6 * MS;
	sched_started(f.s, f.now, l, 100);
	sched_progress(f.s, l, 1);
	sched_progress(f.s, l, 2);
	text = recorded(&f);
	assert_int_equal(count_lines(text, "started"), 1);
	assert_int_equal(count_lines(text, "progress"), 1);
	end(&f);
}

static void line_by_line(void **state)
{
	static const struct {
		const char *line, *why;
	} bad[] = {
		{"", "line: '{' expected"},
		{"{\"input\": \"nonsense\"}", "input: 'nonsense' is not known"},
		{"{\"input\": \"next\", \"engine\": 1}", "input: 'next' is not known"},
		{"{\"action\": \"give\"}", "action: 'give' is not known"},
		{"{\"input\": \"pin\"}", "engine: ',' expected"},
		{"{\"input\": \"pin\", \"engine\": -1}",
			"engine: a number from 0 to 4294967295 expected"},
		{"{\"input\": \"pin\", \"engine\": 4294967296",
			"engine: a number from 0 to 4294967295 expected"},
		{"{\"input\": \"pin\", \"engine\": 1, \"tenant\": 1, \"pinned\": 1}",
			"pinned: true or false expected"},
		{"{\"input\": \"pin\", \"engine\": 1, \"tenant\": 1, \"pinned\": true",
			"end of the object: '}' expected"},
		{"{\"input\": \"pin\", \"engine\": 1, \"tenant\": 1, \"pinned\": true} x",
			"text after the end of the object"},
		{"{\"input\": \"pin\", \"engine\": 1, \"launch\": 1, \"pinned\": true}",
			"\"tenant\" expected"},
		{"{\"input\": \"progress\", \"engine\": 1, \"tenant\": 1, \"launch\": 1, "
		 "\"finished\": "
		 "99999999999999999999}",
			"finished: a number from 0 to 18446744073709551615 expected"},
		{"{\"input\": \"forget\", \"kernel\": \"12\"}",
			"kernel: 16 hexadecimal digits expected"},
		{"{\"input\": \"for", "input: its text does not end"},
		{"{\"input\": \"\\u0000\"}", "input: bad character"},
		{"{\"input\": \"0123456789012345678901234\"}", "input: its text is too long"},
		{"{\"input\": \"learn\", \"engine\": 1, \"kernel\": \"0000000000000001\", "
		 "\"total\": 5, "
		 "\"unranked\": false, \"counts\": 0, \"threads\": 1, \"regs\": 0, "
		 "\"shared_bytes\": 0, "
		 "\"workers_per_sm\": 0, \"stream_priority\": 0, \"input\": [nan], \"ran_ns\": 1}",
			"input: a number expected"},
		{"{\"input\": \"learn\", \"engine\": 1, \"kernel\": \"0000000000000001\", "
		 "\"total\": 5, "
		 "\"unranked\": false, \"counts\": 0, \"threads\": 1, \"regs\": 0, "
		 "\"shared_bytes\": 0, "
		 "\"workers_per_sm\": 0, \"stream_priority\": 0, \"input\": [-1], \"ran_ns\": 1}",
			"input: a number from 0 to 1e18 expected"},
		{"{\"input\": \"learn\", \"engine\": 1, \"kernel\": \"0000000000000001\", "
		 "\"total\": 5, "
		 "\"unranked\": false, \"counts\": 0, \"threads\": 1, \"regs\": 0, "
		 "\"shared_bytes\": 0, "
		 "\"workers_per_sm\": 0, \"stream_priority\": 0, "
		 "\"input\": [1,2,3,4,5,6,7,8,9,10,11,12,13], \"ran_ns\": 1}",
			"input: more than 12 elements"},
	};
	static const char blanks[] = "{\"input\":\"destroy\",\t\"engine\" : 3 } ";
	static struct sched_input_room room;
	char why[SCHED_INPUT_WHY];
	struct sched_input in;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(
			sched_input_read(bad[i].line, strlen(bad[i].line), &room, &in, why),
			-EINVAL);
		assert_string_equal(why, bad[i].why);
	}
	/* Blanks do not matter. */
	assert_int_equal(sched_input_read(blanks, strlen(blanks), &room, &in, why), 0);
	assert_int_equal(in.engine, 3);
}

/* A kernel's record, which may come from a file, is journaled when the kernel gets its number, and
 * again if a better record replaces it. After replay it gives the same predictions. */
static void kernels(void **state)
{
	struct sched_shape shape = {.kernel = 1, .total = 30, .threads = 64, .n_sms = 4};
	static struct sched_input_room room;
	static struct duration_kernel kept;
	char why[SCHED_INPUT_WHY];
	struct durations *other;
	struct sched_input in;
	struct fixture f;
	const char *text;

	begin(&f);
	text = recorded(&f);
	assert_true(has_line(text, "input", "kernel"));
	assert_null(strstr(text, "shapes")); /* the kernel has no measurements */
	shape.kernel = f.kernel;
	for (unsigned i = 1; i < 20; i++) {
		shape.total = 30 + i % 7;
		shape.input[1] = (float)i / 3;
		model_durations.learn(f.d, &shape, 1000 * MS + i, false);
		model_durations.learn_cost(f.d, f.kernel, i);
		model_durations.learn_curve(f.d, &shape, 3, 7, 1000 + i);
	}
	assert_int_equal(durations_changed(f.d, &kept, 1), 1);
	assert_string_equal(recorded(&f), "");
	kept.launches++; /* as if a file had more launches of this kernel */
	assert_int_equal(durations_restore(f.d, &kept), 0);
	text = recorded(&f);
	assert_int_equal(sched_input_read(text, strcspn(text, "\n"), &room, &in, why), 0);
	assert_int_equal(durations_create(&other), 0);
	assert_int_equal(durations_put(other, in.kernel), 0);
	for (unsigned i = 1; i < 60; i++) {
		shape.total = 30 + i;
		shape.input[1] = (float)i / 7;
		assert_int_equal(model_durations.predict(other, &shape),
			model_durations.predict(f.d, &shape));
	}
	assert_int_equal(
		model_durations.cost(other, f.kernel, 0), model_durations.cost(f.d, f.kernel, 0));
	/* Other kernels displace it from the records. */
	for (unsigned i = 0; i < DURATION_KERNELS; i++)
		durations_number(f.d, &owner, 1000 + i, "k");
	assert_true(f.full > 0);
	assert_true(has_line(f.text.at, "input", "forget"));
	durations_forget(other, f.kernel);
	assert_int_equal(model_durations.predict(other, &shape), SCHED_UNKNOWN);
	durations_destroy(other);
	end(&f);
}

static void stops(void **state)
{
	struct fixture f;

	begin(&f);
	sched_journal_stop(f.j);
	call_all(&f);
	assert_string_equal(recorded(&f), "");
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_input_is_recorded),
		cmocka_unit_test(reads_back),
		cmocka_unit_test(nothing_new),
		cmocka_unit_test(last_progress),
		cmocka_unit_test(first_and_last_block),
		cmocka_unit_test(line_by_line),
		cmocka_unit_test(kernels),
		cmocka_unit_test(stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
