/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides from the effects of two instructions whether a thread may execute them in either order.
 * Code that was reordered by these decisions must compute the same results. */
#ifndef HEDDLE_TESTS_CFG_MUST_ORDER_H
#define HEDDLE_TESTS_CFG_MUST_ORDER_H

#include "cfg/effects.h"

/* Returns true if the effects concern memory shared with other threads, so that a fence orders
 * them. */
static inline bool is_seen(const struct cfg_effects *e)
{
	return ((e->reads | e->writes) & (CFG_GLOBAL | CFG_SHARED)) || e->ordered || e->fence;
}

static inline bool follows_time(const struct cfg_effects *e)
{
	return e->time || e->ordered || e->fence || e->convergent || e->writes;
}

/* Returns true if a, the earlier of two instructions of a thread, has to stay before b. The
 * function is symmetric: must_order(b, a) returns the same. */
static inline bool must_order(const struct cfg_effects *a, const struct cfg_effects *b)
{
	if (a->leaves || b->leaves)
		return true;
	if ((a->writes & (b->reads | b->writes)) || (a->reads & b->writes))
		return true;
	if ((a->fence && is_seen(b)) || (b->fence && is_seen(a)))
		return true;
	if ((a->writes_cc && (b->reads_cc || b->writes_cc)) || (a->reads_cc && b->writes_cc))
		return true;
	if ((a->time && follows_time(b)) || (b->time && follows_time(a)))
		return true;
	if ((a->trap && b->writes) || (b->trap && a->writes))
		return true;
	return (a->ordered && b->ordered) || (a->convergent && b->convergent) ||
	       (a->async && b->async);
}

#endif
