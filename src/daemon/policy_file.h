/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks whether a policy file (heddle/policy.h) may be loaded, and loads its table. Used by
 * heddled, which also keeps a note and limits the time of calls (policies.h), and by heddle sim.
 * Prints nothing; errors are sentences that begin with "policy: ". */
#ifndef HEDDLE_DAEMON_POLICY_FILE_H
#define HEDDLE_DAEMON_POLICY_FILE_H

#include "base/text.h"
#include "heddle/policy.h"

#include <sys/stat.h>

struct policy_file {
	char *path;    /* absolute path without symbolic links */
	char name[32]; /* name of the file; after loading, the policy's own name */
	struct stat st;
	/* The descriptor stays open as long as the policy is loaded. dlopen identifies a file by
	 * its name, here /proc/self/fd/N. If N were closed and reused for a new file, dlopen would
	 * return the old one. */
	int fd;
	void *dl;
	const struct heddle_policy *table; /* NULL until it is loaded */
	/* callbacks before and after each call of the policy's code, set by the caller; or NULL */
	void (*enter)(const char *name, const char *call);
	void (*leave)(void);
};

/* Returns 0 if the file of this size is a whole shared object for this machine, or -EINVAL; then
 * ret_why says what is wrong (policy_elf.c). dlopen crashes on an object whose end is missing. */
int policy_elf_check(int fd, uint64_t bytes, char *ret_why, size_t size);
/* Opens a file that belongs to heddle (POLICY_FILE in policies.def), by the policy's name. Users who
 * can replace that file can replace heddle itself, so its owner and its folder do not matter.
 * Returns as policy_file_open. */
int policy_file_open_own(const char *name, struct policy_file *ret, struct strbuf *err);
/* Opens a policy file. It must be a regular file of this user or root that no other user can write
 * or replace. Runs none of its code. Returns 0, or -EINVAL with the reason in *err. Free it with
 * policy_file_close. */
int policy_file_open(const char *given, struct policy_file *ret, struct strbuf *err);
/* Loads the file and checks its table. Returns 0, or -EINVAL with the reason in *err; the file is
 * still open then. */
int policy_file_load(struct policy_file *p, struct strbuf *err);
/* Unloads the file. No pointer into its table may be used after this. */
void policy_file_close(struct policy_file *p);

#endif
