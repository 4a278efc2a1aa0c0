/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Forms get the split between L1 cache and shared memory that the daemon names (daemon/carveout.c),
 * or their own split again. The driver reads the setting at each launch. The split is a hint: if
 * the driver refuses it, the form runs with its present split. */
#include "shim/kernel.h"
#include "shim/shim.h"

#include <stdatomic.h>

#define WHICH CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT

void carveout_set(struct form *f)
{
	uint32_t want = __atomic_load_n(&shim->page->carveout, __ATOMIC_ACQUIRE);
	const struct kernel *k = f->kernel;
	int own = k->attr_set[WHICH] ? k->attr[WHICH] : CU_SHAREDMEM_CARVEOUT_DEFAULT;

	if (atomic_exchange(&f->carveout, want) == want)
		return;
	cu.cuFuncSetAttribute(f->on.fn, WHICH, want && want <= 100 ? (int)want : own);
}
