/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Control blocks: device memory that a stream's managed launches share, one block a stream. */
#ifndef HEDDLE_SHIM_CTLPOOL_H
#define HEDDLE_SHIM_CTLPOOL_H

#include "shim/managed.h"

/* Makes the first blocks; -ENOTSUP: streams cannot wait for a word in one. The context is
 * current. */
int ctlpool_init(void);
bool ctlpool_give(struct stream *s); /* false: there is no memory for one */
void ctlpool_take_back(struct stream *s);
void ctlpool_forget(void); /* the context is gone, and all blocks with it */
void ctlpool_after_fork(void);

#endif
