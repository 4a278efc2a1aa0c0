/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The page that a tenant, heddled and the tenant's GPU work share: one sealed memfd for each
 * tenant. heddled creates it and passes it with WELCOME. The shim registers it with the driver, so
 * that relay blocks on the GPU can read it. With the page, a launch needs no system call if the
 * tenant has the GPU to itself: the tenant fills a slot, and then writes to heddled's eventfd only
 * in the cases that `watch` names. A tenant keeps its page for life, because its launches report
 * into it. If heddled dies, the tenant passes the page to the next daemon with HELLO.
 *
 * Every field has one writer at a time, which a comment names. heddled trusts no value of the page:
 * it copies and bounds each one before use. Both sides use atomic accesses (__atomic builtins). A
 * store to `state` with release publishes the other fields of a slot. */
#ifndef HEDDLE_PAGE_H
#define HEDDLE_PAGE_H

#include "ctl/control.h"

#define WIRE_PAGE_MAGIC   0x6864706cu
#define WIRE_PAGE_VERSION 9u
#define WIRE_SLOTS        256u
#define WIRE_INPUTS       12u /* number of values that describe the size of a launch's input */

/* The states of a slot. Each launch of the tenant passes through them once. doc/protocol.md says
 * who stores each state, and how long it lasts. heddled identifies a launch by its id. If a slot
 * has another id than at heddled's last look, the tenant has released the slot and used it for
 * another launch since then. */
enum wire_slot_state {
	WIRE_SLOT_FREE = 0,
	/* The launch runs, or is queued in its stream; host.arrived says when it begins. */
	WIRE_SLOT_SUBMITTED = 1,
	/* The tenant has finished with the slot. heddled then forgets the launch and sets FREE. */
	WIRE_SLOT_CLOSED = 2,
};

/* How a launch ran. */
enum wire_outcome {
	WIRE_MANAGED, /* by workers that claim blocks */
	WIRE_GUARD,   /* each hardware block checks the quotas before it starts */
	WIRE_GATED,   /* unchanged, behind a gate in its stream */
	WIRE_PLAIN,   /* unchanged, but other launches of the same kernel can be managed */
	WIRE_OPAQUE,  /* unchanged; no launch of this kind can be managed */
	WIRE_UNSEEN,  /* unchanged, because its module was loaded without the shim's knowledge */
	WIRE_OUTCOMES
};
/* The reason for a launch's outcome. Each reason belongs to exactly one outcome (reasons.def). */
enum wire_reason {
#define REASON(id, outcome, name, text) WIRE_WHY_##id,
#include "wire/reasons.def"
#undef REASON
	WIRE_REASONS
};
extern const char *const wire_outcome_names[WIRE_OUTCOMES]; /* "managed", … */
extern const struct wire_reason_row {
	enum wire_outcome outcome;
	const char *name, *text;
} wire_reason_rows[WIRE_REASONS];
/* Adds up the launches of all reasons that belong to each outcome. Returns the total. */
uint64_t wire_outcomes(
	const uint64_t launched[WIRE_REASONS], uint64_t ret_by_outcome[WIRE_OUTCOMES]);
/* Writes the key "reasons" with an array of reason, outcome and number of launches. Leaves out
 * reasons without launches. */
struct json;
void wire_reasons_json(const uint64_t launched[WIRE_REASONS], struct json *j);

