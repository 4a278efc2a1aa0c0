/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Policies in files (heddle/policy.h): checks and loads them, keeps a note on disk while one is
 * loaded, and limits their calls with a watchdog. The engine knows none of this
 * (sched/planner.h). One thread calls these functions. */
#ifndef HEDDLE_DAEMON_POLICIES_H
#define HEDDLE_DAEMON_POLICIES_H

#include "config.h"

/* limit of one call into a policy; heddled exits after it */
#define POLICY_CALL_MAX_NS 1000000000ull

struct policy_loaded;

/* Sets c->policy as c->policy_file says, and *ret to the loaded file. *ret is NULL for one of
 * heddled's own policies: without a policy_file, or for `none`, which replaces a file that the
 * note of an earlier heddled names (this is logged). If `old` is the same file (NULL: none is
 * loaded), it is not loaded again: *ret is old. The caller frees *ret with policy_unload once no
 * engine uses it; c->policy is invalid then. c->socket must be set, because the note is beside
 * it. -EINVAL: logged; nothing has changed, and the note names `old` again. */
int policy_choose(struct hd_config *c, struct policy_loaded *old, struct policy_loaded **ret);
/* keep_note: the note names another policy now. p NULL: does nothing. */
void policy_unload(struct policy_loaded *p, bool keep_note);
/* Checks the file of c->policy_file or the options of heddled's own policy. 0, or -EINVAL:
 * logged. */
int policy_check(const struct hd_config *c);

#endif
