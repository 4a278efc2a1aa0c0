/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Scheduling policies for heddled(8), as shared objects: `heddled --policy ./mine.so`.
 *
 * A policy is a table of functions that heddle_policy() returns. heddled asks the policy after
 * every burst of events, and at the time that the policy asked for. The view describes the
 * kernels that compete for a device. The plan says how many blocks of each kernel may stay on
 * each SM. heddled sends programs what has changed since the last plan. A kernel that loses an
 * SM keeps its blocks there until they have finished.
 *
 * ABI: a heddled with another HEDDLE_POLICY_ABI does not load the policy. While the number
 * stays, structures grow only at their end. heddled sets `size` in the structures that it
 * passes; the policy sets it in struct heddle_policy. A policy reads no field beyond `size`, and
 * walks arrays with heddle_policy_kernel_at and heddle_policy_tenant_at, which use the element
 * sizes of the view. */
#ifndef HEDDLE_POLICY_H
#define HEDDLE_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* Rules:
 * - heddled calls from one thread at a time, for one device at a time. Each device has its own
 *   state. Between calls the policy runs nothing: no threads, no signal handlers.
 * - A call must not block and must be short, because heddled schedules nothing meanwhile.
 *   heddled exits if a call takes more than a second; programs then go on without it.
 * - Pointers in a view and a plan are valid until decide returns. Keep none.
 * - heddled may not follow a plan at once. A program that is loading code keeps its quotas until
 *   the code is loaded. A program that repeatedly lost SMs before it had used them keeps them
 *   for a millisecond. A launch in an unknown state runs natively, and no view lists it.
 * - Each view is complete: another policy may take over while kernels run.
 * - Times are nanoseconds of one clock that never falls. HEDDLE_POLICY_UNKNOWN: not known yet. */

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_POLICY_ABI       1u
#define HEDDLE_POLICY_UNKNOWN   UINT64_MAX
#define HEDDLE_POLICY_UNBOUNDED 255u    /* a quota: as many blocks as fit on an SM */
#define HEDDLE_POLICY_MAX_QUOTA 31u     /* the largest bounded quota */
#define HEDDLE_POLICY_MIN_WAKE  100000u /* ns: the shortest wait until heddled asks again */
#define HEDDLE_POLICY_CURVE     33u

/* Limits of a device. All but the last four are constant while the policy's state exists. */
struct heddle_policy_device {
	uint32_t size; /* bytes of this structure */
	uint32_t n_sms;
	uint32_t threads_per_sm, blocks_per_sm;
	uint32_t regs_per_sm;   /* registers of 32 bits */
	uint32_t shared_per_sm; /* bytes of shared memory */
	/* 1: kernels of several tenants run at the same time. 0: the device as a whole switches
	 * between tenants, so a plan should give SMs to one tenant at a time. */
	uint32_t simultaneous;
	uint32_t spatial;           /* 0: heddled is configured to preempt whole devices only */
	uint32_t within_srt;        /* 1: launches of one tenant compete by remaining time */
	uint32_t overhead_permille; /* the part of the device's time that switching may cost */
};

enum heddle_policy_kind {
	HEDDLE_POLICY_MANAGED = 0, /* a launch that obeys quotas */
	/* All of a tenant's work that obeys no quotas. It takes the whole device while it lasts.
	 * Holding its tenant keeps more such work from starting. */
	HEDDLE_POLICY_OPAQUE = 1,
	/* No work now, but the tenant will probably return before it pays to give the device to
	 * other tenants. heddled asks again when this time has passed. */
	HEDDLE_POLICY_EXPECTED = 2,
};

/* A launch that competes for the device. If no launch of a tenant has begun, its oldest one
 * competes. */
struct heddle_policy_kernel {
	/* enum heddle_policy_kind. For opaque and expected work only tenant_index and quota are
	 * set. */
	uint32_t kind;
	uint32_t tenant_index; /* index in the view's tenants */
	uint64_t launch;       /* number of the launch within its tenant */
	uint64_t code;         /* hash of the code: launches of the same kernel have equal hashes */
	uint64_t order;        /* of arrival: the earlier launch has the smaller number */
	uint32_t depth;   /* ranks between its stream and the highest active stream of its tenant */
	uint32_t threads; /* of a block */
	uint32_t regs;    /* of a thread */
	uint32_t shared_bytes;  /* of a block */
	uint32_t blocks_per_sm; /* blocks of it that fit on an SM: 1 to 32 */
	uint32_t running;       /* 1: it has an SM now */
	/* 1: it was preempted and its blocks have not left yet. It gets no SM before they have,
	 * whatever the plan says. */
	uint32_t leaving;
	uint32_t idle; /* 1: a pool of tasks without a task */
	/* 1: it has the same number of blocks on all its SMs, one of those in `counts`. Another
	 * number costs as much as a preemption: the launch leaves and is launched again. */
	uint32_t unranked;
	uint64_t blocks;       /* of the grid */
	uint64_t started;      /* blocks that have begun, as of heddled's last look at the device */
	uint64_t finished;     /* blocks that have ended */
	uint64_t predicted_ns; /* duration of the whole launch alone on the device, or UNKNOWN */
	uint64_t waited_ns;    /* time since submission without an SM */
	uint64_t remaining_ns; /* alone on the device, computed from finished blocks; or UNKNOWN */
	uint64_t cost_ns;      /* of preempting it and of bringing it back */
	/* Duration of the whole launch in ns if at most this many of its blocks are on each SM.
	 * [0], and counts that were not measured yet, are UNKNOWN. */
	uint64_t curve_ns[HEDDLE_POLICY_CURVE];
	const uint8_t *quota; /* n_sms bytes: its present quotas */
	/* For an unranked launch: the quotas that bound it, bit n for n blocks, besides 0 and
	 * blocks_per_sm. Another quota has the effect of the next smaller one, or else of the
	 * smallest. 0: only quota 0 is a bound. */
	uint32_t counts;
};

