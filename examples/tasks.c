/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* An ordinary __global__ kernel as tasks that are spawned one by one: tasks.c DEVICE FILE.ptx
 * COUNT.
 *
 *     cc tasks.c $(pkg-config --cflags --libs heddle) && ./a.out auto corun.ptx 10000 */
#include <heddle/task.h>
#include <stdio.h>
#include <stdlib.h>

#define N 128u /* numbers that a task squares */

int main(int argc, char **argv)
{
	unsigned count = argc > 3 ? (unsigned)atoi(argv[3]) : 1000, wrong = 0, square;
	unsigned *data = malloc(sizeof(*data) * N * count);
	struct {
		uint64_t at;
		unsigned n;
	} args = {0, N}; /* as the kernel's parameters lie */
	struct heddle_task task = {sizeof(task), .grid = {1, 1, 1}, .block = {N, 1, 1},
		.args = &args, .args_bytes = sizeof(args)};
	struct heddle_tasks *pool = NULL;
	struct heddle *h;
	uint64_t at = 0;
	int r = heddle_open(argc > 1 ? argv[1] : "auto", &h);

	for (unsigned i = 0; i < N * count; i++)
		data[i] = i;
	if (!r)
		r = heddle_load_file(h, "square", argc > 2 ? argv[2] : "corun.ptx", "square");
	if (!r)
		r = heddle_alloc(h, sizeof(*data) * N * count, &at);
	if (!r)
		r = heddle_write(h, at, data, sizeof(*data) * N * count);
	if (!r)
		r = heddle_tasks_create(h, NULL, &pool);
	if (!r)
		r = heddle_tasks_add(pool, "square", &square);
	for (unsigned i = 0; i < count && !r; i++) {
		task.kernel = square;
		args.at = at + sizeof(*data) * N * i;
		r = heddle_tasks_spawn(pool, &task, NULL); /* it runs from now on */
	}
	if (!r)
		r = heddle_tasks_wait_all(pool, UINT64_MAX);
	if (!r)
		r = heddle_read(h, data, at, sizeof(*data) * N * count);
	for (unsigned i = 0; i < N * count && !r; i++)
		wrong += data[i] != i * i;
	printf("%u tasks, %u results wrong%s%s\n", count, wrong, r ? ": " : "",
		!r     ? ""
		: pool ? heddle_tasks_error(pool)
		       : heddle_error(h));
	heddle_tasks_destroy(pool);
	heddle_close(h);
	return r || wrong;
}
