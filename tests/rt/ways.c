/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: ways FILE WAY KERNEL=GRID,BLOCK...
 * Runs kernels together through libheddle, for texts.sh. Each kernel takes the address of 4 KiB and
 * a number. */
#include "heddle/heddle.h"

#include <stdio.h>
#include <string.h>

#define BYTES 4096

static unsigned number = 7;

static int run(struct heddle *h, const char *file, const char *way, char **kernels, int n)
{
	struct heddle_launch l[HEDDLE_MAX_KERNELS];
	char names[HEDDLE_MAX_KERNELS][64], entry[64];
	uint64_t at[HEDDLE_MAX_KERNELS];
	void *params[HEDDLE_MAX_KERNELS][2];
	int r = 0;

	for (int k = 0; k < n && r == 0; k++) {
		l[k] = (struct heddle_launch){
			sizeof(l[k]), names[k], {1, 1, 1}, {1, 1, 1}, 0, params[k]};
		if (sscanf(kernels[k], "%63[^=]=%u,%u", entry, &l[k].grid[0], &l[k].block[0]) != 3)
			return -1;
		snprintf(names[k], sizeof(names[k]), "%d:%.50s", k, entry);
		params[k][0] = &at[k];
		params[k][1] = &number;
		r = heddle_load_file(h, names[k], file, entry);
		if (r == 0)
			r = heddle_alloc(h, BYTES, &at[k]);
	}
	return r == 0 ? heddle_corun(h, l, (unsigned)n, way, NULL, NULL) : r;
}

int main(int argc, char **argv)
{
	struct heddle *h;
	int r;

	if (argc < 4 || argc > 3 + HEDDLE_MAX_KERNELS)
		return 2;
	r = heddle_open("cpu", &h);
	if (r == 0)
		r = run(h, argv[1], argv[2], argv + 3, argc - 3);
	if (r < 0)
		fprintf(stderr, "%s\n", heddle_error(h));
	heddle_close(h);
	return r < 0;
}