/* The page's part for one managed launch. */
struct wire_slot {
	/* Quotas and progress of the launch. The writers of these fields:
	 * - The shim clears all of them before the launch.
	 * - Then heddled writes seq, same, quota and store_ns. After heddled's death, the shim
	 *   writes seq, same and quota.
	 * - The GPU writes the other fields. */
	struct ctl_host host;
	/* Written by the tenant: */
	uint32_t state;     /* heddled also writes it: CLOSED -> FREE */
	uint32_t gen;       /* value of ctl_args.gen */
	uint64_t id;        /* number of the launch within its tenant, increasing */
	uint64_t kernel;    /* hash of the kernel's code: equal kernels have equal hashes */
	uint64_t total;     /* number of blocks */
	uint64_t submit_ns; /* CLOCK_MONOTONIC time of the program's call */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;   /* per block, static and dynamic */
	uint32_t regs;           /* per thread */
	uint32_t workers_per_sm; /* maximum number of the launch's workers on an SM */
	/* number of grids launched for this launch so far: the original one, and one for each time
	 * that it resumed */
	uint32_t launches;
	/* priority of its stream within the tenant: 0 is the default, greater numbers run first */
	uint32_t priority;
	uint32_t guard; /* 1: it has the guard form (ctl/control.h); 0: it has workers */
	char name[64];  /* name of the kernel, truncated and NUL-terminated */
	/* Written by heddled: */
	/* 1: the launch can run; 0: it has no SMs (heddled has preempted it or not started it). For
	 * each increment of host.drains the tenant must launch one more grid of workers, once three
	 * things are true: this field is 1, heddled has sent quotas for this launch, and the launch
	 * is not done. */
	uint32_t granted;
	uint32_t preemptions; /* of this launch so far */
	/* heddled increments this counter when the launch gets SMs back while some of its workers
	 * may still run. The counter never decreases, even when the slot is used for another
	 * launch. Once the launch has arrived, the tenant launches one more grid of workers for
	 * each increment. Workers that exceed the quota exit at once. */
	uint32_t grow;
	/* Written by the tenant: */
	/* 1: the launch is a pool of tasks that has no task now. All other launches get SMs before
	 * it, and it never counts as stalled. After each change of this field the tenant wakes
	 * heddled, if `watch` is set. */
	uint32_t idle;
	uint32_t claim; /* number of blocks that a worker claims at a time */
	/* Input sizes of the launch, one for each of its first parameters of 1, 2, 4 or 8 bytes, in
	 * order: the bytes of the allocation that a pointer refers to, or the value of an integer;
	 * 0 if not known. */
	float input[WIRE_INPUTS];
	/* Written by heddled: */
	/* number of hardware blocks in the next grid of workers that the tenant launches; stored
	 * before `grow`. 0: as many as fit on the device */
	uint32_t newcomers;
	/* Written by the tenant: */
	/* total hardware blocks in all grids of the launch so far; 0: the shim does not count
	 * them */
	uint32_t hardware_blocks;
	/* Guard form: bit n is 1 if padding can limit the launch to n blocks on an SM, fewer than
	 * fit. 0: only a quota of 0 has an effect. */
	uint32_t counts;
	/* guard form: the blocks per SM to which padding limits the last or next grid; CTL_NO_QUOTA
	 * if the grid has no padding */
	uint32_t padded;
	uint32_t pad[5];
};

/* While heddled does not hold the tenant back, heddled sets `allowed` to the number of submitted
 * launches plus this number, so that no launch waits at its gate. */
#define WIRE_FAR_AHEAD (1u << 30)

