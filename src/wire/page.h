/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The page that a tenant, the daemon and the tenant's GPU work share: one sealed memfd for each
 * tenant. The daemon creates it and passes it with WELCOME; the shim registers it with the
 * driver, so that relays can read it. The page keeps the uncontended path free of system calls:
 * the tenant fills a slot, and kicks the daemon's eventfd only while `watch` is set. A tenant
 * keeps its page for life, because its launches report into it. If the daemon dies, the tenant
 * passes the page to the next one with HELLO.
 *
 * Every field has one writer, named beside it. The daemon trusts no value of the page: it copies
 * and bounds each one before use. Words are accessed with C11 atomics (__atomic builtins).
 * Storing `state` with release publishes the fields of a slot. */
#ifndef HEDDLE_PAGE_H
#define HEDDLE_PAGE_H

#include "ctl/control.h"

#define WIRE_PAGE_MAGIC   0x6864706cu
#define WIRE_PAGE_VERSION 9u
#define WIRE_SLOTS        256u
#define WIRE_INPUTS       12u /* sizes of a launch's inputs */

/* The states of a slot; each launch of the tenant passes through them once. doc/protocol.md says
 * who stores each state, and how long it lasts. The daemon identifies a launch by its id: if a
 * slot has another id, the tenant gave the slot up and took it again in the meantime. */
enum wire_slot_state {
	WIRE_SLOT_FREE = 0,
	/* launched, or queued in its stream; host.arrived says when the launch begins */
	WIRE_SLOT_SUBMITTED = 1,
	/* the tenant has finished with the slot; the daemon forgets it and sets FREE */
	WIRE_SLOT_CLOSED = 2,
};

/* How a launch ran. */
enum wire_outcome {
	WIRE_MANAGED, /* by workers that take blocks */
	WIRE_GUARD,   /* each hardware block checks the quotas before it starts */
	WIRE_GATED,   /* unchanged, after a gate in its stream */
	WIRE_PLAIN,   /* unchanged, though other launches of its kernel may be managed */
	WIRE_OPAQUE,  /* unchanged, like all launches of its kind */
	WIRE_UNSEEN,  /* unchanged: its module was loaded without the shim's knowledge */
	WIRE_OUTCOMES
};
/* The reason of the outcome. Each reason belongs to one outcome (reasons.def). */
enum wire_reason {
#define REASON(id, outcome, name, text) WIRE_WHY_##id,
#include "wire/reasons.def"
#undef REASON
	WIRE_REASONS
};
extern const char *const wire_outcome_names[WIRE_OUTCOMES]; /* "managed" ... */
extern const struct wire_reason_row {
	enum wire_outcome outcome;
	const char *name, *text;
} wire_reason_rows[WIRE_REASONS];
/* Sums the launches of each outcome from those of each reason. Returns the total. */
uint64_t wire_outcomes(
	const uint64_t launched[WIRE_REASONS], uint64_t ret_by_outcome[WIRE_OUTCOMES]);
/* Writes the key "reasons": an array of reason, outcome and launches, without reasons that have
 * none. */
struct json;
void wire_reasons_json(const uint64_t launched[WIRE_REASONS], struct json *j);

/* One managed launch. */
struct wire_slot {
	/* the daemon writes seq and quota (the shim, after the daemon died); the GPU writes the
	 * rest */
	struct ctl_host host;
	/* tenant */
	uint32_t state;     /* also daemon: CLOSED -> FREE */
	uint32_t gen;       /* ctl_args.gen */
	uint64_t id;        /* of the launch in this tenant, increasing */
	uint64_t kernel;    /* hash of the kernel's code: equal kernels have equal hashes */
	uint64_t total;     /* blocks */
	uint64_t submit_ns; /* CLOCK_MONOTONIC of the program's call */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;   /* of a block, static and dynamic */
	uint32_t regs;           /* of a thread */
	uint32_t workers_per_sm; /* most workers of the launch on an SM */
	/* worker launches made for it so far: the original one and resumes */
	uint32_t launches;
	/* of its stream within the tenant: 0 is the default, higher goes first */
	uint32_t priority;
	uint32_t guard; /* 1: the guard form (ctl/control.h); 0: workers */
	char name[64];  /* the kernel's, truncated, NUL-terminated */
	/* daemon */
	/* 1: the launch may run; 0: it is held or preempted. This is a level, not an edge: while
	 * it is 1, the launch has a word of its own and is not done, each increment of
	 * host.drains that the tenant has not answered yet requires one more round of workers. */
	uint32_t granted;
	uint32_t preemptions; /* so far, of this launch */
	/* Increases from launch to launch, when a launch gets SMs back while some of its workers
	 * may still be there. After the launch has arrived, each increment also requires one
	 * more round of workers; workers without room leave at once. */
	uint32_t grow;
	/* tenant */
	/* 1: a pool of tasks without a task. All other launches go first, and it does not count
	 * as stalled. Kick after each change while watch is set. */
	uint32_t idle;
	uint32_t claim; /* blocks that a worker claims at a time */
	/* The size of its inputs, for each parameter in order: the bytes of the allocation that
	 * a pointer refers to, or the value of an integer; 0: not known. */
	float input[WIRE_INPUTS];
	/* daemon */
	/* stored before grow: hardware blocks of the round; 0: as many as fit on the device */
	uint32_t newcomers;
	/* tenant */
	/* in all its worker grids so far; 0: the shim does not count them */
	uint32_t hardware_blocks;
	/* guard form: bit n is 1 if the launch can be kept to n blocks on an SM, fewer than fit;
	 * 0: only quota 0 is a bound */
	uint32_t counts;
	/* guard form: the count that padding gives to its last grid or to the next one;
	 * CTL_NO_QUOTA: not padded */
	uint32_t padded;
	uint32_t pad[5];
};

