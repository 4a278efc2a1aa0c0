/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts the blocks on the virtual SMs in the table that processes share. */
#ifndef HEDDLE_TESTS_RESIDENT_H
#define HEDDLE_TESTS_RESIDENT_H

#include "dev/cpu/sm/sm_table.h"

/* Counts the resident blocks of this process and of all processes. */
static inline void sm_resident(struct sm *s, uint32_t *ret_mine, uint32_t *ret_all)
{
	uint32_t mine = 0, all = 0;

	sm_lock(s);
	for (uint32_t i = 0; i < s->t->config.n_sms * SM_MAX_SLOTS; i++) {
		all += s->t->slot[i].proc != SM_NONE;
		mine += s->t->slot[i].proc == s->me;
	}
	sm_unlock(s);
	*ret_mine = mine;
	*ret_all = all;
}

#endif
