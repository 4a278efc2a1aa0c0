/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Recording launches to files (heddle record): HEDDLE_REPORT names a folder. A program under record
 * is no tenant of heddled, and the shim passes everything on. */
#ifndef HEDDLE_SHIM_RECORD_H
#define HEDDLE_SHIM_RECORD_H

#include "shim/managed.h"

bool record_on(void);
/* Launches l as it is. If it is the launch to record, waits for it, and writes it to the folder
 * with the memory before and after it. */
CUresult record_launch(const struct launch *l, CUresult (*as_is)(const struct launch *l));
/* For a launch that is passed on: notes in the folder why it is not recorded. */
void record_skip(CUfunction fn, const char *why);
void record_after_fork(void);

#endif
