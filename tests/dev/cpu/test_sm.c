/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The table of SM slots: which process gets a slot, and what happens when a process dies while
 * idle or in the middle of a change. Where death matters, the "processes" are real ones. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dev/cpu/vgpu.h"
#include "resident.h"

static struct sm_config config_of(const char *what)
{
	struct sm_config c;
	char text[200];

	snprintf(text, sizeof(text), "test-sm-%d,%s", (int)getpid(), what);
	assert_int_equal(sm_config_parse(text, &c), 0);
	return c;
}

static struct sm *open_sm(const struct sm_config *c)
{
	struct sm_config copy = *c;
	struct sm *s = NULL;

	assert_int_equal(sm_open(&copy, &s), 0);
	return s;
}

static uint32_t launch(struct sm *s, uint32_t threads, uint64_t n, int priority, uint64_t user)
{
	struct sm_demand d = sm_demand_of(threads, 32, 0);
	uint32_t id;

	assert_int_equal(sm_launch(s, &d, n, priority, false, user, &id), 0);
	return id;
}

static void parse(void **state)
{
	struct sm_config c;

	(void)state;
	assert_int_equal(sm_config_parse(NULL, &c), 0);
	assert_int_equal(c.n_sms, 8);
	assert_int_equal(sm_config_parse("me,serial,sms=3,memory=2M,workers=1,report=none", &c), 0);
	assert_string_equal(c.name, "me");
	assert_true(c.serial);
	assert_int_equal(c.n_sms, 3);
	assert_int_equal(c.memory_bytes, 2 << 20);
	assert_int_equal(c.workers, 1);
	assert_string_equal(c.report, "none");
	assert_int_equal(c.converge, VC_NONE);
	assert_int_equal(sm_config_parse("converge=postdom", &c), 0);
	assert_int_equal(c.converge, VC_POSTDOM);
	assert_int_equal(c.fma, VF_PTXAS);
	assert_int_equal(sm_config_parse("fma=none,converge=postdom,serial", &c), 0);
	assert_int_equal(c.fma, VF_NONE);
	assert_int_equal(c.converge, VC_POSTDOM);
}

static void parse_wrong(void **state)
{
	static const char words[] =
		"the words are NAME, sms=, devices=, workers=, blocks=, threads=, registers=, "
		"memory=, report=, converge=, fma=, turns=, garbage=, weak=, assemble=, crash=, "
		"hang=, count=, once and serial";
	static const struct {
		const char *text, *wrong, *valid;
	} all[] = {
		{"me,converge=joins,serial", "converge=joins", "converge is none or postdom"},
		{"converge=", "converge=", "converge is none or postdom"},
		{"converge=on,sms=0", "converge=on", "converge is none or postdom"},
		{"fma=on", "fma=on", "fma is ptxas or none"},
		{"sms=0", "sms=0", "sms is a number from 1 to 144"},
		{"sms=145", "sms=145", "sms is a number from 1 to 144"},
		{"sms=1x", "sms=1x", "sms is a number from 1 to 144"},
		{"sms=-1", "sms=-1", "sms is a number from 1 to 144"},
		{"turns=x", "turns=x", "turns is a number from 0"},
		{"serial=1", "serial=1", "serial has no value"},
		{"memory=99999999999999999999", "memory=99999999999999999999",
			"memory is a number from 1048576 to 1099511627776"},
		{"report=", "report=", "report is a text of 1 to 199 bytes"},
		{"foo=1", "foo=1", words},
		{"a/b", "a/b", words},
	};
	struct sm_config c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(sm_config_parse(all[i].text, &c), -EINVAL);
		assert_string_equal(c.wrong, all[i].wrong);
		assert_string_equal(c.valid, all[i].valid);
	}
	assert_int_equal(sm_config_parse("a,b", &c), -EINVAL);
	assert_string_equal(c.wrong, "b");
	assert_non_null(strstr(c.valid, "the instance's name is 'a' already; the words are NAME,"));
	assert_int_equal(sm_config_parse("converge=joins,serial,sms=3", &c), -EINVAL);
	assert_int_equal(c.converge, VC_NONE);
	assert_true(c.serial);
	assert_int_equal(c.n_sms, 3);
}

