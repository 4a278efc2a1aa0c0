/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: test_asking ASSEMBLER DRIVER
 * Several threads ask the assembler for compilations at once, and the compiler crashes on some
 * texts. Each crash ends the assembler. A thread that was only waiting for its turn must then ask a
 * new assembler. It must not conclude that there is no assembler, because it would then compile its
 * text in the program itself. */
#include "host/assembler.h"
#include "unit.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N    8
#define TEXT ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k%d()\n{\n%sret;\n}\n"

static const char *program, *driver;
static struct cu_api cu;
static struct assembler a;

struct one {
	pthread_t thread;
	char text[256];
	enum assembled r;
};

static void *ask(void *arg)
{
	struct one *o = arg;

	o->r = assemble(&a, 0, o->text, strlen(o->text), NULL, NULL);
	return NULL;
}

/* Asks for N texts at once. The compiler crashes on every step-th text from `first` on. */
static void ask_all(unsigned limit_s, int first, int step, struct one *of)
{
	assembler_init(&a, &cu, program, limit_s);
	for (int i = 0; i < N; i++) {
		snprintf(of[i].text, sizeof(of[i].text), TEXT, i,
			i >= first && (i - first) % step == 0 ? "membar.sys;\n" : "");
		assert_int_equal(pthread_create(&of[i].thread, NULL, ask, &of[i]), 0);
	}
	for (int i = 0; i < N; i++)
		pthread_join(of[i].thread, NULL);
	assembler_finish(&a);
}

static void all_crash(void **state)
{
	struct one of[N];

	ask_all(0, 0, 1, of);
	for (int i = 0; i < N; i++)
		assert_int_equal(of[i].r, ASSEMBLED_DIED);
}

/* If there is a time limit, texts are compiled one at a time, so it is known which one crashed. */
static void some_crash(void **state)
{
	struct one of[N];

	ask_all(60, 1, 2, of);
	for (int i = 0; i < N; i++)
		assert_int_equal(of[i].r, i % 2 ? ASSEMBLED_DIED : ASSEMBLED);
}

static void not_there(void **state)
{
	struct one of[N];
	const char *own = program;

	program = "/nonexistent/heddle-assembler";
	ask_all(0, 0, 1, of);
	program = own;
	for (int i = 0; i < N; i++)
		assert_int_equal(of[i].r, ASSEMBLED_NOT);
}

static pid_t own_pid;
static volatile sig_atomic_t handled, strays; /* shared by all processes */
static _Atomic bool over;

static void on_signal(int sig)
{
	if (getpid() == own_pid)
		handled = 1;
	else
		strays = 1;
}

static void *signals_group(void *unused)
{
	while (!atomic_load(&over))
		kill(0, SIGUSR1);
	return NULL;
}

/* The program's signals must reach its own handler, even while assemblers start, and the handler
 * must never run in those. */
static void signals(void **state)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
	pthread_t t;

	own_pid = getpid();
	setpgid(0, 0); /* fails harmlessly if the process already leads its group */
	sigaction(SIGUSR1, &sa, &old);
	assert_int_equal(pthread_create(&t, NULL, signals_group, NULL), 0);
	for (int i = 0; i < 60; i++) {
		const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n";

		assembler_init(&a, &cu, program, 0);
		assert_int_equal(assemble(&a, 0, text, strlen(text), NULL, NULL), ASSEMBLED);
		assembler_finish(&a);
	}
	atomic_store(&over, true);
	pthread_join(t, NULL);
	sigaction(SIGUSR1, &old, NULL);
	assert_true(handled);
	assert_false(strays);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_crash),
		cmocka_unit_test(some_crash),
		cmocka_unit_test(not_there),
		cmocka_unit_test(signals),
	};

	if (argc != 3)
		return 2;
	program = realpath(argv[1], NULL);
	driver = realpath(argv[2], NULL);
	if (!program || !driver || setenv("HEDDLE_VGPU", "asking,crash=membar.sys", 1) < 0 ||
		dev_open(DEV_CPU, driver, &cu) < 0 || cu.cuInit(0) != CUDA_SUCCESS)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
