/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A library for policies (heddle/policy.h): it turns an order of kernels into a plan. The built-in
 * policy hpf uses it, and so can a policy in a shared object:
 *
 *	cc -std=c11 -O2 -shared -fPIC -o mine.so mine.c -lheddle_lanes
 *
 * The policy puts kernels into lanes. A lane is a set of kernels that share SMs. Lanes get their
 * SMs in order of their numbers. A lane may use every SM that no lane with a smaller number has
 * reserved, and keeps the SMs that it has. Beyond that, the library
 * - takes SMs so that running kernels are disturbed least;
 * - shares the device by time slices among tenants of the same priority while one of them is
 *   stalled (`turn`);
 * - bounds how long a kernel waits behind kernels of its priority (`overdue`);
 * - delays a kernel that has lost its SMs several times before a block of it had run;
 * - reserves SMs for opaque and expected work, and says with which SMs new launches begin.
 *
 * A decision has three steps: heddle_lanes_list lists the kernels, the policy sorts the list and
 * calls heddle_lanes_enter for kernels, and heddle_lanes_plan fills the plan. */
#ifndef HEDDLE_POLICY_LANES_H
#define HEDDLE_POLICY_LANES_H

#include <heddle/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_NO_LANE UINT32_MAX
#define HEDDLE_NO_TURN UINT64_MAX
/* The longest time for which a kernel waits behind kernels of its priority that can be preempted,
 * and the most losses of SMs in one second before a block has finished. */
#define HEDDLE_LANES_WAIT_MAX_NS 200000000u
#define HEDDLE_LANES_VAIN_MAX    20u
#define HEDDLE_HOLD_NONE         INT32_MIN

/* The library must not be replaced by functions of heddled that have the same names. */
#define HEDDLE_LANES_API __attribute__((visibility("hidden")))

/* The library's state for one device. The calls for one state must come from one thread at a time,
 * which heddled guarantees. The library also keeps state in `own` of kernels and tenants, so a
 * policy that uses it must not use that memory. */
struct heddle_lanes;

/* A kernel of the view. */
struct heddle_lane_kernel {
	const struct heddle_policy_kernel *kernel;
	const struct heddle_policy_tenant *tenant;
	uint32_t index; /* index in the view */
	/* SMs that its unfinished blocks can use, and those that opaque or expected work needs */
	uint32_t need_sms;
	/* Queue position among tenants of the same priority; the smaller one should go first.
	 * HEDDLE_NO_TURN: the kernel has nothing to do now, and should go last. */
	uint64_t turn;
	/* Not 0 if it has waited too long behind kernels of its priority. The smaller number should
	 * go first, and before those that are not overdue. */
	uint64_t overdue;
	/* heddle_lanes_enter sets the lane (before: HEDDLE_NO_LANE), the SMs to reserve, and whether
	 * the kernel gets no SM yet although its lane reserves them. */
	uint32_t lane, want_sms, withheld;
	uint32_t position; /* used by the library only */
};

/* Returns NULL if memory is exhausted or if heddled is too old. Free it with
 * heddle_lanes_destroy. */
HEDDLE_LANES_API struct heddle_lanes *heddle_lanes_create(
	const struct heddle_policy_device *device);
HEDDLE_LANES_API void heddle_lanes_destroy(struct heddle_lanes *lanes); /* may be NULL */

/* Begins a decision. Returns the kernels of the view in its order, *ret_n of them. The array
 * belongs to the library, and is valid until the next call of it; the policy may sort it. Returns
 * NULL if memory is exhausted; then the policy must fill the plan without the library. */
HEDDLE_LANES_API struct heddle_lane_kernel *heddle_lanes_list(
	struct heddle_lanes *lanes, const struct heddle_policy_view *in, uint32_t *ret_n);
/* Puts the kernel into a lane, for which want_sms SMs are reserved on its account. If heddled took
 * SMs back from the kernel before a block of it had run, the kernel may be withheld for a while:
 * other work may return at once. No other work gets its SMs meanwhile, so that this other work is
 * not preempted in vain, too. */
HEDDLE_LANES_API void heddle_lanes_enter(
	struct heddle_lanes *lanes, struct heddle_lane_kernel *k, uint32_t lane, uint32_t want_sms);
/* Ends the decision: fills the whole plan, that is quotas, `held`, `begin` and `wake_ns`. The policy
 * may change `held` and `begin` afterwards; the arrays of `begin` belong to the library, and are
 * valid until the next heddle_lanes_plan. If memory is exhausted, every kernel gets the whole
 * device, and `held` and `begin` stay as they were.
 *
 * hold_below is a priority, usually that of the first kernel with work (HEDDLE_HOLD_NONE: there is
 * none). It decides for each tenant
 * - `held`: tenants with a lower priority start no opaque work. heddled's settings can lower the
 *   priority;
 * - `begin`, with which SMs new launches begin. A tenant that has launches: with the SMs of the
 *   one in its first lane; with none if no launch has a lane. A tenant that has no launch: with
 *   all SMs; at a lower priority than hold_below with the SMs that no lane has reserved, or with
 *   none if the device runs one program at a time (time slices).
 * A policy that holds tenants whatever their priority passes INT32_MAX, and then changes `held` and
 * `begin` for the others.
 *
 * Expected work (HEDDLE_POLICY_EXPECTED) reserves SMs like a launch until its tenant submits one,
 * or else until heddled gives up: after twice the tenant's usual pause, but not later than the time
 * that it takes to give the device to other work and take it back, nor than linger_max_us of
 * heddled's configuration. A tenant that did not wait for the end of its work is expected for that
 * whole time, and one that usually copies its results for the time of the copies, at most 150 us.
 * The launch that then comes is a kernel of its own, with its own order of arrival. */
HEDDLE_LANES_API void heddle_lanes_plan(struct heddle_lanes *lanes,
	const struct heddle_policy_view *in, struct heddle_policy_plan *out, int32_t hold_below);

#ifdef __cplusplus
}
#endif

#endif
