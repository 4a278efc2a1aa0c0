/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A device and its tenants in virtual time, under the scheduling engine itself: blocks are
 * dispatched first come, first served (tenants of higher priority first), a worker holds its place
 * on an SM until it meets its quota or runs out of tickets, words reach workers after the relay's
 * delay, tenants answer a grant with new workers after a delay of their own. Streams run in order.
 * With numbering=own tenants number SMs by themselves, as under MPS (sched/engine.h, renumbered).
 * Everything that happens is one line of a trace. No threads: one simulation, one caller. */
#ifndef HEDDLE_SIM_SIM_H
#define HEDDLE_SIM_SIM_H

#include "sched/sched.h"

#define SIM_NAME_MAX 31
/* Of an SM; a worker takes 1 / workers_per_sm of it. The engine sees it as shared memory. */
#define SIM_CAPACITY 55440u
#define SIM_THREADS  2048u /* likewise */

struct sim;
struct sim_tenant;
struct sim_launch {
	struct sim_launch *next;   /* in the order in which they were made */
	struct sim_launch *behind; /* the one that was submitted next to the same stream */
	struct sim_launch *again;  /* the launch that this one is repeated as, once it is done */
	struct sim_tenant *tenant;
	struct sched_launch *handle;
	char name[SIM_NAME_MAX + 1];
	uint64_t id, kernel, total, block_ns,
		before_ns; /* before: a copy ahead of it in the stream */
	uint32_t wps, stream, stream_priority, count;
	uint32_t use; /* percent of an SM's bottleneck that a block needs to take block_ns */
	uint64_t gap_ns;
	/* done: of the last block, or when its program left. */
	uint64_t submit_ns, done_ns, ticket, finished, said;
	uint32_t present, drains, answered, preemptions;
	uint64_t word, applied; /* the last word to it, and the last one that reached it; 0: none */
	/* Time since submission without a worker on the device; up to when that is counted. */
	uint64_t waited_ns, wait_since_ns;
	uint32_t line; /* of the file that it is from; 0: none */
	bool started, arrived, done, granted, answering;
	bool repeated; /* made by the end of another launch, whose again it is */
	uint8_t quota[CTL_MAX_SMS], on_sm[CTL_MAX_SMS], used_sm[CTL_MAX_SMS];
};

/* Launches of one stream that are submitted and not done; only the first can have workers. */
struct sim_stream {
	struct sim_stream *next;
	uint32_t id;
	struct sim_launch *first, *last;
};

/* From t on the tenant has blocks on so many SMs. */
struct sim_stay {
	uint64_t t;
	uint32_t sms;
};

struct sim_tenant {
	struct sim_tenant *next; /* in the order in which they were made */
	struct sim_stream *streams;
	struct sched_tenant *handle;
	char name[SIM_NAME_MAX + 1];
	int priority;
	uint32_t weight;
	bool hold, gone;
	uint8_t begin[CTL_MAX_SMS]; /* what its launches begin with */
	uint32_t n_begin;           /* SMs of that */
	/* Workers of all its launches; its numbers of SMs plus one, 0: none yet. */
	uint32_t present, n_numbers, number[CTL_MAX_SMS];
	uint32_t on_sm[CTL_MAX_SMS], sms; /* its workers on each SM; SMs that have any */
	VEC(struct sim_stay) stays;       /* where struct sim keeps them */
	uint64_t next_id;
};

struct sim_event {
	uint64_t t, order;
	void (*fn)(struct sim *s, const struct sim_event *e);
	struct sim_launch *l;
	struct sim_tenant *tenant;
	uint32_t n, sm;
	uint64_t value;
	uint32_t line;  /* of the file that it is from; 0: none */
	uint8_t *quota; /* CTL_MAX_SMS of them, the event's own; NULL */
};

struct sim_round {
	struct sim_launch *l;
	uint32_t workers;
};

struct sim {
	struct sched *sched;
	const struct sched_policy *policy;
	char policy_options[SCHED_POLICY_OPTIONS]; /* where the policy is one of the engine's own */
	struct sched_options o;
	uint64_t now, order, end, relay_ns, relaunch_ns;
	struct sim_tenant *tenants, **last_tenant;
	struct sim_launch *launches, **last;
	/* Made before the run: a list, in order of time from its start on. Made during it: a heap.
	 */
	VEC(struct sim_event) planned, events;
	size_t next_planned;
	bool running;
	VEC(struct sim_round) rounds;
	uint32_t free[CTL_MAX_SMS];
	bool quiet; /* no trace is written */
	bool keeps_stays;
	char name[64]; /* of the device; "": none was given */
	struct strbuf trace;
	/* After each event; NULL: nobody looks. May change nothing. */
	void (*watch)(const struct sim *s, void *user);
	void *watch_user;
	uint32_t next_sm;    /* where the dispatcher looks first */
	uint32_t words;      /* told of launches */
	uint64_t occupied;   /* of SIM_CAPACITY, over all SMs */
	double busy_ns;      /* SM-time that workers have occupied until now */
	int status;          /* 0, or the negative errno that ends the run */
	uint32_t error_line; /* of the file, where error[] says what is wrong; 0: no line */
	char error[200];
};

/* A device of 4 SMs under policy hpf, and no end. Free it with sim_finish. */
void sim_init(struct sim *s);
void sim_finish(struct sim *s);
/* Adds an event at time t, ns; the event's quota belongs to s from here on. Failure: status. */
void sim_at(struct sim *s, uint64_t t, struct sim_event e);
/* Runs until nothing is left to happen, or past s->end. 0; -ENOMEM; -EINVAL: a line of the file
 * asks for what cannot be (error_line, error). */
int sim_run(struct sim *s);
/* By name; NULL: none. What they return belongs to s. */
struct sim_tenant *sim_tenant(struct sim *s, const char *name);
struct sim_launch *sim_launch(struct sim *s, struct sim_tenant *t, const char *name);
/* Name is copied, at most SIM_NAME_MAX bytes of it. NULL: out of memory. */
struct sim_tenant *sim_new_tenant(struct sim *s, const char *name);
struct sim_launch *sim_new_launch(struct sim *s, struct sim_tenant *t, const char *name);
/* What events do: fn of a struct sim_event. */
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
/* "0-3,5", or "none": those of n SMs that are not 0. */
void sim_sms_text(const uint8_t *sms, uint32_t n, char *ret, size_t max);

#endif
