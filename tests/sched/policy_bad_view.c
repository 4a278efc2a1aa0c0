/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shared object's bad_view, which ignores the view. */
#include "policy_bad.h"

void bad_view(const struct heddle_policy_view *in)
{
	(void)in;
}
