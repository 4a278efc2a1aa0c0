/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds a policy of policies.def for a test: a built-in one, or one in a file of the build tree, which
 * stays loaded. Ends the test if there is none. */
#ifndef HEDDLE_TESTS_SCHED_NAMED_H
#define HEDDLE_TESTS_SCHED_NAMED_H

#include "sched/policy/policy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const struct sched_policy *policy_named(void *user, const char *name)
{
	static struct sched_policy loaded[8];
	static unsigned n;
	const struct heddle_policy *(*entry)(void);
	char path[4096];
	void *file;

	(void)user;
	if (sched_policy_find(name))
		return sched_policy_find(name);
	for (unsigned i = 0; i < n; i++)
		if (strcmp(loaded[i].name, name) == 0)
			return &loaded[i];
	snprintf(path, sizeof(path), "%s/%s.so", POLICIES_BUILT, name);
	file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	entry = file ? (const struct heddle_policy *(*)(void))dlsym(file, "heddle_policy") : NULL;
	if (!entry || n == ARRAY_LEN(loaded)) {
		fprintf(stderr, "%s: %s\n", path, entry ? "too many policies" : dlerror());
		exit(1);
	}
	loaded[n].table = entry();
	loaded[n].name = loaded[n].table->name;
	return &loaded[n++];
}

#endif
