/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The passes, in the order in which a command line shows them. */
#include "pass/pass.h"

#define ROW(name, requires, preserves) {#name, pass_##name, requires, preserves},
const struct pass_row pass_table[] = {PASS_ROWS(ROW)};
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
