/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Variables of the program's modules, as forms use them (globals.c). */
#ifndef HEDDLE_SHIM_GLOBALS_H
#define HEDDLE_SHIM_GLOBALS_H

#include "shim/form/kernel.h"

/* Changes code that names a module variable, so that it reads the variable's original address from
 * an array in the form (globals.c). Loads from a .const variable keep the state space .const at
 * first, because the passes that run afterwards treat such loads specially. At the end,
 * host_leave_const turns them into global loads. */
int globals_bake(
	struct ptx_module *m, const struct kernel *k, struct vars *ret, struct diag_list *diags);
/* Returns true if all variables exist and have the alignment that the form's text assumes. */
bool globals_fit(struct session *session, const struct kernel *k, const struct vars *v);
/* Finds the driver's address and the size in bytes of a variable of the kernel's module. */
bool globals_address(const struct kernel *k, const char *name, CUdeviceptr *ret, size_t *ret_bytes);
/* globals_find returns the addresses for the form's array (globals.c), or NULL if a variable cannot
 * be found. globals_fill writes these addresses into the array of a loaded form. Call both between
 * placing_begin and placing_end. */
uint64_t *globals_find(const struct kernel *k, const struct vars *v);
bool globals_fill(struct session *session, CUmodule form, const uint64_t *at, uint32_t n);

#endif
