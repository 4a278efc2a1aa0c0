/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks the owner and mode of files that heddle reads. */
#include "trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_owner_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

int trust_file(const struct stat *st, char *ret_why, size_t size)
{
	if (!is_owner_trusted(st))
		snprintf(ret_why, size,
			"it belongs to user %u, so it is not used: make it this user's or root's "
			"(chown), or remove it",
			(unsigned)st->st_uid);
	else if (st->st_mode & 022)
		snprintf(ret_why, size,
			"other users can write to it, so it is not used: check what it holds, then "
			"remove that right (chmod go-w)");
	else
		return 0;
	return -EPERM;
}

int trust_folder_of(const char *path, char *ret_why, size_t size)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (!slash)
		snprintf(folder, sizeof(folder), ".");
	else
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash == path ? 1 : slash - path),
			path);
	if (stat(folder, &st) < 0) {
		snprintf(ret_why, size, "%s", strerror(errno));
		return -EPERM;
	}
	if (is_owner_trusted(&st) && (st.st_mode & S_ISVTX || !(st.st_mode & 022)))
		return 0;
	snprintf(ret_why, size,
		"other users can replace files in its folder, so it is not used: the folder must "
		"belong to this user or root, and be writable by no one else (chmod go-w)");
	return -EPERM;
}