static void occupancy(void **state)
{
	struct sm_config c;

	(void)state;
	sm_config_parse(NULL, &c);
	static const struct {
		uint32_t threads, regs, shared, blocks;
	} rows[] = {
		{1024, 32, 0, 2},
		{1024, 64, 0, 1},
		/* rounded up to 72 registers: too many for a block of 1,024 threads */
		{1024, 65, 0, 0},
		{256, 32, 0, 8},
		{32, 16, 0, 32},
		{33, 16, 0, 32},
		{128, 255, 0, 2},
		{256, 32, 48 * 1024, 4},
		{256, 32, 227 * 1024, 1},
		{256, 32, 228 * 1024, 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sm_demand d = sm_demand_of(rows[i].threads, rows[i].regs, rows[i].shared);
		assert_int_equal(sm_blocks_per_sm(&c, &d), rows[i].blocks);
	}
}

/* First come, first served; others get leftovers only when the first has no blocks left to
 * place. */
static void order(void **state)
{
	struct sm_config c = config_of("sms=2");
	struct sm *s = open_sm(&c);
	struct sm_block b[64];

	(void)state;
	launch(s, 1024, 5, 0, 1); /* 4 blocks fit */
	launch(s, 32, 3, 0, 2);
	assert_int_equal(sm_take(s, b, 64), 4);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(b[i].user, 1);
		assert_int_equal(b[i].index, i);
	}
	/* A grid's blocks spread over the SMs. */
	assert_int_not_equal(b[0].sm, b[1].sm);
	sm_release(s, b[0].sm, b[0].slot);
	struct sm_block next[64];
	assert_int_equal(sm_take(s, next, 64), 1);
	assert_int_equal(next[0].user, 1);
	assert_int_equal(next[0].index, 4);
	/* The first launch has placed all its blocks, but no slot is free. */
	sm_release(s, b[1].sm, b[1].slot);
	assert_int_equal(sm_take(s, next, 64), 3);
	assert_int_equal(next[2].user, 2);
	sm_close(s);
}

static void urgent(void **state)
{
	struct sm_config c = config_of("sms=1");
	struct sm *s = open_sm(&c);
	struct sm_block b[8];

	(void)state;
	launch(s, 1024, 2, 0, 1);
	launch(s, 1024, 1, 0, 2);
	launch(s, 1024, 1, 5, 3);
	uint32_t dropped = launch(s, 1024, 7, 9, 4);
	assert_int_equal(sm_cancel(s, dropped), 7);
	assert_int_equal(sm_take(s, b, 8), 2);
	sm_release(s, b[0].sm, b[0].slot);
	assert_int_equal(sm_take(s, b, 8), 1);
	assert_int_equal(b[0].user, 3);
	sm_close(s);
}

/* A cooperative launch is placed as a whole, and launches queued after it wait. */
static void together(void **state)
{
	struct sm_config c = config_of("sms=2");
	struct sm *s = open_sm(&c);
	struct sm_demand d = sm_demand_of(1024, 32, 0);
	struct sm_block b[8];
	uint32_t id;

	(void)state;
	launch(s, 1024, 1, 0, 1);
	assert_int_equal(sm_launch(s, &d, 4, 0, true, 2, &id), 0);
	launch(s, 32, 1, 0, 3);
	assert_int_equal(sm_take(s, b, 8), 1);
	sm_release(s, b[0].sm, b[0].slot);
	assert_int_equal(sm_take(s, b, 8), 4);
	assert_int_equal(b[3].user, 2);
	sm_release(s, b[3].sm, b[3].slot);
	assert_int_equal(sm_take(s, b, 8), 1);
	assert_int_equal(b[0].user, 3);
	assert_int_equal(sm_launch(s, &d, 0, 0, false, 2, &id), -EINVAL);
	d.threads = 4096;
	assert_int_equal(sm_launch(s, &d, 1, 0, false, 2, &id), -EINVAL);
	sm_close(s);
}

/* Starts a child that takes every slot and waits to be killed. If in_the_middle, the child also
 * holds the table's lock, and has changed only half of the table. */
static pid_t hog(const struct sm_config *c, bool in_the_middle)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct sm *s = open_sm(c);
		struct sm_block b[8];
		launch(s, 1024, in_the_middle ? 1 : 100, 0, 7);
		sm_take(s, b, 2);
		sm_memory_take(s, 1 << 20);
		if (in_the_middle) {
			sm_lock(s);
			/* Half of a placement: the slot is taken, but the rest of the table does
			 * not show it. */
			struct sm_slot *slot = &s->t->slot[5];
			slot->launch = 0;
			slot->block = 1;
			slot->proc = s->me;
			s->t->n_queued = 999;
			s->t->unit[0].free_slots = 0;
		}
		(void)!write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void path_of(const struct sm_config *c, char *ret, size_t size)
{
	snprintf(
		ret, size, "/dev/shm/heddle-vgpu%u-%u-%s", SM_LAYOUT, (unsigned)geteuid(), c->name);
}

