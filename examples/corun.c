/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Two kernels as one launch: each worker executes a block of one kernel, then a block of the other.
 *     cc corun.c $(pkg-config --cflags --libs heddle)
 *     ./a.out auto corun.ptx "merge steal chunk=4"    (a device, a PTX file, a way) */
#include <heddle/heddle.h>
#include <stdio.h>
#include <stdlib.h>

#define N 100000u

static struct heddle *h;

static void check(int r, const char *what)
{
	if (r == 0)
		return;
	fprintf(stderr, "%s: %s\n", what, heddle_error(h));
	heddle_close(h);
	exit(1);
}

int main(int argc, char **argv)
{
	const char *names[] = {"square", "twice"}, *file = argc > 2 ? argv[2] : "corun.ptx";
	struct heddle_result res = {.size = sizeof(res)};
	struct heddle_launch launch[2];
	static unsigned data[2][N];
	unsigned n = N, wrong = 0;
	uint64_t at[2];
	void *params[2][2];

	check(heddle_open(argc > 1 ? argv[1] : "auto", &h), "device");
	for (int k = 0; k < 2; k++) {
		for (unsigned i = 0; i < N; i++)
			data[k][i] = i;
		check(heddle_load_file(h, names[k], file, names[k]), file);
		check(heddle_alloc(h, sizeof(data[k]), &at[k]), "memory");
		check(heddle_write(h, at[k], data[k], sizeof(data[k])), "memory");
		params[k][0] = &at[k];
		params[k][1] = &n;
		launch[k] = (struct heddle_launch){.size = sizeof(launch[k]),
			.kernel = names[k],
			.grid = {(N + 255) / 256, 1, 1},
			.block = {256, 1, 1},
			.params = params[k]};
	}
	check(heddle_corun(h, launch, 2, argc > 3 ? argv[3] : "merge steal", NULL, &res), "run");
	for (int k = 0; k < 2; k++)
		check(heddle_read(h, data[k], at[k], sizeof(data[k])), "memory");
	for (unsigned i = 0; i < N; i++)
		wrong += data[0][i] != i * i || data[1][i] != 2 * i;
	printf("%s: %s, %u launch%s, %.3f ms; %u of %u results wrong\n", heddle_device(h), res.way,
		res.launches, res.launches == 1 ? "" : "es", res.ms, wrong, 2 * N);
	heddle_close(h);
	return wrong != 0;
}
