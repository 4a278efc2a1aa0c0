/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes the file of a rewritten kernel. A separate process, heddle ptx, runs the pass and prints
 * the form (the rewritten kernel). */
#include "lab/form_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "front/child.h"

int form_file_find(const char *program, char **ret)
{
	static const char *const chains[] = {"nvcc", "clang"};
	int e = -ENOENT;

	for (unsigned i = 0; i < ARRAY_LEN(chains) && e; i++) {
		char name[64];

		snprintf(name, sizeof(name), "kernels/%s/%s.ptx", chains[i], program);
		e = cli_find_part(name, name, ret);
	}
	return e;
}

int form_file_make(
	struct cli *c, const char *heddle, const char *pass, const char *program, const char *path)
{
	struct child child = {.fd = -1};
	char *plain = NULL;
	int e = form_file_find(program, &plain), fd;

	if (e)
		return cli_error(c, NULL, "the kernel of %s was not found", program);
	e = child_start((char *const[]){(char *)heddle, "ptx", (char *)pass, plain, NULL}, NULL,
		NULL, &child);
	if (!e)
		e = child_wait(&child, 1, 20000);
	free(plain);
	fd = e || child.status || !child.out.len
		     ? -1
		     : open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, child.out.at, child.out.len) != (ssize_t)child.out.len)
		e = cli_error(c, NULL, "heddle ptx %s made no form of %s", pass, program);
	if (fd >= 0)
		close(fd);
	child_finish(&child);
	return e ? CLI_FAILED : CLI_OK;
}
