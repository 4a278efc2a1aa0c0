/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Watches calls into a policy's code: a call that takes too long (watchdog.h), that crashes, or that
 * ends the process. heddled and heddle sim report each of these in a line before they end. */
#ifndef HEDDLE_DAEMON_POLICY_CALLS_H
#define HEDDLE_DAEMON_POLICY_CALLS_H

#include "base/base.h"

/* The calls. The digit of a call stands in heddled's note of a policy (policies.c). */
enum policy_call {
	POLICY_CALL_NONE,
	POLICY_CALL_LOAD,
	POLICY_CALL_TABLE,
	POLICY_CALL_CREATE,
	POLICY_CALL_DECIDE,
	POLICY_CALL_DESTROY,
	POLICY_CALL_UNLOAD,
	POLICY_CALL_CHECK,
	POLICY_CALLS
};
/* "decide", …; the text that policy_calls_enter gets. NULL: none. */
const char *policy_call_text(enum policy_call call);
enum policy_call policy_call_of(const char *text);

/* Reports an end of the process. name: the policy. call: NULL: none; the code of heddled or heddle
 * has crashed. how: "has not returned for a second", … Called in a signal handler, in a thread of
 * its own, or in exit. It must not take locks. */
typedef void policy_ended(const char *name, const char *call, const char *how);

/* Watches calls from now on, of this thread. Returns 0 or a negative errno. */
int policy_calls_watch(policy_ended *ended);
void policy_calls_stop(void);
/* Call these before and after each call into a policy. Both texts must be valid until the end of the
 * call; call is one of policy_call_text. */
void policy_calls_enter(const char *name, const char *call);
void policy_calls_leave(void);

#endif
