/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Interface of scheduling policies for heddled(8). A policy is a shared object: `heddled --policy
 * ./mine.so`. It exports the function heddle_policy(), which returns a table of functions.
 *
 * heddled asks the policy for a plan after every burst of events, and at the time that the policy
 * chose. The view describes the kernels that compete for a device. The plan says how many blocks of
 * each kernel can stay on each SM. heddled then sends each program what has changed since the last
 * plan. If a kernel loses an SM, its blocks there run to their end.
 *
 * ABI: heddled does not load a policy that has another HEDDLE_POLICY_ABI. While this number stays
 * the same, structures grow only at their end. heddled sets `size` in the structures that it
 * passes, and the policy sets it in struct heddle_policy. A policy must read no field beyond
 * `size`. It must walk arrays with heddle_policy_kernel_at and heddle_policy_tenant_at, which use
 * the element sizes of the view. */
#ifndef HEDDLE_POLICY_H
#define HEDDLE_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* Rules:
 * - heddled calls the policy from one thread at a time, for one device at a time. Each device has
 *   its own state. Between calls the policy must run nothing: no threads, no signal handlers.
 * - A call must not block and must be short, because heddled schedules nothing meanwhile. heddled
 *   exits if a call takes more than a second, crashes or ends the process; the programs then run on
 *   without heddled.
 * - Pointers in a view and a plan are valid until decide returns. Do not keep them.
 * - heddled may apply a plan late. A program that is loading code keeps its quotas until the code
 *   is loaded. A program that has lost SMs several times before it could use them keeps the SMs of
 *   its next grant for a millisecond.
 * - A launch whose state heddled does not know runs natively, and no view lists it.
 * - Each view is complete, because another policy may take over while kernels run.
 * - Times are in ns, by one clock that never decreases. HEDDLE_POLICY_UNKNOWN means not known
 * yet. */

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_POLICY_ABI       1u
#define HEDDLE_POLICY_UNKNOWN   UINT64_MAX
#define HEDDLE_POLICY_UNBOUNDED 255u    /* a quota: as many blocks as fit on an SM */
#define HEDDLE_POLICY_MAX_QUOTA 31u     /* the largest bounded quota */
#define HEDDLE_POLICY_MIN_WAKE  100000u /* ns: the shortest wait until heddled asks again */
/* ns: the longest wait until heddled asks again while a kernel has no SM or a tenant is held */
#define HEDDLE_POLICY_MAX_WAKE 1000000000u
#define HEDDLE_POLICY_CURVE    33u

/* Limits of a device. All fields except the last four are constant while the policy's state
 * exists. */
struct heddle_policy_device {
	uint32_t size; /* bytes of this structure */
	uint32_t n_sms;
	uint32_t threads_per_sm, blocks_per_sm;
	uint32_t regs_per_sm;   /* registers of 32 bits */
	uint32_t shared_per_sm; /* bytes of shared memory */
	/* 1: kernels of several tenants can run at the same time. 0: the device as a whole switches
	 * between tenants, so a plan should give SMs to one tenant at a time. */
	uint32_t simultaneous;
	uint32_t spatial;           /* 0: heddled is configured to preempt whole devices only */
	uint32_t within_srt;        /* 1: launches of one tenant compete by remaining time */
	uint32_t overhead_permille; /* the part of the device's time that switching may cost */
};

enum heddle_policy_kind {
	HEDDLE_POLICY_MANAGED = 0, /* a launch that obeys quotas */
	/* One entry for all work of a tenant that heddled cannot stop by quotas (OPAQUE). While
	 * such work runs, it uses the whole device. If the plan sets `held` for the tenant, no more
	 * such work starts. */
	HEDDLE_POLICY_OPAQUE = 1,
	/* The tenant has no work now, but it will probably have work again so soon that a switch to
	 * other tenants does not pay. heddled asks again when this time has passed. */
	HEDDLE_POLICY_EXPECTED = 2,
};

/* A launch that competes for the device. The launches of a tenant that have begun all compete. If
 * none has begun, the tenant's oldest launch competes. */
struct heddle_policy_kernel {
	/* A value of enum heddle_policy_kind. For opaque and expected work only this field,
	 * tenant_index and quota are set. */
	uint32_t kind;
	uint32_t tenant_index; /* index in the view's tenants */
	uint64_t launch;       /* number of the launch within its tenant */
	/* hash of the code: launches of the same kernel have the same hash */
	uint64_t code;
	uint64_t order; /* of arrival: the earlier launch has the smaller number */
	/* how many priority levels its stream is below the highest active stream of its tenant */
	uint32_t depth;
	uint32_t threads;       /* of a block */
	uint32_t regs;          /* of a thread */
	uint32_t shared_bytes;  /* of a block */
	uint32_t blocks_per_sm; /* blocks of it that fit on an SM: 1 to 32 */
	uint32_t running;       /* 1: it has an SM now */
	/* 1: heddled has preempted this kernel, and the kernel's blocks have not exited yet. Until
	 * they have, the kernel gets no SM, whatever the plan says. */
	uint32_t leaving;
	uint32_t idle; /* 1: a pool of tasks without a task */
	/* 1: this kernel has the same number of blocks on all its SMs: as many as fit
	 * (blocks_per_sm), or one of the numbers in `counts`, which may be empty. A change of the
	 * number costs as much as a preemption, because the launch has to stop and is launched
	 * again. */
	uint32_t unranked;
	uint64_t blocks; /* of the grid */
	/* blocks that have begun, when heddled last read the device's report */
	uint64_t started;
	uint64_t finished; /* blocks that have ended */
	/* predicted duration of the whole launch alone on the device, or UNKNOWN */
	uint64_t predicted_ns;
	uint64_t waited_ns; /* time since submission without an SM */
	/* remaining time alone on the device, from the finished blocks; or UNKNOWN */
	uint64_t remaining_ns;
	uint64_t cost_ns; /* of preempting it and of bringing it back */
	/* Element n: duration of the whole launch in ns if at most n of its blocks are on each SM.
	 * UNKNOWN for 0, and for numbers that have not been measured yet. */
	uint64_t curve_ns[HEDDLE_POLICY_CURVE];
	const uint8_t *quota; /* n_sms bytes: its present quotas */
	/* For an unranked launch: bit n is 1 if a quota of n has an effect. 0 and blocks_per_sm
	 * always do. Any other quota has the effect of the next smaller number, or else of the
	 * smallest. If `counts` is 0, only a quota of 0 limits the launch. */
	uint32_t counts;
};

