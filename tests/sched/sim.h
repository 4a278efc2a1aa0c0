/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A device and its tenants in virtual time, for scenarios of the scheduling engine: blocks are
 * dispatched first come, first served (tenants of higher priority first), a worker holds its place
 * on an SM until it meets its quota or runs out of tickets, words reach workers after the relay's
 * delay, tenants answer a grant with new workers after a delay of their own. Streams run in order.
 * With numbering=own tenants number SMs by themselves, as under MPS (sched/engine.h, renumbered).
 * Everything that happens is one line of a trace. */
#ifndef HEDDLE_TESTS_SIM_H
#define HEDDLE_TESTS_SIM_H

#include "sched/sched.h"

#define SIM_CAPACITY 55440u /* of an SM; a worker takes 1 / workers_per_sm of it */

struct sim;
struct sim_tenant;
struct sim_launch {
	struct sim_launch *next; /* in the order of submission */
	struct sim_tenant *tenant;
	struct sched_launch *handle;
	char name[32];
	uint64_t id, kernel, total, block_ns,
		before_ns; /* before: a copy ahead of it in the stream */
	uint32_t wps, stream, stream_priority, count;
	uint64_t gap_ns;
	uint64_t submit_ns, done_ns, ticket, finished, said;
	uint32_t present, drains, answered, preemptions;
	bool started, arrived, done, granted, answering;
	uint8_t quota[CTL_MAX_SMS], on_sm[CTL_MAX_SMS], used_sm[CTL_MAX_SMS];
};

struct sim_tenant {
	struct sim_tenant *next;
	struct sched_tenant *handle;
	char name[32];
	int priority;
	uint32_t weight;
	bool hold, gone;
	uint8_t begin[CTL_MAX_SMS]; /* what its launches begin with */
	uint32_t n_begin;           /* SMs of that */
	/* Workers of all its launches; its numbers of SMs plus one, 0: none yet. */
	uint32_t present, n_numbers, number[CTL_MAX_SMS];
	uint64_t next_id;
};

struct sim_event {
	uint64_t t, order;
	void (*fn)(struct sim *s, const struct sim_event *e);
	struct sim_launch *l;
	struct sim_tenant *tenant;
	uint32_t n, sm;
	uint64_t value;
	uint8_t quota[CTL_MAX_SMS];
};

struct sim_round {
	struct sim_launch *l;
	uint32_t workers;
};

struct sim {
	struct sched *sched;
	const struct sched_policy *policy;
	struct sched_options o;
	uint64_t now, order, end, relay_ns, relaunch_ns;
	struct sim_tenant *tenants;
	struct sim_launch *launches, **last;
	VEC(struct sim_event) events;
	VEC(struct sim_round) rounds;
	uint32_t free[CTL_MAX_SMS];
	struct strbuf trace;
	uint32_t next_sm; /* where the dispatcher looks first */
	uint32_t words;   /* told of launches */
	char error[200];
};

void sim_init(struct sim *s);
void sim_finish(struct sim *s);
void sim_at(struct sim *s, uint64_t t, struct sim_event e);
void sim_run(struct sim *s);
struct sim_tenant *sim_tenant(struct sim *s, const char *name);
struct sim_launch *sim_launch(struct sim *s, struct sim_tenant *t, const char *name);
struct sim_launch *sim_new_launch(struct sim *s, struct sim_tenant *t, const char *name);
/* Things that commands do. */
void sim_join(struct sim *s, const struct sim_event *e);
void sim_submit(struct sim *s, const struct sim_event *e);
void sim_leave(struct sim *s, const struct sim_event *e);
void sim_priority(struct sim *s, const struct sim_event *e); /* n: another one */
void sim_weight(struct sim *s, const struct sim_event *e);   /* n: another one */
/* SM-time of the blocks of its launches that have finished, ns. */
double sim_work(const struct sim *s, const struct sim_tenant *t);
void sim_opaque(struct sim *s, const struct sim_event *e);
void sim_copied(struct sim *s, const struct sim_event *e);
void sim_idle(struct sim *s, const struct sim_event *e); /* n: on */
void sim_pin(struct sim *s, const struct sim_event *e);  /* n: on */
void sim_sms_text(const uint8_t *sms, uint32_t n, char *ret, size_t max);

#endif