/* Launches beyond the submitted ones that may begin while nothing is held. */
#define WIRE_FAR_AHEAD (1u << 30)

struct wire_page {
	uint32_t magic, version, bytes, n_slots; /* the daemon, before WELCOME */
	uint32_t tenant, priority, weight, pad0;
	uint32_t pad1[24];
	/* daemon -> tenant */
	/* 1: kick on every submission. Check this after publishing the slot. Launches made while
	 * `begin` is set kick in any case, because `begin` may be about to change; so do
	 * launches of a higher priority than others of the program. */
	uint32_t watch;
	/* 1: the tenant is held. Opaque launches wait in the launch call on this word (futex) or
	 * at their gate; managed ones begin with the quotas of `begin`. */
	uint32_t hold;
	uint32_t seq; /* increases with each change for the tenant: hold, granted (futex) */
	/* CLOCK_MONOTONIC ms of the daemon's last turn, at least every 200 ms while a tenant is
	 * held or preempted */
	uint32_t alive_ms;
	/* 1: other tenants wait for opaque work. Kick when it begins and ends, and keep
	 * opaque_completed current. */
	uint32_t follow;
	/* 1: waking a sleeping thread takes as long as a hand-over. Poll for a while when a
	 * launch waits for a grant. */
	uint32_t slow_wake;
	uint32_t pinned; /* the value of pin that is in effect */
	uint32_t gates;  /* 1: launches may wait in their streams: */
	/* Opaque launches up to this number (as opaque_submitted counts them) may begin; streams
	 * wait for it. The shim writes it after the daemon died. */
	uint32_t allowed;
	/* Limit for the total time of opaque launches in flight, as far as the tenant knows it.
	 * Beyond the limit the next launch waits in its call. One launch may always be in
	 * flight. 0: no limit. */
	uint32_t bound_us;
	/* Totals of this tenant's life, for readers of the page after the tenant's end. */
	uint64_t waited_ns; /* time that arrived launches waited for others, */
	uint64_t ran_ns;    /* and time that they ran, as far as the daemon saw it */
	uint64_t preempted; /* number of preemptions */
	uint32_t left;      /* 1: the tenant has left, and these totals are final */
	uint32_t pad2;
	uint64_t joined_ns; /* CLOCK_MONOTONIC of its first HELLO; 0: not yet */
	/* shared memory's part of an SM's memory for managed kernels, in percent; 0: as the
	 * program or the driver chooses */
	uint32_t carveout;
	uint32_t pad3[11];
	/* tenant -> daemon */
	/* launches of opaque work: kernels, graphs, … (increasing, wraps) */
	uint32_t opaque_submitted;
	/* completed ones as far as known; current only while follow is set */
	uint32_t opaque_completed;
	uint32_t opaque_waiting; /* threads that wait in a launch call because of hold */
	uint32_t pad4;
	uint64_t kick_ns; /* CLOCK_MONOTONIC of the last kick */
	/* Increases; odd: a driver call waits for running launches, and holds a lock that a
	 * resume would need, so none of them may be preempted. Kick after each change, and wait
	 * for pinned. */
	uint32_t pin;
	/* opaque_submitted at the time that the program last began to wait */
	uint32_t opaque_waited;
	/* CLOCK_MONOTONIC of copies between host and device: of the first one since the last
	 * launch, and of the last one. Current only while watch is set. */
	uint64_t copied_ns, last_copy_ns;
	uint64_t launched[WIRE_REASONS]; /* number of launches by reason */
	/* time that its threads waited in launch calls for other tenants */
	uint64_t held_ns;
	/* From the first block to the end of its managed launches, each by its own report.
	 * Includes the pauses of preempted launches. */
	uint64_t spanned_ns;
	uint32_t ends; /* 1: the program ends in order, or leaves the daemon by itself */
	uint32_t pad5[3];
	/* daemon -> device (the shim, after the daemon died): the quotas of managed launches
	 * without a word of their own (ctl_host.seq 0) */
	_Alignas(128) struct ctl_tenant begin;
	struct wire_slot slots[WIRE_SLOTS];
};

_Static_assert(sizeof(struct wire_slot) % 128 == 0, "slots start on lines of their own");
_Static_assert(offsetof(struct wire_page, slots) % 128 == 0, "slots start on lines of their own");

#endif
