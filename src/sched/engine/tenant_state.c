/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The tables of legal transitions of a tenant, and the functions that change its states. */
#include "tenant_state.h"

/* The states of a tenant. Each decision finds which tenants have work, and whose next work is worth
 * waiting for.
 *
 *            join            work              no more work
 *     NONE --------> NEW ----------> BUSY <--------------------> IDLE
 *                                     ^            work         |    ^
 *                                     |                 awaited |    | not awaited
 *                                     |          work           v    | any more
 *                                     +---------------------- EXPECTED
 *
 *   Any -> NONE: the tenant leaves. EXPECTED -> EXPECTED: a decision awaits it still. A decision
 *   may await a tenant that has just become idle, and so take both steps.
 *
 * The states of its opaque work.
 *
 *              begins                 begins while the tenant is held
 *     RUNS <------------- NONE ---------------------------------------> WAITS
 *      | ^                 ^ ^                                           | |
 *      | |      ends       | |                  ends                     | |
 *      +-------------------+ +-------------------------------------------+ |
 *        |                        the hold ends                            |
 *        +-----------------------------------------------------------------+
 */
#define TO(state)        (1u << TENANT_##state)
#define OPAQUE_TO(state) (1u << OPAQUE_##state)

static const uint8_t table[TENANT_STATES] = {
	[TENANT_NONE] = TO(NEW),
	[TENANT_NEW] = TO(NONE) | TO(BUSY),
	[TENANT_BUSY] = TO(NONE) | TO(IDLE),
	[TENANT_IDLE] = TO(NONE) | TO(BUSY) | TO(EXPECTED),
	[TENANT_EXPECTED] = TO(NONE) | TO(BUSY) | TO(IDLE) | TO(EXPECTED),
};

static const uint8_t opaque_table[OPAQUE_STATES] = {
	[OPAQUE_NONE] = OPAQUE_TO(RUNS) | OPAQUE_TO(WAITS),
	[OPAQUE_RUNS] = OPAQUE_TO(NONE),
	[OPAQUE_WAITS] = OPAQUE_TO(NONE) | OPAQUE_TO(RUNS),
};

tenant_hook *tenant_on_transition;

const char *tenant_state_name(enum tenant_state state)
{
	static const char *const names[TENANT_STATES] = {"none", "new", "busy", "idle", "expected"};

	return names[state];
}

const char *tenant_opaque_name(enum tenant_opaque state)
{
	static const char *const names[OPAQUE_STATES] = {
		"no opaque work", "opaque work runs", "opaque work waits"};

	return names[state];
}

bool tenant_may(enum tenant_state from, enum tenant_state to)
{
	return table[from] >> to & 1;
}

bool tenant_opaque_may(enum tenant_opaque from, enum tenant_opaque to)
{
	return opaque_table[from] >> to & 1;
}

bool tenant_to(enum tenant_state *io_state, uint32_t io_counts[TENANT_STATES], enum tenant_state to)
{
	enum tenant_state from = *io_state;
	bool legal = tenant_may(from, to);

	if (tenant_on_transition)
		tenant_on_transition(tenant_state_name(from), tenant_state_name(to), legal);
	if (!legal)
		return false;
	*io_state = to;
	io_counts[from] -= from != TENANT_NONE;
	io_counts[to] += to != TENANT_NONE;
	return true;
}

bool tenant_opaque_to(enum tenant_opaque *io_state, enum tenant_opaque to)
{
	bool legal = tenant_opaque_may(*io_state, to);

	if (tenant_on_transition)
		tenant_on_transition(tenant_opaque_name(*io_state), tenant_opaque_name(to), legal);
	if (legal)
		*io_state = to;
	return legal;
}
