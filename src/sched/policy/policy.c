/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The table of policies. */
#include "policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define POLICY(id, text)                                \
	static struct sched_policy_watch watch_##id;    \
	const struct sched_policy sched_policy_##id = { \
		.name = #id, .table = &policy_##id, .watch = &watch_##id};
#define POLICY_FILE(id, text)
#include "policies.def"
#undef POLICY

#define POLICY(id, text) &sched_policy_##id,
static const struct sched_policy *const policies[] = {
#include "policies.def"
};
#undef POLICY
#undef POLICY_FILE

#define POLICY(id, text)      #id "|"
#define POLICY_FILE(id, text) #id "|"
const char sched_policy_words[] =
#include "policies.def"
	"FILE";
const char sched_policy_values[] =
#include "policies.def"
	"./FILE";
#undef POLICY
#undef POLICY_FILE

#define POLICY(id, text)      #id ": " text "; "
#define POLICY_FILE(id, text) #id ": " text "; "
const char sched_policy_help[] =
#include "policies.def"
	"a path with a '/': a policy of your own, as a shared object (default: hpf)";
#undef POLICY
#undef POLICY_FILE

#define POLICY(id, text)      {#id, false},
#define POLICY_FILE(id, text) {#id, true},
static const struct {
	const char *name;
	bool file;
} names[] = {
#include "policies.def"
};

bool sched_policy_is_file(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i].file && strcmp(names[i].name, name) == 0)
			return true;
	}
	return false;
}

void sched_policy_list(char *ret, size_t size)
{
	size_t n = 0, last = ARRAY_LEN(names) - 1;

	for (size_t i = 0; i <= last && n < size; i++)
		n += (size_t)snprintf(ret + n, size - n, "%s%s",
			!i         ? ""
			: i < last ? ", "
				   : " and ",
			names[i].name);
}

const struct sched_policy *sched_policy_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	}
	return NULL;
}

void sched_policies_watch(void (*say)(void *user, const char *what))
{
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		policies[i]->watch->say = say;
		policies[i]->watch->user = (void *)(uintptr_t)policies[i]->name;
	}
}

/* Whether the table has this field. It may have been built for an earlier heddle/policy.h. */
#define HAS_FIELD(table, field) \
	((table)->size >= offsetof(struct heddle_policy, field) + sizeof((table)->field))

bool sched_policy_is(const struct sched_policy *p, enum heddle_policy_flags flag)
{
	return HAS_FIELD(p->table, flags) && p->table->flags & flag;
}

int sched_policy_check(
	const struct sched_policy *p, const char *options, char *ret_why, size_t size)
{
	int n = snprintf(ret_why, size, "policy_options: ");

	if (!HAS_FIELD(p->table, check) || !p->table->check)
		return 0;
	return p->table->check(options, ret_why + n, size - (size_t)n) < 0 ? -EINVAL : 0;
}
