/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the page of a program under heddle from inside, by reading the process's mappings. */
#ifndef HEDDLE_TESTS_SHIM_PAGE_OF_H
#define HEDDLE_TESTS_SHIM_PAGE_OF_H

#include "wire/page.h"

#include <stdio.h>
#include <string.h>

/* Returns the page that the program shares with a daemon, or NULL. */
static const struct wire_page *find_page(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	const struct wire_page *page = NULL;
	unsigned long long from;
	char line[512];

	while (maps && !page && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "/memfd:heddle-tenant") && sscanf(line, "%llx-", &from) == 1)
			page = (const struct wire_page *)(uintptr_t)from;
	}
	if (maps)
		fclose(maps);
	return page;
}

#endif
