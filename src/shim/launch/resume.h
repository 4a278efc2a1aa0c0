/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches further rounds of workers for managed launches (resume.c). */
#ifndef HEDDLE_SHIM_RESUME_H
#define HEDDLE_SHIM_RESUME_H

#include "shim/core/session.h"

/* Resumes launches to which heddled has granted SMs. Returns in how many ns to call this again, or
 * UINT64_MAX if only a wake-up makes that necessary. */
uint64_t managed_resume(struct session *session);
/* Lets all launches run without a daemon: raises the quotas of preempted launches, and of launches
 * that begin. Call this repeatedly. A launch may have begun with the low quotas from before the
 * first call, and the page may show that it has begun only later. */
void managed_take_over(struct session *session);
/* True if heddled or the first quotas left any launch without SMs. */
bool managed_any_stopped(struct session *session);

#endif
