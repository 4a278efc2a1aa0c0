/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reports the times of the program's copies to heddled (copy.c). */
#ifndef HEDDLE_SHIM_COPY_H
#define HEDDLE_SHIM_COPY_H

#include "shim/core/session.h"

/* Call this at each launch: the next copy is then the first one after a launch. */
void copies_anew(struct session *session);
/* Records the time of a copy in the page. If tenants run in time slices, a copy shortly after a
 * launch, such as the copy of its results, would need two more switches between tenants. So heddled
 * waits for such a copy before it switches to tenants of lower priority
 * (sched/engine/pauses.c). */
void copy_note(struct session *session);

#endif
