/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Installed before main, so that a test need not call anything. */
#include "strict.h"

#include <stdio.h>
#include <stdlib.h>

unsigned strict_taken[LAUNCH_STATES][LAUNCH_STATES];

static bool allowed;

void strict_allow(bool illegal)
{
	allowed = illegal;
}

static void hear(enum launch_state from, enum launch_state to, bool legal)
{
	strict_taken[from][to]++;
	if (legal || allowed)
		return;
	fprintf(stderr, "illegal transition of a launch: from %s to %s\n", launch_state_name(from),
		launch_state_name(to));
	abort();
}

static void hear_tenant(const char *from, const char *to, bool legal)
{
	if (legal || allowed)
		return;
	fprintf(stderr, "illegal transition of a tenant: from %s to %s\n", from, to);
	abort();
}

__attribute__((constructor)) static void begin(void)
{
	launch_on_transition = hear;
	tenant_on_transition = hear_tenant;
}