static void death(const char *what, bool in_the_middle)
{
	struct sm_config c = config_of(what);
	pid_t pid = hog(&c, in_the_middle);
	struct sm_block b[8];
	uint32_t mine, all;

	if (in_the_middle)
		kill(pid, SIGKILL); /* as long as it lives, its lock blocks every other process */
	struct sm *s = open_sm(&c);
	launch(s, 1024, 2, 0, 1);
	if (!in_the_middle) {
		assert_int_equal(sm_take(s, b, 8), 0);
		assert_int_equal(sm_memory_used(s), 1 << 20);
		kill(pid, SIGKILL);
	}
	/* The dead child has not been reaped; even so it holds no slot. */
	for (int i = 0; i < 500 && !sm_has_grants(s); i++)
		sm_sleep(s, sm_word(s), 20000000);
	assert_int_equal(sm_take(s, b, 8), 2);
	assert_int_equal(b[0].user, 1);
	sm_resident(s, &mine, &all);
	assert_int_equal(mine, 2);
	assert_int_equal(all, 2);
	assert_int_equal(sm_memory_used(s), 0);
	waitpid(pid, NULL, 0);
	sm_close(s);
	char path[200];
	path_of(&c, path, sizeof(path));
	assert_int_equal(access(path, F_OK), -1);
}

static void killed(void **state)
{
	(void)state;
	death("sms=1", false);
}

static void killed_with_lock(void **state)
{
	(void)state;
	death("sms=1", true);
}

/* Slots that one process gives back go to the other process, which wakes up. */
static void shared(void **state)
{
	struct sm_config c = config_of("sms=1");
	struct sm_block b[8];
	int taken[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(taken), 0);
	pid_t pid = fork(); /* before any thread is created */
	if (pid == 0) {
		(void)!read(taken[0], &byte, 1);
		struct sm *child = open_sm(&c);
		struct sm_block mine[8];
		launch(child, 1024, 1, 0, 9);
		bool early = sm_has_grants(child);
		for (;;) {
			uint32_t word = sm_word(child);
			if (sm_has_grants(child))
				break;
			sm_sleep(child, word, UINT64_MAX);
		}
		unsigned n = sm_take(child, mine, 8);
		_exit(!early && n == 1 && mine[0].user == 9 ? 0 : 1);
	}
	struct sm *s = open_sm(&c);
	launch(s, 1024, 2, 0, 1);
	assert_int_equal(sm_take(s, b, 8), 2);
	assert_int_equal(write(taken[1], "", 1), 1);
	while (s->t->n_queued == 0)
		usleep(1000);
	sm_release(s, b[0].sm, b[0].slot);
	int status;
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	sm_close(s);
}

