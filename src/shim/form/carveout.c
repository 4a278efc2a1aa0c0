/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sets the split of an SM's on-chip memory between L1 cache and shared memory for a form: the split
 * that heddled requests (daemon/carveout.c), or the form's own. The driver reads the setting at
 * each launch. The split is a hint: if the driver refuses it, the form runs with its present
 * split. */
#include "shim/form/carveout.h"

#include "shim/form/kernel.h"

#include <stdatomic.h>

#define WHICH CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT

void carveout_set(struct session *session, struct form *f)
{
	uint32_t want = __atomic_load_n(&session->page->carveout, __ATOMIC_ACQUIRE);
	const struct kernel *k = f->kernel;
	int own = k->attr_set[WHICH] ? k->attr[WHICH] : CU_SHAREDMEM_CARVEOUT_DEFAULT;

	if (atomic_exchange(&f->carveout, want) == want)
		return;
	cu.cuFuncSetAttribute(f->on.fn, WHICH, want && want <= 100 ? (int)want : own);
}
