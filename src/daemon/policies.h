/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Policies in files (heddle/policy.h): checks and loads them, keeps a note on disk while one is
 * loaded, and limits the time of their calls with a watchdog. The scheduling engine knows nothing
 * of this (sched/policy/policy.h). One thread calls these functions. */
#ifndef HEDDLE_DAEMON_POLICIES_H
#define HEDDLE_DAEMON_POLICIES_H

#include "config.h"

/* Maximum duration of one call into a policy. heddled exits if a call takes longer. */
#define POLICY_CALL_MAX_NS 1000000000ull

struct policy_loaded;

/* Loads the policy of c->policy_file and sets c->policy. c->socket must be set, because the note is
 * normally beside the socket. Returns 0, or -EINVAL after logging the error (unless memory ran
 * out).
 *
 * - *ret is the loaded file. It is NULL for a built-in policy. It is also NULL if an earlier heddled
 *   ended while the file was loaded (policies.c): then `none` is used instead, and this is logged.
 * - `old` is the policy that is loaded now, or NULL. If neither its file nor its options differ,
 *   the file is not loaded again: *ret is old.
 * - The caller frees *ret with policy_unload when no engine uses it any more. c->policy is invalid
 *   then.
 * - After -EINVAL, c->policy has not changed, and the note names `old` again. */
int policy_choose(struct hd_config *c, struct policy_loaded *old, struct policy_loaded **ret);
/* Unloads the policy p; does nothing if p is NULL. If another policy from a file replaces p, set
 * keep_note: the note on disk names that other policy already, so the note stays, and the watchdog
 * continues. */
void policy_unload(struct policy_loaded *p, bool keep_note);
/* Checks the file c->policy_file, or the options of a built-in policy. Returns 0, or -EINVAL after
 * logging the error. */
int policy_check(const struct hd_config *c);

#endif
