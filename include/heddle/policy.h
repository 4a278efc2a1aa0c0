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
 * `size`. All structures have grown together, so `create` can return NULL if the device is smaller
 * than the policy's own struct heddle_policy_device. A policy must walk arrays with
 * heddle_policy_kernel_at and heddle_policy_tenant_at, which use the element sizes of the view. */
#ifndef HEDDLE_POLICY_H
#define HEDDLE_POLICY_H

#include <heddle/policy_view.h>

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
 *   yet. */

#ifdef __cplusplus
extern "C" {
#endif

/* The plan that the policy fills in. Before the call all quotas and `held` are 0, and wake_ns is
 * UNKNOWN. */
struct heddle_policy_plan {
	uint32_t size, abi;
	/* n_kernels arrays of n_sms bytes: how many blocks of the kernel can stay on the SM. Valid
	 * are 0 to HEDDLE_POLICY_MAX_QUOTA (a bounded quota), and HEDDLE_POLICY_UNBOUNDED; heddled
	 * treats any other value as UNBOUNDED.
	 * - heddled reduces a bounded quota to what fits on an SM beside the bounded quotas of the
	 *   kernels before this one in the view.
	 * - The array of opaque or expected work has no effect on other work. If it is not 0,
	 *   heddled takes it as the reason why other kernels get no SM. */
	uint8_t *quota;
	/* n_tenants bytes. 1: the tenant starts nothing: its new launches begin without an SM, and
	 * its opaque work waits. 0: its new launches begin with the quotas of its oldest kernel
	 * that has an SM, or without bounds if it has no kernel. */
	uint8_t *held;
	/* When heddled should ask again if no event comes; UNKNOWN: not at all. The time must be
	 * later than now. If it is often sooner than HEDDLE_POLICY_MIN_WAKE from now, heddled asks
	 * after HEDDLE_POLICY_MIN_WAKE. While a tenant is held or a kernel has no SM, heddled also
	 * asks after HEDDLE_POLICY_MAX_WAKE. */
	uint64_t wake_ns;
	/* Predicts the durations of two launches (indices in the view) that run side by side with
	 * these numbers of blocks on each SM. `plan` is the pointer that decide received, not a
	 * copy. Returns 0, or -ENOENT if the durations are not known. The function is NULL if this
	 * heddled has no such model. */
	int (*ask)(const struct heddle_policy_plan *plan, const uint32_t kernel[2],
		const uint8_t quota[2], uint64_t ret_ns[2]);
	/* n_tenants pointers, NULL before the call. Each points to n_sms bytes: the quotas with
	 * which new launches of the tenant begin, whether it is held or not. The policy owns the
	 * bytes, which must be valid until its next call. If the pointer is NULL, heddled chooses
	 * the quotas (`held`). */
	const uint8_t **begin;
};

/* Facts that a policy states about itself, as flags. */
enum heddle_policy_flags {
	/* Work of a higher priority always goes first. A tenant is then expected (EXPECTED) only if
	 * other work of lower priority would get the device meanwhile, and each pause counts in
	 * full for its mean pause. Without this flag, a tenant is expected if any other tenant
	 * would get the device, and a pause in which others had the device can only lower the
	 * mean. */
	HEDDLE_POLICY_BY_PRIORITY = 1 << 0,
	/* A tenant's weight entitles it to a share of the device, which `heddle ps` shows. */
	HEDDLE_POLICY_BY_SHARES = 1 << 1,
	/* A tenant that is alone on the device reports its launches and gets quotas, too. */
	HEDDLE_POLICY_STEERS_ONE = 1 << 2,
	/* Kernels of several tenants may divide an SM's memory into L1 cache and shared memory
	 * differently. Without this flag they all ask for the same division. Then blocks of each
	 * kernel find room on an SM, whichever came first, but some kernels have a small cache. */
	HEDDLE_POLICY_ANY_SPLIT = 1 << 3,
	/* Its plans may let more kernels run on an SM than fit there together. heddled does not
	 * report it then. */
	HEDDLE_POLICY_OVERCOMMITS = 1 << 4,
	/* It gains only where kernels of several programs run at the same time. heddled says so
	 * where they cannot. */
	HEDDLE_POLICY_SIDE_BY_SIDE = 1 << 5,
	/* It gives kernels whole SMs. heddled then does not ask it when the last block of a launch
	 * has begun, because that makes no room for blocks of other kernels. */
	HEDDLE_POLICY_WHOLE_SMS = 1 << 6,
	/* It takes no SM from a kernel and holds no tenant. heddled then never polls to be quick at
	 * a preemption, and does not bound opaque work. */
	HEDDLE_POLICY_TAKES_NOTHING = 1 << 7,
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
	uint32_t flags; /* bits of enum heddle_policy_flags */
	/* Checks the options for `create`. Returns 0, or a negative number; then ret_why (`bytes`
	 * bytes) says what is wrong, as a sentence. May be NULL. */
	int (*check)(const char *options, char *ret_why, size_t bytes);
};

/* The function that the shared object exports. The object owns the returned table, which must stay
 * valid while the object is loaded. Returns NULL if the policy cannot run here. */
__attribute__((visibility("default"))) const struct heddle_policy *heddle_policy(void);

/* The plan's row for kernel i: one byte for each of the device's n_sms SMs. */
static inline uint8_t *heddle_policy_row(
	const struct heddle_policy_view *v, struct heddle_policy_plan *p, uint32_t i)
{
	return p->quota + (size_t)i * v->device->n_sms;
}

#ifdef __cplusplus
}
#endif

#endif
