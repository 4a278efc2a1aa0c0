/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The target that code of two modules can be assembled for, by the PTX ISA's rules for .target:
 * a plain target (sm_90) runs on its own and all later architectures; an architecture-specific one
 * (sm_90a) on its own alone; a family-specific one (sm_100f) on its own and on later ones of its
 * family. So sm_90 and sm_90a join to sm_90a, sm_100f and sm_103 to sm_103f, and sm_90a and sm_100
 * do not join: no GPU runs both. */
#ifndef HEDDLE_PTX_TARGET_H
#define HEDDLE_PTX_TARGET_H

#include "ptx/ptx.h"

struct ptx_target {
	unsigned sm;
	char kind;        /* 0: plain; 'a', 'f'; or another suffix, which joins only its equal */
	unsigned options; /* a bit for each of ptx_target_options */
};

/* Options that change what code means: modules join only if both have them. "debug" is not one. */
#define PTX_TARGET_OPTIONS 2
extern const char *const ptx_target_options[PTX_TARGET_OPTIONS];

struct ptx_target ptx_target_of(const struct ptx_module *m);
/* False: the architectures do not go together, or the options differ. */
bool ptx_target_join(
	const struct ptx_target *a, const struct ptx_target *b, struct ptx_target *ret);
/* "sm_90a, texmode_independent" */
char *ptx_target_print(struct arena *arena, const struct ptx_target *t);

#endif
