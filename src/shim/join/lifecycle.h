/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Calls all modules when a context ends (lifecycle.def). */
#ifndef HEDDLE_SHIM_LIFECYCLE_H
#define HEDDLE_SHIM_LIFECYCLE_H

#include "shim/core/ends.h"

/* Call these around a driver call that may end a context of the program. is_ours: it may be the
 * session's context. From lifecycle_pause until lifecycle_resume, no thread of the shim calls the
 * driver in that context, and no launch of the program is managed. */
void lifecycle_pause(struct session *session, bool is_ours);
/* ended: the context that has ended; NULL: no context has ended. */
void lifecycle_resume(struct session *session, bool is_ours, CUcontext ended);

#endif
