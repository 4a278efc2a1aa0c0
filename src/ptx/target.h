/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds one target for which the code of two modules can be assembled, by the PTX ISA's rules for
 * .target:
 * - A plain target (sm_90) runs on its own and all later architectures.
 * - An architecture-specific target (sm_90a) runs only on its own architecture.
 * - A family-specific target (sm_100f) runs on its own architecture and on later ones of its
 *   family.
 *
 * So sm_90 and sm_90a join to sm_90a, and sm_100f and sm_103 to sm_103f. sm_90a and sm_100 do not
 * join, because no GPU runs both. */
#ifndef HEDDLE_PTX_TARGET_H
#define HEDDLE_PTX_TARGET_H

#include "ptx/ptx.h"

struct ptx_target {
	unsigned sm;
	/* 0 for a plain target, else the suffix: 'a', 'f', or one that is not known. A target with
	 * an unknown suffix joins only with a target that has the same suffix or none. */
	char kind;
	unsigned options; /* bit mask: one bit per entry of ptx_target_options */
};

/* Options that change the meaning of code. Two modules join only if both have the same options.
 * "debug" is not one of them. */
#define PTX_TARGET_OPTIONS 2
extern const char *const ptx_target_options[PTX_TARGET_OPTIONS];

struct ptx_target ptx_target_of(const struct ptx_module *m);
/* Joins two targets. Returns false if the architectures are incompatible or the options differ. */
bool ptx_target_join(
	const struct ptx_target *a, const struct ptx_target *b, struct ptx_target *ret);
/* Returns the text of a target, such as "sm_90a, texmode_independent". */
char *ptx_target_print(struct arena *arena, const struct ptx_target *t);

#endif
