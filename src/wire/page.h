/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The page that a tenant, the daemon and the tenant's GPU work share: one sealed memfd a tenant,
 * made by the daemon, handed over with WELCOME, registered with the driver by the shim so that
 * relays read it. It keeps the uncontended path free of system calls: the tenant fills a slot and,
 * only while `watch` is set, kicks the daemon's eventfd. A tenant keeps its page for life, as its
 * launches report into it: when the daemon dies it hands it to the next one, with HELLO.
 *
 * Every field has one writer, named beside it. The daemon trusts nothing that it reads here: it
 * bounds every value and copies before it checks. Words are accessed with C11 atomics
 * (__atomic builtins); a slot's fields are published by storing `state` with release. */
#ifndef HEDDLE_PAGE_H
#define HEDDLE_PAGE_H

#include "ctl/control.h"

#define WIRE_PAGE_MAGIC   0x6864706cu
#define WIRE_PAGE_VERSION 9u
#define WIRE_SLOTS        256u
#define WIRE_INPUTS       12u /* figures of a launch's input */

/* The states of a slot; each launch of the tenant goes once through them. doc/protocol.md says who
 * stores which state, and until when it lasts. The daemon knows a launch by its id: if a slot has
 * another one, the tenant gave the slot up and took it again in the meantime. */
enum wire_slot_state {
	WIRE_SLOT_FREE = 0,
	WIRE_SLOT_SUBMITTED =
		1, /* launched or queued in its stream; host.arrived says when it begins */
	WIRE_SLOT_CLOSED = 2, /* the tenant is done with it: the daemon forgets it, sets it FREE */
};

/* What became of a launch. */
enum wire_outcome {
	WIRE_MANAGED, /* workers that pull blocks */
	WIRE_GUARD,   /* each hardware block looks before it starts */
	WIRE_GATED,   /* as it is, behind a gate in its stream */
	WIRE_PLAIN,   /* as it is, though others of its kernel may be managed */
	WIRE_OPAQUE,  /* as it is, as all of its kind */
	WIRE_UNSEEN,  /* as it is: its kernel is of a module that was loaded past the shim */
	WIRE_OUTCOMES
};
/* And why: each is of one outcome (reasons.def). */
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
/* How many launches had each outcome, of so many for each reason; the sum of all. */
uint64_t wire_outcomes(
	const uint64_t launched[WIRE_REASONS], uint64_t ret_by_outcome[WIRE_OUTCOMES]);
/* The key "reasons": an array of reason, outcome and launches, of those that there are. */
struct json;
void wire_reasons_json(const uint64_t launched[WIRE_REASONS], struct json *j);

/* One managed launch. */
struct wire_slot {
	struct ctl_host host; /* daemon writes seq, quota (the shim, once the daemon is gone); GPU
				 the rest */
	/* tenant */
	uint32_t state;     /* also daemon: CLOSED -> FREE */
	uint32_t gen;       /* ctl_args.gen */
	uint64_t id;        /* of the launch in this tenant, rising */
	uint64_t kernel;    /* hash of the kernel's code; equal kernels, equal hash */
	uint64_t total;     /* blocks */
	uint64_t submit_ns; /* CLOCK_MONOTONIC of the program's call */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;   /* a block, static and dynamic */
	uint32_t regs;           /* a thread */
	uint32_t workers_per_sm; /* how many the launch keeps on an SM at most */
	uint32_t launches;       /* worker launches made for it so far: 1 the original; + resumes */
	uint32_t priority;       /* of the stream within the tenant: 0 default, higher first */
	uint32_t guard;          /* 1: the guard form (ctl/control.h); 0: workers */
	char name[64];           /* kernel's, cut, NUL-terminated */
	/* daemon */
	uint32_t granted; /* 1: may run; 0: held or preempted. Levels, not edges: while it is 1 and
			     the launch has a word of its own and is not done, each rise of
			     host.drains that the tenant has not answered yet wants one more round
			     of workers */
	uint32_t preemptions; /* so far, of this launch */
	uint32_t grow; /* rises, from launch to launch, when SMs are given back to a launch of which
			  workers may still be there: once it has arrived, each rise wants one more
			  round of workers too (those that find no room leave at once) */
	/* tenant */
	uint32_t idle; /* 1: a pool of tasks that has none: all others go first, and it is not taken
			  for a launch that gets nowhere. Kick after each change, while watch is set
			*/
	uint32_t claim; /* blocks that a worker claims at a time */
	/* How large its input is, by parameter in their order: bytes of the allocation that a
	 * pointer leads into, or an integer's value; 0: neither is known. */
	float input[WIRE_INPUTS];
	/* daemon */
	uint32_t newcomers; /* stored before grow: hardware blocks of that round; 0: as many as the
			       device holds */
	/* tenant */
	uint32_t
		hardware_blocks; /* in all its worker grids so far; 0: a shim that does not count */
	uint32_t counts; /* of the guard form, bit n: it can be kept to n blocks on an SM, fewer
			    than fit; 0: any quota but 0 means all */
	uint32_t padded; /* of the guard form: the count that its last grid has by padding, or is
			    about to have; CTL_NO_QUOTA: it is not padded */
	uint32_t pad[5];
};

