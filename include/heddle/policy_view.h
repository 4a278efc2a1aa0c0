/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The part of heddle/policy.h that a policy reads: a device, and the work that competes for it.
 * Include heddle/policy.h, which has the rules. */
#ifndef HEDDLE_POLICY_VIEW_H
#define HEDDLE_POLICY_VIEW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_POLICY_ABI       1u
#define HEDDLE_POLICY_UNKNOWN   UINT64_MAX
#define HEDDLE_POLICY_UNBOUNDED 255u /* a quota: as many blocks as fit on an SM */
#define HEDDLE_POLICY_MAX_QUOTA 31u  /* the largest bounded quota */
/* ns: the shortest wait until heddled asks again, but for a few times in a row */
#define HEDDLE_POLICY_MIN_WAKE 100000u
/* ns: the longest wait until heddled asks again while a kernel has no SM or a tenant is held */
#define HEDDLE_POLICY_MAX_WAKE 1000000000u
#define HEDDLE_POLICY_CURVE    33u
#define HEDDLE_POLICY_MAX_SMS  256u /* maximum number of SMs of a device */
/* bytes that a policy may use for its own state of one kernel or tenant */
#define HEDDLE_POLICY_OWN 256u

/* Limits of a device, which are constant while the policy's state exists. The fields from `spatial`
 * on are settings of heddled, which can change between two calls. */
struct heddle_policy_device {
	uint32_t size; /* size of this structure in bytes */
	uint32_t n_sms;
	uint32_t threads_per_sm, blocks_per_sm;
	uint32_t regs_per_sm;   /* registers of 32 bits */
	uint32_t shared_per_sm; /* bytes of shared memory */
	/* 1: kernels of several tenants can run at the same time. 0: the device as a whole switches
	 * between tenants, so a plan should give SMs to one tenant at a time. */
	uint32_t simultaneous;
	uint32_t spatial;           /* 0: heddled is configured to preempt whole devices only */
	uint32_t within_srt;        /* 1: launches of one tenant compete by remaining time */
	uint32_t overhead_permille; /* share of the device's time that switching may cost */
	/* SMs to take from other kernels beyond those that a kernel needs */
	uint32_t extra_sms;
	/* a kernel that makes no progress for this time, while an equal one waits, is stalled */
	uint64_t still_ns;
	/* How long a burst of opaque work holds opaque work of lower priority; UINT64_MAX: until it
	 * ends. */
	uint64_t opaque_hold_ns;
	uint32_t opaque_free; /* 1: opaque work never holds other opaque work */
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
	uint64_t order; /* rank by arrival: an earlier launch has a smaller number */
	/* how many priority levels its stream is below the highest active stream of its tenant */
	uint32_t depth;
	uint32_t threads;       /* per block */
	uint32_t regs;          /* per thread */
	uint32_t shared_bytes;  /* per block */
	uint32_t blocks_per_sm; /* how many of its blocks fit on an SM: 1 to 32 */
	uint32_t running;       /* 1: it has an SM now */
	/* 1: heddled has preempted this kernel, and the kernel's blocks have not exited yet. Until
	 * they have, the kernel gets no SM, whatever the plan says. */
	uint32_t leaving;
	uint32_t idle; /* 1: a task pool that has no task now */
	/* 1: this kernel has the same number of blocks on all its SMs: as many as fit
	 * (blocks_per_sm), or one of the numbers in `counts`, which may be empty. A change of the
	 * number costs as much as a preemption, because the launch has to stop and is launched
	 * again. */
	uint32_t unranked;
	uint64_t blocks; /* number of blocks in the grid */
	/* blocks that have begun, when heddled last read the device's report */
	uint64_t started;
	uint64_t finished; /* number of blocks that have ended */
	/* predicted duration of the whole launch alone on the device, or UNKNOWN */
	uint64_t predicted_ns;
	uint64_t waited_ns; /* total time without an SM since submission */
	/* remaining time alone on the device, from the finished blocks; or UNKNOWN */
	uint64_t remaining_ns;
	uint64_t cost_ns; /* time to preempt it and to resume it later */
	/* Element n: duration of the whole launch in ns if at most n of its blocks are on each SM.
	 * UNKNOWN for 0, and for numbers that have not been measured yet. */
	uint64_t curve_ns[HEDDLE_POLICY_CURVE];
	const uint8_t *quota; /* n_sms bytes: its current quota on each SM */
	/* For an unranked launch: bit n is 1 if a quota of n has an effect. 0 and blocks_per_sm
	 * always do. Any other quota has the effect of the next smaller number, or else of the
	 * smallest. If `counts` is 0, only a quota of 0 limits the launch. */
	uint32_t counts;
	/* 1: its blocks are on the device, or were. 0: heddled expects them, because the program
	 * has submitted the launch and its tenant has no launch that has arrived. */
	uint32_t arrived;
	/* 1: it has SMs, and a block of it has begun there, as far as heddled knows. Until then it
	 * costs nothing to take its SMs back. */
	uint32_t begun;
	/* Time that it has had SMs so far, as time on all SMs that its grid can use. */
	uint64_t attained_ns;
	uint64_t granted_ns; /* when it was last granted SMs, or arrived if that is later */
	/* HEDDLE_POLICY_OWN bytes for the policy, aligned for any type: 0 when the launch is
	 * submitted and when the policy starts, and else as the policy left them. NULL for opaque
	 * and expected work. */
	void *own;
};

/* A program: a process with all its streams. The view lists all programs, in no particular
 * order. */
struct heddle_policy_tenant {
	uint32_t id;      /* the number that `heddle ps` shows */
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
	/* Its launches that compete: those in the view, and those that heddled ignores because they
	 * are still on the device long after their preemption. */
	uint32_t launches;
	uint64_t began_ns; /* when heddled last saw that a block of its launches had begun */
	uint64_t burst_ns; /* when its present or last burst of work began */
	void *own;         /* like a kernel's `own`; lives as long as the tenant */
};

struct heddle_policy_view {
	uint32_t size, abi;
	uint32_t kernel_size, tenant_size; /* size of one array element, in bytes */
	uint64_t now_ns;
	const struct heddle_policy_device *device;
	const void *kernels; /* launches by order of arrival, then opaque and expected work */
	const void *tenants;
	uint32_t n_kernels, n_tenants;
	/* Mean time in ns from the grant of SMs to a kernel until its first block starts there.
	 * During this time blocks of other kernels end, the device switches between programs, and
	 * the shim launches the kernel's workers. 0: not measured yet. */
	uint64_t change_ns;
	uint64_t left_ns; /* when a preempted launch was last seen leaving its SMs, or had left */
};

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

#ifdef __cplusplus
}
#endif

#endif
