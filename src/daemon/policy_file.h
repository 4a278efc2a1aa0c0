/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A policy in a file (heddle/policy.h): checks whether the file may be loaded, and loads its
 * table. For heddled, which also keeps a note and limits the calls (policies.h), and for heddle
 * sim. Prints nothing: errors are sentences that begin with "policy: ". */
#ifndef HEDDLE_DAEMON_POLICY_FILE_H
#define HEDDLE_DAEMON_POLICY_FILE_H

#include "base/text.h"
#include "heddle/policy.h"

#include <sys/stat.h>

struct policy_file {
	char *path;    /* absolute, without symbolic links */
	char name[32]; /* the file's name; the policy's own name once it is loaded */
	struct stat st;
	int fd; /* stays open: dlopen treats files of one name as the same file */
	void *dl;
	const struct heddle_policy *table; /* NULL until it is loaded */
	/* Callbacks around each call of its code; NULL: none. The caller sets them. */
	void (*enter)(const char *name, const char *call);
	void (*leave)(void);
};

/* Opens a regular file of this user or root that no other user can write to or replace. Runs
 * none of its code. 0: free it with policy_file_close; -EINVAL: *err says why. */
int policy_file_open(const char *given, struct policy_file *ret, struct strbuf *err);
/* Loads it and checks its table. 0; -EINVAL: *err says why, and the file is still open. */
int policy_file_load(struct policy_file *p, struct strbuf *err);
/* Unloads the file. No pointer into its table may be used after this. */
void policy_file_close(struct policy_file *p);

#endif
