/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the driver's function for a stub at its first call. The generated stubs and this file need
 * each other: stubs.S jumps to lazy.S, which calls shim_resolve, which fills in the stubs' table. */
#include "shim/core/driver.h"

#include <stdatomic.h>
#include <string.h>

/* The generated stubs (gen_stubs.sh) use two tables: shim_table has one function pointer for each
 * driver function, and shim_names has the functions' names, one after another in the same order. */
extern _Atomic(void *) shim_table[];
extern const char shim_names[];
void *shim_resolve(unsigned index);

void *shim_resolve(unsigned index)
{
	const char *name = shim_names;
	void *fn;

	for (unsigned i = 0; i < index; i++)
		name += strlen(name) + 1;
	fn = shim_real(name);
	if (!fn)
		fn = (void *)shim_lacking;
	atomic_store_explicit(&shim_table[index], fn, memory_order_relaxed);
	return fn;
}
