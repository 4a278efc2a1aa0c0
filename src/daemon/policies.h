/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Policies of other people (heddle/policy.h): which files heddled loads, the note on disk that one
 * is loaded, and the watchdog over its calls. The engine knows none of this (sched/planner.h). One
 * thread calls. */
#ifndef HEDDLE_DAEMON_POLICIES_H
#define HEDDLE_DAEMON_POLICIES_H

#include "config.h"

#define POLICY_CALL_MAX_NS 1000000000ull /* of one call into a policy; then heddled ends */

struct policy_loaded;

/* Sets c->policy to what c->policy_file names, and *ret to what was loaded for it; NULL if that is
 * one of the engine's own (no policy_file; or `none`, since the note of an earlier heddled names
 * that file, which is said). A file that is loaded already, as `old` (NULL: nothing is), is not
 * loaded again: *ret is old. The caller frees *ret with policy_unload, once no engine uses it, and
 * c->policy with it. c->socket must be set: the note lies there. -EINVAL: said; nothing changed,
 * and the note is of `old` again. */
int policy_choose(struct hd_config *c, struct policy_loaded *old, struct policy_loaded **ret);
/* keep_note: another policy has noted itself since. NULL: nothing. */
void policy_unload(struct policy_loaded *p, bool keep_note);
/* Is the file that c->policy_file names, if any, one that heddled would load? Else says why. 0 or
 * -EINVAL. */
int policy_check(const struct hd_config *c);

#endif
