/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* bench_spawn: measures what spawning a task costs the host, without a device. The pool's columns
 * lie in plain memory. In "echo", a thread plays the device and reports each row as finished at
 * once. In "alone", no such thread runs: one thread fills half of the rows, then empties them, and
 * only the filling is timed. Prints ns per task for one thread and for several. Each figure is the
 * best of several rounds, because other programs use the machine, too. */
#include "../tests/rt/fake_pool.h"

#define COLUMNS 264
#define ROUNDS  15
#define TASKS   (COLUMNS * 8 * 64)

static void spawn(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fake_spawn();
}

static double alone(void)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < TASKS; i += COLUMNS * 8) {
		uint64_t began = clock_ns();

		spawn(COLUMNS * 8);
		ns += clock_ns() - began;
		echo_all();
	}
	return (double)ns / TASKS;
}

static void *produce(void *user)
{
	spawn(TASKS / *(unsigned *)user);
	return NULL;
}

static double produced(unsigned n)
{
	pthread_t thread[8];
	uint64_t began = clock_ns();

	for (unsigned i = 0; i < n; i++)
		must(pthread_create(&thread[i], NULL, produce, &n) == 0, "no thread");
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return (double)(clock_ns() - began) / TASKS;
}

int main(int argc, char **argv)
{
	double best[5] = {1e9, 1e9, 1e9, 1e9, 1e9};
	pthread_t thread;

	fake_make(COLUMNS);
	for (unsigned i = 0; i < ROUNDS; i++) {
		double ns = alone();

		best[4] = ns < best[4] ? ns : best[4];
	}
	printf("alone           %6.1f ns a task\n", best[4]);
	if (argc > 1 && !strcmp(argv[1], "alone"))
		return 0;
	must(pthread_create(&thread, NULL, fake_echo, NULL) == 0, "no thread");
	for (unsigned n = 0; n < 4; n++)
		for (unsigned i = 0; i < ROUNDS; i++) {
			double ns = produced(1u << n);

			best[n] = ns < best[n] ? ns : best[n];
		}
	atomic_store(&fake_stop, true);
	pthread_join(thread, NULL);
	for (unsigned n = 0; n < 4; n++)
		printf("echo, %u thread%s %6.1f ns a task\n", 1u << n, n ? "s" : " ", best[n]);
	fake_free();
	return 0;
}
