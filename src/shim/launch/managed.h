/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Starts managed launches (managed.c). */
#ifndef HEDDLE_SHIM_MANAGED_H
#define HEDDLE_SHIM_MANAGED_H

#include "shim/core/launch.h"
#include "shim/order/launches.h"

/* Copies n parameters to ret, each to its offset. Returns false if the driver would refuse the
 * parameters. */
bool launch_params(const struct launch *l, uint32_t n, const uint32_t *offsets,
	const uint32_t *sizes, uint8_t *ret);
struct admission;
/* Launches an admitted launch as a managed one. Returns true if it was launched, and stores the
 * driver's result in *ret. If false, the caller launches the kernel unmanaged, for the reason
 * a->why. */
bool managed_launch(
	struct session *session, const struct launch *l, struct admission *a, CUresult *ret);
/* Makes control blocks and the helper stream. The context must be current. */
int managed_init(struct session *session);

/* ---- grids of a launch ---- */
/* Limits the next grid of a guard form to `quota` blocks on an SM, as far as additional shared
 * memory (padding) can do so. */
void managed_pad(struct session *session, struct managed *m, uint32_t quota);
/* Returns the quota for a launch that has no control word of its own yet. */
uint32_t managed_first_quota(struct session *session);
/* Launches the form once, with m's parameters. `config` is the program's launch configuration, or
 * NULL. */
CUresult managed_fire(
	struct managed *m, uint64_t blocks, CUstream stream, const CUlaunchConfig *config);
/* Launches the closer, a one-thread kernel that follows each grid of the guard form in its stream.
 * The closer completes the launch, or reports that blocks are left to run. */
CUresult managed_fire_closer(struct session *session, struct managed *m, CUstream stream);

bool managed_open(struct session *session);
/* Learns from a launch that has completed (learn.c). Under the lock of the launches. */
void managed_learn(struct session *session, struct managed *m);

#endif
