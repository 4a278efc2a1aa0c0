/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Which writes of a register reach which reads. PTX is not strictly SSA: a register may be written
 * in several places, and a write under a guard leaves what was there before as a possibility. */
#ifndef HEDDLE_CFG_CHAINS_H
#define HEDDLE_CFG_CHAINS_H

#include "cfg/cfg.h"

struct cfg_site {
	uint32_t reg, stmt;
};

struct cfg_chains {
	/* Each once, sorted by register, then statement. What both reads and writes is in both, and
	 * reads first. A guard is a read. */
	uint32_t n_defs, n_uses;
	struct cfg_site *def, *use;
	/* Those of register r are from [r] to before [r + 1]. */
	uint32_t *defs_of_reg, *uses_of_reg;
	/* The uses that def i may reach are uses[uses_of[i]] to before uses[uses_of[i + 1]], and
	 * the other way round. A use without any gets what was there when the function began. */
	uint32_t *uses_of, *uses;
	uint32_t *defs_of, *defs;
};
/* Everything in the arena. Unreachable blocks have sites, and chains among themselves. -ENOMEM,
 * -E2BIG: more than 2^32 chains. */
int cfg_chains(struct arena *a, const struct cfg *g, struct cfg_chains **ret);
/* The place of a site; CFG_NONE: there is none. */
uint32_t cfg_find_def(const struct cfg_chains *c, uint32_t reg, uint32_t stmt);
uint32_t cfg_find_use(const struct cfg_chains *c, uint32_t reg, uint32_t stmt);

#endif
