/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Scheduling policies for heddled(8), as shared objects: `heddled --policy ./mine.so`.
 *
 * A policy is a table of functions that heddle_policy() returns. heddled asks it after every burst
 * of events, and at the time that it asked for: the view says what competes for a device, the plan
 * says how many blocks of each kernel may stay on each SM. heddled tells programs what differs from
 * before. A kernel that loses an SM keeps its blocks there until they have finished.
 *
 * ABI: a heddled that has another HEDDLE_POLICY_ABI does not load the policy. Within a number,
 * structures grow at their end only. heddled sets `size` of what it passes, and the policy that of
 * struct heddle_policy; a policy reads no field beyond `size`, and walks arrays with
 * heddle_policy_kernel_at and heddle_policy_tenant_at, which use the element sizes of the view. */
#ifndef HEDDLE_POLICY_H
#define HEDDLE_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* Rules:
 * - heddled calls from one thread at a time, for one device at a time. Each device has a state of
 *   its own. Between calls the policy runs nothing: no threads, no signal handlers.
 * - A call must not block, and must not take long: nobody is scheduled meanwhile. heddled ends
 *   itself when a call takes more than a second; programs then go on without it.
 * - Pointers in a view and a plan are valid until decide returns. Keep none.
 * - heddled comes as near to a plan as it can. A program that loads code keeps what it has until
 *   that is done. One that lost SMs several times before it had used them keeps them for a
 *   millisecond. A launch that heddled has lost track of runs natively, and is in no view.
 * - Each view is full: a policy may be replaced by another one while kernels run.
 * - Times are nanoseconds of one clock that never falls. HEDDLE_POLICY_UNKNOWN: not known yet. */

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_POLICY_ABI       1u
#define HEDDLE_POLICY_UNKNOWN   UINT64_MAX
#define HEDDLE_POLICY_UNBOUNDED 255u    /* a quota: as many blocks as an SM holds */
#define HEDDLE_POLICY_MAX_QUOTA 31u     /* the largest other one */
#define HEDDLE_POLICY_MIN_WAKE  100000u /* ns: heddled asks no sooner of itself */
#define HEDDLE_POLICY_CURVE     33u

/* Limits of a device. They stay the same while the policy's state lives, but for the last four. */
struct heddle_policy_device {
	uint32_t size; /* bytes of this structure */
	uint32_t n_sms;
	uint32_t threads_per_sm, blocks_per_sm;
	uint32_t regs_per_sm;   /* registers of 32 bits */
	uint32_t shared_per_sm; /* bytes of shared memory */
	/* 1: kernels of several tenants run at the same time; 0: the device itself changes between
	 * tenants, as a whole, and a plan had better give SMs to one tenant at a time. */
	uint32_t simultaneous;
	uint32_t spatial;           /* 0: heddled's user wants whole devices preempted only */
	uint32_t within_srt;        /* 1: launches of one tenant are to compete by remaining time */
	uint32_t overhead_permille; /* what switching may cost of the device's time */
};

enum heddle_policy_kind {
	HEDDLE_POLICY_MANAGED = 0, /* a launch that can be steered */
	/* All of a tenant's work that cannot: it takes the whole device while it lasts. Holding its
	 * tenant keeps more of it from starting. */
	HEDDLE_POLICY_OPAQUE = 1,
	/* No work now; but the tenant is expected back before it pays to give the device to others.
	 * heddled asks again when that is over. */
	HEDDLE_POLICY_EXPECTED = 2,
};

/* A launch that competes for the device; of a tenant of which no launch has begun, the oldest. */
struct heddle_policy_kernel {
	/* enum heddle_policy_kind. Of what is no launch only tenant_index and quota are set. */
	uint32_t kind;
	uint32_t tenant_index; /* in the view's tenants */
	uint64_t launch;       /* number of the launch in its tenant */
	uint64_t code;    /* hash of the code: launches with the same one run the same kernel */
	uint64_t order;   /* of arrival: a smaller one came first */
	uint32_t depth;   /* how far its stream ranks below its tenant's highest active one */
	uint32_t threads; /* of a block */
	uint32_t regs;    /* of a thread */
	uint32_t shared_bytes;  /* of a block */
	uint32_t blocks_per_sm; /* as many as an SM holds of it: 1 to 32 */
	uint32_t running;       /* 1: it has some SM now */
	uint32_t leaving;       /* 1: it was preempted and has not left yet; it gets nothing back
				 * before it has, whatever the plan says */
	uint32_t idle;          /* 1: a pool of tasks that has none at the moment */
	uint32_t unranked; /* 1: it has one number of blocks on all its SMs, of those in `counts`.
			    * Another number costs what a preemption does: it leaves, and comes
			    * again */
	uint64_t blocks;   /* of the grid */
	uint64_t started;  /* blocks that have begun, as of when heddled last looked */
	uint64_t finished; /* blocks that have ended */
	uint64_t predicted_ns; /* of the whole launch on the whole device; or UNKNOWN */
	uint64_t waited_ns;    /* since it was submitted, without an SM */
	uint64_t remaining_ns; /* on the whole device, from finished blocks; or UNKNOWN */
	uint64_t cost_ns;      /* of preempting it, and of its way back */
	/* Duration of the whole launch where each SM may hold so many blocks of it, ns; [0] and
	 * what was not seen yet is UNKNOWN. */
	uint64_t curve_ns[HEDDLE_POLICY_CURVE];
	const uint8_t *quota; /* n_sms bytes: what it has now */
	/* Of one that is unranked: bit n is 1 if a quota of n bounds it, beside 0 and
	 * blocks_per_sm. For a quota between two of them it has the smaller number, below all of
	 * them the smallest. 0: any quota but 0 is no bound. */
	uint32_t counts;
};