/* A program: a process with all its streams. The view lists all programs, in no order. */
struct heddle_policy_tenant {
	uint32_t id;      /* as in `heddle ps` */
	int32_t priority; /* 0 low, 1 normal, 2 high */
	uint32_t weight;  /* 1 or more */
	uint32_t held;    /* 1: heddled holds it now */
	uint32_t opaque;  /* 1: opaque work is in flight, or waits for the hold to end */
	uint32_t busy;    /* 1: it has any work */
	/* Time during which work of this tenant was on the device, on any number of SMs. While a
	 * preempted launch is leaving, only its tenant is charged. Never falls. */
	uint64_t service_ns;
	/* SM time of its managed launches, ns on one SM: counts the SMs that a launch was
	 * allowed and could use. Never falls. */
	uint64_t sm_ns;
	uint64_t idle_since_ns; /* when it last had work; valid if busy is 0 */
	uint64_t pause_ns; /* moving mean of the pauses between its work; UNKNOWN: fewer than two */
	/* Work done, as the time that it would take alone on the device. A predicted launch
	 * counts its prediction times its fraction of finished blocks. While only other work is
	 * on the device, service_ns counts. Never falls. */
	uint64_t work_ns;
};

struct heddle_policy_view {
	uint32_t size, abi;
	uint32_t kernel_size, tenant_size; /* bytes of an array element */
	uint64_t now_ns;
	const struct heddle_policy_device *device;
	const void *kernels; /* launches by order of arrival, then opaque and expected work */
	const void *tenants;
	uint32_t n_kernels, n_tenants;
	/* Mean time in ns between the grant of SMs to a kernel and the start of its first block
	 * there. This time covers the blocks of other kernels that must end, the device's switch
	 * between programs, and the launch of the kernel's workers. 0: not measured yet. */
	uint64_t change_ns;
};

/* The policy's answer. Before the call all quotas and held are 0, and wake_ns is UNKNOWN. */
struct heddle_policy_plan {
	uint32_t size, abi;
	/* n_kernels rows of n_sms bytes: how many blocks of the kernel may stay on the SM. 0:
	 * none; 1 to HEDDLE_POLICY_MAX_QUOTA; HEDDLE_POLICY_UNBOUNDED. heddled takes any other
	 * value as UNBOUNDED. It clips bounded quotas to what fits on an SM beside the bounded
	 * ones of earlier kernels. The row of opaque or expected work reserves SMs: tenants that
	 * have no launch now do not begin launches on SMs where the row is not 0. */
	uint8_t *quota;
	/* n_tenants bytes. 1: the tenant starts nothing, so its new launches begin with no SM
	 * and its opaque work waits. 0: its new launches begin with the quotas of its oldest
	 * kernel that has an SM. */
	uint8_t *held;
	/* When to ask again if nothing happens, at least HEDDLE_POLICY_MIN_WAKE from now;
	 * UNKNOWN: not at all. While a tenant is held or a kernel has no SM, heddled also asks
	 * every second. */
	uint64_t wake_ns;
	/* Asks a model of pairs for the durations of two launches (indices in the view) side by
	 * side with this many blocks on each SM. plan: the pointer that decide was given, not a
	 * copy. Returns 0, or -ENOENT: not known. NULL: this heddled has no such model. */
	int (*ask)(const struct heddle_policy_plan *plan, const uint32_t kernel[2],
		const uint8_t quota[2], uint64_t ret_ns[2]);
};

struct heddle_policy {
	uint32_t size, abi;
	const char *name; /* for messages and `heddle status`, which show at most 31 bytes */
	/* Creates the state for a device on which tenants have appeared. options: policy_options
	 * of the configuration, "" if none, valid during the call. NULL: it failed; every kernel
	 * then gets the whole device. create itself may be NULL; state is NULL then. */
	void *(*create)(const struct heddle_policy_device *device, const char *options);
	void (*destroy)(void *state); /* may be NULL */
	/* Fills the plan for each kernel and tenant of `in`. Must not be NULL. */
	void (*decide)(
		void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out);
};

/* The function that the shared object exports. The object owns the table, which is valid while
 * the object is loaded. NULL: the policy cannot run here. */
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
