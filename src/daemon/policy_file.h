/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A policy of other people's in a file (heddle/policy.h): whether the file may be loaded, and its
 * table. For heddled, which also notes it and bounds its calls in time (policies.h), and for
 * heddle sim. Prints nothing: errors are sentences, "policy: " in front. */
#ifndef HEDDLE_DAEMON_POLICY_FILE_H
#define HEDDLE_DAEMON_POLICY_FILE_H

#include "base/text.h"
#include "heddle/policy.h"

#include <sys/stat.h>

struct policy_file {
	char *path;    /* absolute, without links */
	char name[32]; /* of the file; once it is loaded, the policy's own */
	struct stat st;
	int fd; /* stays open: dlopen takes files of one name for the same */
	void *dl;
	const struct heddle_policy *table; /* NULL until it is loaded */
	/* Around what runs its code; NULL: nothing is called. The caller's to set. */
	void (*enter)(const char *name, const char *call);
	void (*leave)(void);
};

/* Opens a regular file of this user's or root's that nobody else can write to or replace. Runs none
 * of its code. 0: free it with policy_file_close; -EINVAL: *err says why. */
int policy_file_open(const char *given, struct policy_file *ret, struct strbuf *err);
/* Loads it and checks its table. 0; -EINVAL: *err says why, and the file is still open. */
int policy_file_load(struct policy_file *p, struct strbuf *err);
/* Unloads what was loaded: nothing may use the table any more. */
void policy_file_close(struct policy_file *p);

#endif