/* What is allowed while nobody is held back: so many more than were submitted. */
#define WIRE_FAR_AHEAD (1u << 30)

struct wire_page {
	uint32_t magic, version, bytes, n_slots; /* daemon, before the hand-over */
	uint32_t tenant, priority, weight, pad0;
	uint32_t pad1[24];
	/* daemon -> tenant */
	/* 1: kick on every submit. Look after publishing the slot. A launch made while `begin` is
	 * set kicks in any case: that may be about to change; so does one of a higher priority than
	 * others of its program. */
	uint32_t watch;
	uint32_t hold;     /* 1: the tenant is held: opaque launches wait in the launch call on this
			      word (futex) or at their gate, managed ones begin with what
			      `begin` says */
	uint32_t seq;      /* rises with each change for the tenant (futex): hold, granted */
	uint32_t alive_ms; /* CLOCK_MONOTONIC ms of the daemon's last loop, at least every 200 ms
			      while a tenant is held or preempted */
	uint32_t follow; /* 1: opaque work matters to somebody: kick as it begins and ends, and keep
			    opaque_completed current */
	uint32_t slow_wake; /* 1: waking a sleeping thread takes as long as a hand-over: while a
			       launch waits to be granted, look on for a while */
	uint32_t pinned;    /* the value of pin that holds now */
	uint32_t gates;     /* 1: launches may wait in their streams: */
	uint32_t allowed;   /* opaque launches up to this number (as opaque_submitted counts
			       them) may begin; streams wait for it. The shim writes it once the
			       daemon is gone */
	uint32_t bound_us;  /* opaque launches in flight may take so long in all, as far as their
			       tenant can tell, beyond which the next one waits in its call (one
			       may always be in flight); 0: no bound */
	/* Figures of this tenant's whole life, for who reads the page behind its end. */
	uint64_t waited_ns; /* launches that had arrived waited for others, and */
	uint64_t ran_ns;    /* ran, as far as was seen */
	uint64_t preempted; /* how often */
	uint32_t left;      /* 1: the tenant is gone, and these are final */
	uint32_t pad2;
	uint64_t joined_ns; /* CLOCK_MONOTONIC of its first HELLO; 0: not yet */
	uint32_t carveout;  /* of an SM's memory, for managed kernels: shared memory's part in
			       percent;  0: what the program or the driver says */
	uint32_t pad3[11];
	/* tenant -> daemon */
	uint32_t opaque_submitted; /* launches of unmanaged work: kernels, graphs … (rising, wraps)
				    */
	uint32_t opaque_completed; /* as far as known; only kept current while follow is set */
	uint32_t opaque_waiting;   /* threads now waiting in a launch because of hold */
	uint32_t pad4;
	uint64_t kick_ns; /* CLOCK_MONOTONIC of the last kick */
	uint32_t pin;     /* rises; odd: a driver call waits for the launches that run, under a lock
			     that resuming one would need: none of them is preempted. Kick after each
			     change, and wait for pinned */
	uint32_t opaque_waited; /* opaque_submitted when the program last began to wait */
	/* CLOCK_MONOTONIC of copies between host and device, only kept current while watch is set:
	 * of the first since the last launch, and of the last. */
	uint64_t copied_ns, last_copy_ns;
	uint64_t launched[WIRE_REASONS]; /* how many launches there were, by reason */
	uint64_t held_ns;                /* its threads waited in launch calls for others */
	uint64_t spanned_ns; /* from the first block to the end of its managed launches, each by
				its own report; those that were preempted with their pauses */
	uint32_t ends;       /* 1: the program ends in order, or leaves the daemon by itself */
	uint32_t pad5[3];
	/* daemon -> device (the shim, once the daemon is gone): what managed launches begin with
	 * that have no word of their own, ctl_host.seq 0 */
	_Alignas(128) struct ctl_tenant begin;
	struct wire_slot slots[WIRE_SLOTS];
};

_Static_assert(sizeof(struct wire_slot) % 128 == 0, "slots start on lines of their own");
_Static_assert(offsetof(struct wire_page, slots) % 128 == 0, "slots start on lines of their own");

#endif