/* A program: a process with all its streams. The view lists all programs, in no particular
 * order. */
struct heddle_policy_tenant {
	uint32_t id;      /* as in `heddle ps` */
	int32_t priority; /* 0 low, 1 normal, 2 high */
	uint32_t weight;  /* 1 or more */
	uint32_t held;    /* 1: heddled holds it now */
	uint32_t opaque;  /* 1: opaque work is in flight, or waits for the hold to end */
	uint32_t busy;    /* 1: it has any work */
	/* Time during which work of this tenant was on the device, on any number of SMs. While a
	 * preempted launch is stopping, only its own tenant is charged. Never decreases. */
	uint64_t service_ns;
	/* SM time of its managed launches, in ns of one SM. Counts the SMs that a launch was
	 * allowed and able to use. Never decreases. */
	uint64_t sm_ns;
	uint64_t idle_since_ns; /* when it last had work; valid if busy is 0 */
	/* moving mean of the pauses between its work; UNKNOWN if fewer than two */
	uint64_t pause_ns;
	/* Work done, as the time that it would take alone on the device. A launch with a prediction
	 * counts as its prediction times its fraction of finished blocks. While the tenant has no
	 * launch with a prediction on the device, but other work, the time of service_ns counts
	 * instead. Never decreases. */
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
	/* Mean time in ns from the grant of SMs to a kernel until its first block starts there.
	 * During this time blocks of other kernels end, the device switches between programs, and
	 * the shim launches the kernel's workers. 0: not measured yet. */
	uint64_t change_ns;
};

/* The plan that the policy fills in. Before the call all quotas and `held` are 0, and wake_ns is
 * UNKNOWN. */
struct heddle_policy_plan {
	uint32_t size, abi;
	/* n_kernels arrays of n_sms bytes: how many blocks of the kernel can stay on the SM. Valid
	 * are 0 to HEDDLE_POLICY_MAX_QUOTA (a bounded quota), and HEDDLE_POLICY_UNBOUNDED; heddled
	 * treats any other value as UNBOUNDED.
	 * - heddled reduces a bounded quota to what fits on an SM beside the bounded quotas of the
	 *   kernels before this one in the view.
	 * - The array of opaque or expected work reserves SMs for that work: a tenant that has no
	 *   launch now does not begin launches on SMs where this array is not 0. */
	uint8_t *quota;
	/* n_tenants bytes. 1: the tenant starts nothing: its new launches begin without an SM, and
	 * its opaque work waits. 0: its new launches begin with the quotas of its oldest kernel
	 * that has an SM. */
	uint8_t *held;
	/* When heddled should ask again if no event comes, at least HEDDLE_POLICY_MIN_WAKE from
	 * now; UNKNOWN: not at all. While a tenant is held or a kernel has no SM, heddled also asks
	 * every second. */
	uint64_t wake_ns;
	/* Predicts the durations of two launches (indices in the view) that run side by side with
	 * these numbers of blocks on each SM. `plan` is the pointer that decide received, not a
	 * copy. Returns 0, or -ENOENT if the durations are not known. The function is NULL if this
	 * heddled has no such model. */
	int (*ask)(const struct heddle_policy_plan *plan, const uint32_t kernel[2],
		const uint8_t quota[2], uint64_t ret_ns[2]);
};

struct heddle_policy {
	uint32_t size, abi;
	const char *name; /* name for messages and `heddle status`, which show at most 31 bytes */
	/* Creates the policy's state for a device on which tenants have appeared. `options` is
	 * policy_options of the configuration, or "", and is valid during the call. Returns NULL on
	 * failure; then every kernel gets the whole device. `create` itself can be NULL; then
	 * `state` is NULL. */
	void *(*create)(const struct heddle_policy_device *device, const char *options);
	void (*destroy)(void *state); /* may be NULL */
	/* Fills the plan for each kernel and tenant of the view `in`. Must not be NULL. */
	void (*decide)(
		void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out);
};

/* The function that the shared object exports. The object owns the returned table, which must stay
 * valid while the object is loaded. Returns NULL if the policy cannot run here. */
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
