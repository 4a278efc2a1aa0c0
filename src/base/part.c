/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the files that are installed with heddle, relative to the running program. */
#include "base/part.h"
#include "base/base.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int part_find(const char *parts, const char *part, const char *build_path, char **ret_path)
{
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *const places[][2] = {{parts, part}, {"", build_path}};

	if (n < 0)
		return -ENOENT;
	self[n] = 0;
	slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		bool elsewhere = places[i][0][0] == '/';
		char *path = NULL, *real;

		if (!places[i][1] || asprintf(&path, "%s/%s/%s", elsewhere ? "" : self,
					     places[i][0], places[i][1]) < 0)
			continue;
		real = realpath(path, NULL);
		free(path);
		if (real) {
			*ret_path = real;
			return 0;
		}
	}
	return -ENOENT;
}
