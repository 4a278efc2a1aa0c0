/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Simulates a device and its tenants in virtual time, with the real scheduling engine. The device
 * places blocks in the order of their arrival, but those of tenants with higher priority first. A
 * worker stays on its SM until its quota excludes it or no tickets are left. New quotas reach the
 * workers after the relay's delay. When a launch gets SMs, its tenant launches new workers after
 * another delay. The launches of a stream run in order. With numbering=own each tenant numbers the
 * SMs itself, as under MPS (sched/engine/tenant.h, renumbered). Events write lines of a trace,
 * unless `quiet` is set. There are no threads: a simulation has one caller. */
#ifndef HEDDLE_SIM_SIM_H
#define HEDDLE_SIM_SIM_H

#include "sched/engine/sched.h"
#include "sched/model/durations.h"

#define SIM_NAME_MAX 31
/* Capacity of an SM. A worker takes 1 / workers_per_sm of it. For the engine, this is the SM's
 * shared memory. */
#define SIM_CAPACITY 55440u
#define SIM_THREADS  2048u /* number of threads that fit on an SM */

struct sim;
struct sim_tenant;
struct sim_launch {
	struct sim_launch *next;   /* in order of creation */
	struct sim_launch *behind; /* the next launch submitted to the same stream */
	struct sim_launch *again;  /* the launch that repeats this one after this one has ended */
	struct sim_tenant *tenant;
	struct sched_launch *handle;
	char name[SIM_NAME_MAX + 1];
	uint64_t id, kernel, total, block_ns,
		before_ns; /* duration of the copy that precedes it in the stream */
	uint32_t wps, stream, stream_priority, count;
	/* percentage of an SM's bottleneck resource that a block needs in order to run in
	 * block_ns */
	uint32_t use;
	uint64_t gap_ns;
	/* done_ns: end of its last block, or the time when its program left. */
	uint64_t submit_ns, done_ns, ticket, finished, said;
	uint32_t present, drains, answered, preemptions;
	/* word: number of the last quota update that was sent to the launch. applied: number of the
	 * last one that has reached the launch's workers. 0: none. */
	uint64_t word, applied;
	/* waited_ns: total time since submission without a worker on the device. wait_since_ns:
	 * start of the period without workers that is not yet in that total. */
	uint64_t waited_ns, wait_since_ns;
	uint32_t line; /* its line in the file; 0: none */
	bool started, arrived, done, granted, answering;
	bool repeated; /* created as the `again` of another launch, when that one ended */
	uint8_t quota[CTL_MAX_SMS], on_sm[CTL_MAX_SMS], used_sm[CTL_MAX_SMS];
};

/* The launches of one stream that are submitted and not done. Only the first of them can have
 * workers. */
struct sim_stream {
	struct sim_stream *next;
	uint32_t id;
	struct sim_launch *first, *last;
};

/* From time t on, the tenant has blocks on this many SMs. */
struct sim_stay {
	uint64_t t;
	uint32_t sms;
};

struct sim_tenant {
	struct sim_tenant *next; /* in order of creation */
	struct sim_stream *streams;
	struct sched_tenant *handle;
	char name[SIM_NAME_MAX + 1];
	int priority;
	uint32_t weight;
	bool hold, gone;
	uint8_t begin[CTL_MAX_SMS]; /* quotas with which its new launches begin */
	uint32_t n_begin;           /* number of SMs with a quota in `begin` */
	/* present: number of workers of all its launches. number: the tenant's own number of each
	 * SM, plus one; 0: none yet. */
	uint32_t present, n_numbers, number[CTL_MAX_SMS];
	uint32_t on_sm[CTL_MAX_SMS], sms; /* its workers on each SM; number of SMs that have any */
	VEC(struct sim_stay) stays;       /* recorded only if keeps_stays is set */
	uint64_t next_id;
};

struct sim_event {
	uint64_t t, order;
	void (*fn)(struct sim *s, const struct sim_event *e);
	struct sim_launch *l;
	struct sim_tenant *tenant;
	uint32_t n, sm;
	uint64_t value;
	uint32_t line;  /* its line in the file; 0: none */
	uint8_t *quota; /* CTL_MAX_SMS bytes that the event owns, or NULL */
};

