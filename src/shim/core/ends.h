/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The end of a context, as the modules' functions get it. The rows of join/lifecycle.def name these
 * functions. */
#ifndef HEDDLE_SHIM_ENDS_H
#define HEDDLE_SHIM_ENDS_H

#include "shim/core/session.h"

struct session_ends {
	/* The context that has ended. NULL before the driver's call, and if that call failed. */
	CUcontext ctx;
	bool is_ours; /* the shim has its forms, streams and control blocks in this context */
};

#endif
