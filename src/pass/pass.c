/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The passes, in the order in which a command line shows them. */
#include "pass/pass.h"

const struct pass_row pass_table[] = {
	{"preempt", pass_preempt, "an entry with a body", "name, parameters, module variables"},
};
const unsigned pass_table_len = ARRAY_LEN(pass_table);

const char *pass_tier_name(enum pass_tier tier)
{
	static const char *const names[] = {
		[PASS_MANAGED] = "managed",
		[PASS_GUARD] = "guard",
		[PASS_HELD] = "held",
	};

	return names[tier];
}
