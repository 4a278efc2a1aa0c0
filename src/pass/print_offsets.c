/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prints offsets_gen.h: the structure offsets of offsets.def as the compiler sees them. Part of the
 * build, not of the library. */
#include "ctl/merge.h"
#include "pass/task/task_shared.h"

#include <stdio.h>

static void arg(const char *name, size_t at, const char *param)
{
	if (at)
		printf("#define %s \"[%s+%zu]\"\n", name, param, at);
	else
		printf("#define %s \"[%s]\"\n", name, param);
}

int main(void)
{
	printf("/* SPDX-License-Identifier: Apache-2.0\n * Copyright 2026 The heddle authors */\n"
	       "/* Made by print_offsets.c from offsets.def. */\n");
#define ARG(name, type, field, param) arg(#name, offsetof(struct type, field), param);
#define FIELD(name, type, field) \
	printf("#define %s \"+%zu]\"\n", #name, offsetof(struct type, field));
#define NUMBER(name, type, field) printf("#define %s %zu\n", #name, offsetof(struct type, field));
#include "pass/offsets.def"
	return ferror(stdout) ? 1 : 0;
}