/* A program (a process, and all its streams). All that are there, in no order. */
struct heddle_policy_tenant {
	uint32_t id;      /* as in `heddle ps` */
	int32_t priority; /* 0 low, 1 normal, 2 high; larger goes first */
	uint32_t weight;  /* 1 or more */
	uint32_t held;    /* 1: it is held now */
	uint32_t opaque;  /* 1: work that cannot be steered is in flight, or waits to be let go */
	uint32_t busy;    /* 1: it has any work */
	/* Time that it has had the device, some work of its being there, whatever its number of
	 * SMs; while somebody is on the way out, that one alone has it. Never falls. */
	uint64_t service_ns;
	/* SM time that its managed launches have had, from the SMs that they were allowed and could
	 * use: ns on one SM. Never falls. */
	uint64_t sm_ns;
	uint64_t idle_since_ns; /* since when it has no work; meaningful where busy is 0 */
	uint64_t pause_ns; /* moving mean of the pauses between its work; UNKNOWN: fewer than two */
	/* Work done, as the time that it would take alone on the device. A predicted launch counts
	 * its prediction times its fraction of finished blocks. While only other work is on the
	 * device, the tenant's service_ns counts. Never falls. */
	uint64_t work_ns;
};

struct heddle_policy_view {
	uint32_t size, abi;
	uint32_t kernel_size, tenant_size; /* bytes of an element */
	uint64_t now_ns;
	const struct heddle_policy_device *device;
	const void *kernels; /* launches by order of arrival, then what is no launch */
	const void *tenants;
	uint32_t n_kernels, n_tenants;
	/* Mean time, ns, from granting a kernel SMs until its first block begins: it covers the
	 * blocks of others that must end, the device's switch between programs, and the launch of
	 * the kernel's workers. 0: not measured yet. */
	uint64_t change_ns;
};

/* The policy's answer. All quotas and held are 0, and wake_ns is UNKNOWN beforehand. */
struct heddle_policy_plan {
	uint32_t size, abi;
	/* n_kernels rows of n_sms bytes: how many blocks of the kernel may stay on the SM. 0: none;
	 * 1 to HEDDLE_POLICY_MAX_QUOTA; HEDDLE_POLICY_UNBOUNDED. heddled takes any other value as
	 * UNBOUNDED, and clips bounded ones to what fits an SM beside the bounded ones of kernels
	 * that came earlier. The row of what is no launch has one use: where it is not 0, launches
	 * of tenants that have none now do not begin. */
	uint8_t *quota;
	/* n_tenants bytes, 1: the tenant starts nothing (launches that come begin with no SM,
	 * opaque work waits). Else what it launches begins with what its oldest kernel with an SM
	 * has. */
	uint8_t *held;
	/* When to ask again though nothing happens, at least HEDDLE_POLICY_MIN_WAKE from now;
	 * UNKNOWN: not at all. While a tenant is held or a kernel has no SM, heddled asks each
	 * second in any case. */
	uint64_t wake_ns;
	/* Asks a model of pairs how long each of two kernels (indices in the view) takes, the whole
	 * launch, with so many blocks an SM beside the other. plan: the one that decide was given,
	 * not a copy. 0, or -ENOENT: not known. NULL: this heddled has no such model. */
	int (*ask)(const struct heddle_policy_plan *plan, const uint32_t kernel[2],
		const uint8_t quota[2], uint64_t ret_ns[2]);
};

struct heddle_policy {
	uint32_t size, abi;
	const char *name; /* for messages and `heddle status`; at most 31 bytes are shown */
	/* For a device that tenants came to. options: the configuration's policy_options, "" if
	 * none; valid during the call. NULL: it failed; the device then goes to everyone. create
	 * itself may be NULL: state is NULL then. */
	void *(*create)(const struct heddle_policy_device *device, const char *options);
	void (*destroy)(void *state); /* may be NULL */
	/* Answers for each kernel and tenant of `in`. Must not be NULL. */
	void (*decide)(
		void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out);
};

/* The function that the shared object exports. The table stays its own, and valid while it is
 * loaded; NULL: it cannot run here. */
__attribute__((visibility("default"))) const struct heddle_policy *heddle_policy(void);

static inline const struct heddle_policy_kernel *heddle_policy_kernel_at(
	const struct heddle_policy_view *v, uint32_t i)
{
	return (const struct heddle_policy_kernel *)((const char *)v->kernels +
						     (size_t)i * v->kernel_size);
}

static inline const struct heddle_policy_tenant *heddle_policy_tenant_at(
	const struct heddle_policy_view *v, uint32_t i)
{
	return (const struct heddle_policy_tenant *)((const char *)v->tenants +
						     (size_t)i * v->tenant_size);
}

/* The plan's row of kernel i: n_sms bytes. */
static inline uint8_t *heddle_policy_row(
	const struct heddle_policy_view *v, struct heddle_policy_plan *p, uint32_t i)
{
	return p->quota + (size_t)i * v->device->n_sms;
}

#ifdef __cplusplus
}
#endif

#endif
