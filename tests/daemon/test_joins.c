/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that programs that join one after another share passes. A pass is the part of the loop that
 * reads every tenant's page. Other events that need a pass get it in the same turn. The server's
 * connections and loop are the real ones. Whenever the clock is read, it advances by the time that
 * the test sets. */
#include "unit.h"

#include "daemon/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define JOINS    64u
#define STEP_NS  10000u
#define LONG_NS  1000000u
#define SHORT_NS 10u

struct world {
	struct server s;
	struct hd_config config;
	int sock[JOINS];
	uint64_t now, step_ns;
};

static uint64_t read_clock(void *user)
{
	struct server *s = user;
	struct world *w = CONTAINER_OF(s, struct world, s);

	return w->now += w->step_ns;
}

static void start(struct world *w)
{
	struct hd_io io = {read_clock, conn_wake, &w->s};

	hd_log_set_level(HD_LOG_ERROR);
	*w = (struct world){.now = 1000000000, .step_ns = STEP_NS};
	w->config = (struct hd_config){.policy = &sched_policy_hpf,
		.max_tenants = JOINS,
		.user_tenants = JOINS,
		.user_connections = JOINS,
		.silence_ns = UINT64_MAX};
	w->s = (struct server){.config = &w->config,
		.max_conns = JOINS,
		.expiry_ns = UINT64_MAX,
		.listener.fd = -1,
		.epoll = epoll_create1(EPOLL_CLOEXEC)};
	assert_true(w->s.epoll >= 0);
	assert_int_equal(hd_create(&w->config, &io, &w->s.hd), 0);
}

/* Handles all pending events. Returns the time until the next turn. */
static uint64_t turn(struct world *w)
{
	uint64_t next;

	assert_int_equal(loop_turn(&w->s, true, &next), 0);
	return next;
}

static uint64_t join_one(struct world *w, unsigned i)
{
	struct wire_hello h = {.priority = 1, .weight = 1, .n_sms = 4};
	int ends[2], fds[3];
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	unsigned n = 0;
	uint64_t next;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	conn_add(&w->s, ends[1]);
	wire_head_init(&h.head, WIRE_HELLO, sizeof(h));
	snprintf(h.device, sizeof(h.device), "GPU");
	assert_int_equal(wire_send(ends[0], &h, NULL, 0), 0);
	next = turn(w);
	assert_true(wire_recv(ends[0], msg, sizeof(msg), fds, 3, &n) > 0);
	/* a welcome with its descriptors, whether or not there was a pass */
	assert_int_equal(n, 3);
	for (unsigned k = 0; k < n; k++)
		close(fds[k]);
	w->sock[i] = ends[0];
	return next;
}

static uint64_t decisions(struct world *w)
{
	struct wire_status st;

	hd_status(w->s.hd, &st);
	return st.decisions;
}

static void finish(struct world *w)
{
	uint64_t next;

	for (unsigned i = 0; i < JOINS; i++)
		close(w->sock[i]);
	while (w->s.conns)
		assert_int_equal(loop_turn(&w->s, false, &next), 0);
	hd_destroy(w->s.hd);
	close(w->s.epoll);
}

static void joins_share_passes(void **state)
{
	struct world w;
	uint64_t before, next = 0;

	(void)state;
	start(&w);
	for (unsigned i = 0; i < JOINS; i++)
		next = join_one(&w, i);
	before = decisions(&w);
	print_message("%u joins, %u decisions\n", JOINS, (unsigned)before);
	/* Each reading of the clock advances it, so that about every second join finds a pass
	 * due. */
	assert_true(before >= 1 && before <= JOINS * 3 / 4);
	/* The daemon runs the pass for the last joins soon. */
	assert_true(next <= 10000000);
	w.now += next;
	assert_int_equal(loop_turn(&w.s, false, &next), 0);
	assert_int_equal(decisions(&w), before + 1);
	finish(&w);
}

/* After a slow pass, a tenant has joined and waits for its pass. */
static void until_one_waits(struct world *w)
{
	uint64_t before;

	start(w);
	w->step_ns = LONG_NS;
	join_one(w, 0);
	w->step_ns = SHORT_NS;
	before = decisions(w);
	join_one(w, 1);
	assert_int_equal(decisions(w), before);
	for (unsigned i = 2; i < JOINS; i++)
		w->sock[i] = -1;
}

static void others_do_not_wait(void **state)
{
	struct world w;
	uint64_t before;
	struct wire_set set = {.tenant = 1, .priority = 0, .weight = 1};
	int ends[2];

	(void)state;
	/* a tenant leaves */
	until_one_waits(&w);
	before = decisions(&w);
	close(w.sock[0]);
	w.sock[0] = -1;
	turn(&w);
	assert_int_equal(decisions(&w), before + 1);
	finish(&w);
	/* a tenant's priority is set */
	until_one_waits(&w);
	before = decisions(&w);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	conn_add(&w.s, ends[1]);
	wire_head_init(&set.head, WIRE_SET, sizeof(set));
	assert_int_equal(wire_send(ends[0], &set, NULL, 0), 0);
	turn(&w);
	assert_int_equal(decisions(&w), before + 1);
	close(ends[0]);
	finish(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_share_passes),
		cmocka_unit_test(others_do_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