struct wire_page {
	uint32_t magic, version, bytes, n_slots; /* the daemon sets these before WELCOME */
	uint32_t tenant, priority, weight, pad0;
	uint32_t pad1[24];
	/* Written by heddled: */
	/* 1: the tenant wakes heddled for every launch. The tenant must read this field after it
	 * has published the slot. In two cases the tenant wakes heddled even if this field is 0:
	 * - `begin` is set, because `begin` may be about to change
	 * - the launch has a higher priority than other launches of the program */
	uint32_t watch;
	/* 1: heddled holds the tenant's launches back. The thread of an unmanaged launch waits in
	 * the launch call (futex on `seq`), or the launch waits behind its gate. A managed launch
	 * begins with the quotas of `begin`. */
	uint32_t hold;
	/* incremented after control words such as `hold` or `granted` have changed; threads wait on
	 * it as a futex */
	uint32_t seq;
	/* heddled's heartbeat: the time of its main loop's last iteration (CLOCK_MONOTONIC, in ms).
	 * Updated at least every 200 ms while a tenant is held or preempted. */
	uint32_t alive_ms;
	/* 1: heddled needs to know when this tenant's unmanaged work ends, for example because a
	 * tenant of lower priority waits for it. The tenant wakes heddled when that work begins and
	 * ends, and keeps opaque_completed up to date. */
	uint32_t follow;
	/* 1: waking a sleeping thread on this machine takes as long as switching tenants. So a
	 * thread polls for a while when a launch waits for SMs. */
	uint32_t slow_wake;
	uint32_t pinned; /* the value of `pin` that is in effect now */
	uint32_t gates;  /* 1: launches may wait in their streams, behind gates */
	/* Gates of unmanaged launches with a number up to this (as opaque_submitted counts) are
	 * open. Streams wait for this value. After heddled's death the shim writes it. */
	uint32_t allowed;
	/* Limit for the total estimated time of unmanaged launches in flight, in us. Beyond the
	 * limit the next launch waits in its call. One launch can always be in flight. 0: no
	 * limit. */
	uint32_t bound_us;
	/* Totals over this tenant's life, for programs that read the page after the tenant has
	 * ended. */
	uint64_t waited_ns; /* time that arrived launches waited for other launches */
	uint64_t ran_ns;    /* time that launches ran, as far as heddled saw it */
	uint64_t preempted; /* number of preemptions */
	uint32_t left;      /* 1: the tenant has left, and these totals are final */
	uint32_t pad2;
	uint64_t joined_ns; /* CLOCK_MONOTONIC time of its first HELLO; 0: not sent yet */
	/* Shared memory's part of an SM's on-chip memory for managed kernels, in percent. 0: the
	 * program or the driver chooses. */
	uint32_t carveout;
	uint32_t pad3[11];
	/* Written by the tenant: */
	/* number of unmanaged launches so far (kernels, graphs, …); wraps */
	uint32_t opaque_submitted;
	/* number of unmanaged launches known to be complete; up to date only while follow is set */
	uint32_t opaque_completed;
	/* number of threads that wait in a launch call because of `hold` */
	uint32_t opaque_waiting;
	uint32_t pad4;
	uint64_t kick_ns; /* CLOCK_MONOTONIC time of the last kick */
	/* The tenant increments this field before and after a driver call that waits for running
	 * launches and holds a lock that the launch of a resume would need. While the field is odd,
	 * no launch of the tenant may be preempted. After each change the tenant wakes heddled, and
	 * waits until `pinned` has the same value. */
	uint32_t pin;
	/* value of opaque_submitted when the program last began to wait for the device */
	uint32_t opaque_waited;
	/* Times of copies between host and device (CLOCK_MONOTONIC): of the first copy since the
	 * last launch, and of the last copy. Up to date only while watch is set. */
	uint64_t copied_ns, last_copy_ns;
	uint64_t launched[WIRE_REASONS]; /* number of launches by reason */
	/* total time that the program's threads waited in launch calls for other tenants */
	uint64_t held_ns;
	/* Total time of the managed launches, each from its first block to its end as the launch
	 * itself reports. Includes the time during which launches were preempted. */
	uint64_t spanned_ns;
	uint32_t ends; /* 1: the program ends normally, or disconnects from heddled deliberately */
	uint32_t pad5[3];
	/* heddled -> device (after heddled's death, the shim writes it): the quotas for managed
	 * launches for which heddled has not sent quotas yet (ctl_host.seq is 0) */
	_Alignas(128) struct ctl_tenant begin;
	struct wire_slot slots[WIRE_SLOTS];
};

_Static_assert(sizeof(struct wire_slot) % 128 == 0, "slots start on lines of their own");
_Static_assert(offsetof(struct wire_page, slots) % 128 == 0, "slots start on lines of their own");

#endif
