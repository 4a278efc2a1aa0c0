/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The table of policies (policies.def). Each policy uses the interface of heddle/policy.h, as policies in
 * shared objects do; policy_none.c is the template. The engine asks the policy after every burst of
 * events, and at the time that the policy requested. */
#ifndef HEDDLE_SCHED_POLICY_H
#define HEDDLE_SCHED_POLICY_H

#include "base/base.h"
#include "heddle/policy.h"

/* Callbacks of a policy. All engines of a process that run the policy share them. Each callback may
 * be NULL. */
struct sched_policy_watch {
	/* Called before and after each call of the policy, for a watchdog. `call` is "create",
	 * "decide" or "destroy". */
	void (*enter)(void *user, const char *call);
	void (*leave)(void *user);
	/* Reports a fault in the policy's plans, as a sentence without the policy's name. Called
	 * once for each kind of fault. */
	void (*say)(void *user, const char *what);
	void *user;
	uint32_t said; /* bit mask of the problems already reported; initially 0 */
};

struct sched_policy {
	const char *name;
	const struct heddle_policy *table;
	struct sched_policy_watch *watch; /* may be NULL */
	/* passed to `create`; NULL: struct sched_options has them */
	const char *options;
};

/* Declares policy_ID and sched_policy_ID for each built-in policy. */
#define POLICY(id, text)                               \
	extern const struct heddle_policy policy_##id; \
	extern const struct sched_policy sched_policy_##id;
#define POLICY_FILE(id, text)
#include "policies.def"
#undef POLICY
#undef POLICY_FILE

/* All names of policies.def, for help: "hpf|...|FILE" and "hpf|...|./FILE"; and each name with its
 * text. */
extern const char sched_policy_words[], sched_policy_values[], sched_policy_help[];
/* Returns true if a POLICY_FILE has this name. */
bool sched_policy_is_file(const char *name);
/* Writes the names of all policies in policies.def: "hpf, ... and fixed". */
void sched_policy_list(char *ret, size_t size);
/* Returns the built-in policy of this name, or NULL. */
const struct sched_policy *sched_policy_find(const char *name);
/* Has faults of the built-in policies reported: `say` gets the policy's name as `user`. */
void sched_policies_watch(void (*say)(void *user, const char *what));
/* Returns true if the policy has this flag. */
bool sched_policy_is(const struct sched_policy *p, enum heddle_policy_flags flag);
/* Returns 0, or -EINVAL; then ret_why
 * is "policy_options: " and a sentence. A policy without `check` takes any options. */
int sched_policy_check(
	const struct sched_policy *p, const char *options, char *ret_why, size_t size);

#endif
