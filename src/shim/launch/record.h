/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Records launches to files (`heddle record`). HEDDLE_REPORT names the folder. A program that is
 * recorded is no tenant of heddled, and the shim passes every call on to the driver. */
#ifndef HEDDLE_SHIM_RECORD_H
#define HEDDLE_SHIM_RECORD_H

#include "shim/core/launch.h"

bool record_on(void);
/* Launches l unchanged, by a call of as_is. If l is the launch of its kernel that is to be
 * recorded, waits until it is complete, and writes the launch to the folder, with the contents of
 * memory before and after it. */
CUresult record_launch(
	struct session *session, const struct launch *l, CUresult (*as_is)(const struct launch *l));
/* Notes in the folder that a launch is not recorded, and why. It is for launches that the shim
 * never records: cooperative launches, and graphs (fn is NULL). */
void record_skip(struct session *session, CUfunction fn, const char *why);
void record_after_fork(void);

#endif
