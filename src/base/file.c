/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See file.h. */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int file_read(const char *path, bool or_stdin, struct strbuf *out)
{
	FILE *f = or_stdin && strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
	char part[16384];
	int err = 0;
	size_t n;

	if (!f)
		return -errno;
	strbuf_add(out, "", 0);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		strbuf_add(out, part, n);
	if (ferror(f))
		err = errno ? errno : EIO;
	else if (out->failed)
		err = ENOMEM;
	if (f != stdin)
		fclose(f);
	return -err;
}
