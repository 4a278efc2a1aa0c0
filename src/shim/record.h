/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches written to files (heddle record): HEDDLE_REPORT names a folder. A program whose
 * launches are recorded is no tenant of heddled; everything is passed on. */
#ifndef HEDDLE_SHIM_RECORD_H
#define HEDDLE_SHIM_RECORD_H

#include "shim/managed.h"

bool record_on(void);
/* Launches as it is. The launch that is to be recorded is waited for, and written to the folder
 * with the memory before and after it. */
CUresult record_launch(const struct launch *l, CUresult (*as_is)(const struct launch *l));
/* One that is passed on: why it is not recorded is noted in the folder. */
void record_skip(CUfunction fn, const char *why);
void record_after_fork(void);

#endif