struct sim_round {
	struct sim_launch *l;
	uint32_t workers;
};

struct sim {
	struct sched *sched;
	/* the engine's model, as in heddled; created with the engine */
	struct durations *durations;
	const struct sched_policy *policy;
	char policy_options[SCHED_POLICY_OPTIONS]; /* used only with the built-in policies */
	struct sched_options o;
	uint64_t now, order, end, relay_ns, relaunch_ns;
	struct sim_tenant *tenants, **last_tenant;
	struct sim_launch *launches, **last;
	/* planned: events created before the run, sorted by time when it starts. events: a heap of
	 * the events created during the run. */
	VEC(struct sim_event) planned, events;
	size_t next_planned;
	bool running;
	VEC(struct sim_round) rounds;
	uint32_t free[CTL_MAX_SMS];
	bool quiet; /* writes no trace */
	bool keeps_stays;
	char name[64]; /* name of the device; "": it has none */
	struct strbuf trace;
	/* Called after each event; it must not change the simulation. NULL: none. */
	void (*watch)(const struct sim *s, void *user);
	void *watch_user;
	uint32_t next_sm;    /* SM at which the dispatcher starts its next search */
	uint32_t words;      /* number of control words sent so far */
	uint64_t occupied;   /* occupied capacity of all SMs; SIM_CAPACITY is one full SM */
	double busy_ns;      /* SM time that workers have occupied so far */
	int status;          /* 0, or a negative errno that ends the run */
	uint32_t error_line; /* line of the file that error[] is about; 0: no line */
	char error[200];
};

/* Initializes a simulation of a device with 4 SMs, the policy hpf, and no end time. Free it with
 * sim_finish. */
void sim_init(struct sim *s);
void sim_finish(struct sim *s);
/* Adds an event at time t (ns). Takes ownership of the event's quota. Sets the simulation's status
 * on failure. */
void sim_at(struct sim *s, uint64_t t, struct sim_event e);
/* Runs until no events are left, or until s->end has passed. Returns 0, -ENOMEM, or -EINVAL if a
 * line of the file is not possible (error_line, error). */
int sim_run(struct sim *s);
/* Find a tenant or a launch by name. Return NULL if there is none. s owns the result. */
struct sim_tenant *sim_tenant(struct sim *s, const char *name);
struct sim_launch *sim_launch(struct sim *s, struct sim_tenant *t, const char *name);
/* Creates a tenant or a launch. Copies at most SIM_NAME_MAX bytes of the name. Returns NULL if
 * memory is exhausted. */
struct sim_tenant *sim_new_tenant(struct sim *s, const char *name);
struct sim_launch *sim_new_launch(struct sim *s, struct sim_tenant *t, const char *name);
/* Handlers of events: fn of a struct sim_event. */
void sim_join(struct sim *s, const struct sim_event *e);
void sim_submit(struct sim *s, const struct sim_event *e);
void sim_leave(struct sim *s, const struct sim_event *e);
void sim_priority(struct sim *s, const struct sim_event *e); /* n: the new priority */
void sim_weight(struct sim *s, const struct sim_event *e);   /* n: the new weight */
/* Returns the SM time of the finished blocks of the tenant's launches, in ns. */
double sim_work(const struct sim *s, const struct sim_tenant *t);
void sim_opaque(struct sim *s, const struct sim_event *e);
void sim_copied(struct sim *s, const struct sim_event *e);
/* n: 1 if the pool has no tasks, 0 if it has some. */
void sim_idle(struct sim *s, const struct sim_event *e);
void sim_pin(struct sim *s, const struct sim_event *e); /* n: 1 pins, 0 unpins */
/* Writes the numbers of the SMs whose value in sms[0, n) is not 0, for example "0-3,5", or
 * "none". */
void sim_sms_text(const uint8_t *sms, uint32_t n, char *ret, size_t max);

#endif