/* A process that joins and is killed. */
static void dies(const struct sm_config *c)
{
	pid_t pid = fork();

	if (pid == 0) {
		open_sm(c);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
}

/* A table in a file that only dead processes used has no effect, and the file is removed. */
static void stale(void **state)
{
	struct sm_config c = config_of("sms=2,memory=64M"), other = c;
	struct sm *s = NULL;
	char path[200];

	(void)state;
	dies(&c);
	c.n_sms = 16;
	c.memory_bytes = 1 << 30;
	assert_int_equal(sm_open(&c, &s), 0);
	assert_int_equal(c.n_sms, 16);
	assert_int_equal(c.memory_bytes, 1 << 30);
	sm_close(s);
	/* Opening one instance also removes the files of another instance without processes. */
	snprintf(other.name, sizeof(other.name), "test-sm-%d-left", (int)getpid());
	path_of(&other, path, sizeof(path));
	dies(&other);
	assert_int_equal(access(path, F_OK), 0);
	s = open_sm(&c);
	assert_int_equal(access(path, F_OK), -1);
	sm_close(s);
}

/* A file of another size or layout may belong to another version's process, so it is kept. */
static void other_layout(void **state)
{
	struct sm_config c = config_of("sms=2");
	char path[200];

	(void)state;
	path_of(&c, path, sizeof(path));
	for (size_t bytes = 1 << 16; bytes <= 1 << 20; bytes <<= 1) {
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
		char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_ptr_not_equal(p, MAP_FAILED);
		memset(p, 0x5a, bytes);
		struct sm *s = open_sm(&c);
		for (size_t i = 0; i < bytes; i++)
			assert_int_equal(p[i], 0x5a);
		sm_close(s);
		munmap(p, bytes);
		close(fd);
	}
}

/* A file that others may write to, or that another user owns, is refused at once, locked or not. */
static void squatted(void **state)
{
	struct sm_config c = config_of("sms=2"), copy = c;
	struct sm *s = NULL;
	char path[200];

	(void)state;
	path_of(&c, path, sizeof(path));
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	alarm(60);
	assert_int_equal(sm_open(&copy, &s), -EPERM);
	if (geteuid() == 0) {
		assert_int_equal(fchmod(fd, 0600), 0);
		assert_int_equal(fchown(fd, 54321, 54321), 0);
		assert_int_equal(sm_open(&copy, &s), -EPERM);
	}
	alarm(0);
	unlink(path);
	close(fd);
}

/* Our own user's process hangs with the file locked: opening it fails after the timeout. */
static void kept_locked(void **state)
{
	struct sm_config c = config_of("sms=2"), copy = c;
	struct sm *s = NULL;
	char path[200];

	(void)state;
	path_of(&c, path, sizeof(path));
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	alarm(60);
	assert_int_equal(sm_open(&copy, &s), -ETIMEDOUT);
	alarm(0);
	unlink(path);
	close(fd);
}

static void many(void **state)
{
	static struct sm *all[SM_MAX_PROCS];
	struct sm_config c = config_of("sms=2"), copy = c;
	struct sm *s = NULL;

	(void)state;
	for (size_t i = 0; i < SM_MAX_PROCS; i++)
		all[i] = open_sm(&c);
	assert_int_equal(sm_open(&copy, &s), -EUSERS);
	for (size_t i = 0; i < SM_MAX_PROCS; i++)
		sm_close(all[i]);
}

/* A process that was taken for dead can no longer change the table. */
static void lost(void **state)
{
	struct sm_config c = config_of("sms=1");
	struct sm_demand d = sm_demand_of(1024, 32, 0);
	struct sm *s = open_sm(&c), *other = open_sm(&c);
	struct sm_block b[8];
	uint32_t id, mine, all;

	(void)state;
	id = launch(s, 1024, 5, 0, 1);
	assert_int_equal(sm_take(s, b, 8), 2);
	assert_int_equal(sm_memory_take(s, 4096), 0);
	assert_false(sm_lost(s));
	sm_lock(other);
	sm_forget_proc(other->t, s->me);
	sm_unlock(other);
	assert_true(sm_lost(s));
	assert_false(sm_lost(other));
	launch(other, 1024, 2, 0, 2);
	sm_release(s, b[0].sm, b[0].slot);
	sm_memory_give(s, 4096);
	assert_int_equal(sm_memory_used(other), 0);
	assert_int_equal(sm_cancel(s, id), 0);
	assert_int_equal(sm_take(s, b, 8), 0);
	assert_int_equal(sm_launch(s, &d, 1, 0, false, 1, &id), -ESTALE);
	assert_int_equal(sm_memory_take(s, 1), -ENOMEM);
	sm_resident(other, &mine, &all);
	assert_int_equal(mine, 2);
	assert_int_equal(all, 2);
	/* The entry of the process taken for dead stays reserved while the process lives. */
	struct sm *third = open_sm(&c);
	assert_int_not_equal(third->me, s->me);
	sm_close(third);
	sm_close(s);
	assert_false(sm_lost(other));
	sm_close(other);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest slow[] = {cmocka_unit_test(kept_locked)};

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse),
		cmocka_unit_test(parse_wrong),
		cmocka_unit_test(occupancy),
		cmocka_unit_test(order),
		cmocka_unit_test(urgent),
		cmocka_unit_test(together),
		cmocka_unit_test(killed),
		cmocka_unit_test(killed_with_lock),
		cmocka_unit_test(shared),
		cmocka_unit_test(stale),
		cmocka_unit_test(other_layout),
		cmocka_unit_test(squatted),
		cmocka_unit_test(many),
		cmocka_unit_test(lost),
	};
	if (argc > 1 && !strcmp(argv[1], "slow"))
		return cmocka_run_group_tests(slow, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
