/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that a query about the same kernels finds their measurements. A file that is not a store, a
 * killed writer or a full disk must not lose existing data. */
#include "model/plain.h"
#include "model/store.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/heddle-store-XXXXXX", path[64];

static struct model_kernel kernels[2] = {
	{.digest = {1}, .grid = {4, 2, 1}, .block = {256, 1, 1}},
	{.digest = {2}, .grid = {9, 1, 1}, .block = {16, 16, 1}, .shared_bytes = 512},
};
static struct model_together both = {
	.device = "a device", .driver = "13000", .kernels = kernels, .n = 2};

static const struct model_way ways[] = {
	{.name = "sequential", .ms = 2.5, .spread = 0.01, .runs = 9},
	{.name = "merge steal", .ms = 2.0, .spread = 0.02, .runs = 8, .chosen = true},
	{.name = "streams", .ms = 1.9, .spread = 0.5, .runs = 2},
};

static void put(const struct model_way *w, unsigned n)
{
	struct model_store *s;

	assert_int_equal(model_store_open(path, true, &s), 0);
	assert_int_equal(model_ways_put(s, &both, w, n), 0);
	model_store_close(s);
}

static int look(const struct model_together *t, struct model_way *ret)
{
	struct model_store *s;
	int r;

	assert_int_equal(model_store_open(path, false, &s), 0);
	r = model_ways_chosen(s, t, ret);
	model_store_close(s);
	return r;
}

static void test_comes_back(void **state)
{
	struct model_way way;

	(void)state;
	put(ways, 3);
	assert_int_equal(look(&both, &way), 0);
	assert_string_equal(way.name, "merge steal");
	assert_true(way.ms == 2.0 && way.spread == 0.02 && way.runs == 8);
	put(&(struct model_way){.name = "vertical", .ms = 1, .runs = 1, .chosen = true}, 1);
	assert_int_equal(look(&both, &way), 0);
	assert_string_equal(way.name, "vertical");
}

/* Each field that identifies a set must match. */
static void test_only_the_same(void **state)
{
	struct model_kernel other[2];
	struct model_together t = both;
	struct model_way way;

	(void)state;
	put(ways, 3);
	t.kernels = other;
#define DIFFERS(change)                                    \
	do {                                               \
		memcpy(other, kernels, sizeof(other));     \
		change;                                    \
		assert_int_equal(look(&t, &way), -ENOENT); \
	} while (0)
	DIFFERS(other[0].digest[31] = 1);
	DIFFERS(other[1].grid[2] = 7);
	DIFFERS(other[1].block[0] = 32);
	DIFFERS(other[0].shared_bytes = 1);
	DIFFERS(other[0] = kernels[1]; other[1] = kernels[0]);
	DIFFERS(t.device = "another");
	t.device = both.device;
	DIFFERS(t.driver = "12000");
	t.driver = both.driver;
	DIFFERS(t.n = 1);
	assert_non_null(strstr(model_store_why(), "have not been measured"));
	t.n = 2;
	memcpy(other, kernels, sizeof(other));
	assert_int_equal(look(&t, &way), 0);
}

static void write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

static void test_not_a_store(void **state)
{
	struct model_store *s = NULL;
	char junk[4096];

	(void)state;
	assert_int_equal(model_store_open("/tmp/heddle-no-such-store", false, &s), -ENOENT);
	memset(junk, 'x', sizeof(junk));
	write_file(junk, sizeof(junk));
	assert_int_equal(model_store_open(path, false, &s), -EIO);
	assert_int_equal(model_store_open(path, true, &s), -EIO);
	assert_non_null(strstr(model_store_why(), "not a database"));
	assert_int_equal(model_store_open("/dev/null/store", true, &s), -EIO);
}

/* A later version of heddle has written the file: bytes 60 to 63 of an SQLite file's header are
 * user_version. */
static void test_later_layout(void **state)
{
	struct model_store *s = NULL;
	FILE *f;

	(void)state;
	put(ways, 3);
	f = fopen(path, "r+b");
	assert_non_null(f);
	fseek(f, 63, SEEK_SET);
	fputc(99, f);
	fclose(f);
	assert_int_equal(model_store_open(path, true, &s), -EPROTO);
	assert_int_equal(model_store_open(path, false, &s), -EPROTO);
	assert_non_null(strstr(model_store_why(), "later version"));
}

/* Each put stores a complete set of 40 ways, all with the same time. After a kill, a reader must
 * find one complete set. */
static void keep_putting(void)
{
	static struct model_way many[40];

	for (unsigned round = 1;; round++) {
		for (unsigned i = 0; i < ARRAY_LEN(many); i++) {
			snprintf(many[i].name, sizeof(many[i].name), "way %u", i);
			many[i].ms = round;
			many[i].runs = round;
			many[i].chosen = i == round % ARRAY_LEN(many);
		}
		put(many, ARRAY_LEN(many));
	}
}

static void test_killed(void **state)
{
	struct model_way way;

	(void)state;
	put(ways, 3);
	for (int i = 0; i < 20; i++) {
		char want[32];
		int status;
		pid_t pid = fork();

		if (pid == 0)
			keep_putting();
		usleep(5000 + 3700 * (unsigned)i);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(look(&both, &way), 0);
		if (!strcmp(way.name, "merge steal"))
			continue;
		assert_true(way.ms == way.runs);
		snprintf(want, sizeof(want), "way %u", way.runs % 40);
		assert_string_equal(way.name, want);
	}
	put(ways, 3);
}

/* Two simultaneous writers wait for each other. */
static void test_two_writers(void **state)
{
	pid_t pids[2];
	struct model_way way;

	(void)state;
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			for (int k = 0; k < 40; k++)
				put(ways, 3);
			_exit(0);
		}
	}
	for (int i = 0; i < 2; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(look(&both, &way), 0);
}

/* A limit on the size of files stands in for a full disk. */
static void test_full_disk(void **state)
{
	static struct model_way many[4000];
	struct model_store *s;
	struct rlimit was, small = {.rlim_cur = 60000};
	struct model_way way;
	int r;

	(void)state;
	put(ways, 3);
	for (unsigned i = 0; i < ARRAY_LEN(many); i++)
		snprintf(many[i].name, sizeof(many[i].name), "%090u", i);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	assert_int_equal(model_store_open(path, true, &s), 0);
	setrlimit(RLIMIT_FSIZE, &small);
	r = model_ways_put(s, &both, many, ARRAY_LEN(many));
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(r, -EIO);
	assert_true(strlen(model_store_why()) > strlen(path));
	model_store_close(s);
	assert_int_equal(look(&both, &way), 0);
	assert_string_equal(way.name, "merge steal");
}

static void test_path(void **state)
{
	char buf[256];

	(void)state;
	setenv("XDG_STATE_HOME", "/somewhere", 1);
	assert_int_equal(model_store_path(buf, sizeof(buf)), 0);
	assert_string_equal(buf, "/somewhere/heddle/measured.db");
	setenv("XDG_STATE_HOME", "not/absolute", 1);
	setenv("HOME", "/home/me", 1);
	assert_int_equal(model_store_path(buf, sizeof(buf)), 0);
	assert_string_equal(buf, "/home/me/.local/state/heddle/measured.db");
	assert_int_equal(model_store_path(buf, 10), -ENAMETOOLONG);
	unsetenv("HOME");
	assert_int_equal(model_store_path(buf, sizeof(buf)), -ENOENT);
}

static int begin(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/deep/er/measured.db", folder);
	return 0;
}

/* If the file with a chosen way is not a regular file, it is refused at once. (A FIFO would block
 * until a writer comes.) */
static void test_way_is_a_file(void **state)
{
	char name[96], way[MODEL_WAY_MAX];

	(void)state;
	snprintf(name, sizeof(name), "%s/way", folder);
	assert_int_equal(model_plain_put(name, "merge steal"), 0);
	assert_int_equal(model_plain_get(name, way), 0);
	assert_string_equal(way, "merge steal");
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	alarm(60);
	assert_int_equal(model_plain_get(name, way), -EINVAL);
	alarm(0);
	unlink(name);
}

/* Creates a file in the folder, with a modification time age_s seconds ago. */
static void leave(const char *name, int age_s)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
	char file[192];
	int fd;

	snprintf(file, sizeof(file), "%s/%s", folder, name);
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* Returns whether the file exists, and removes it. */
static bool is_left(const char *name)
{
	char file[192];

	snprintf(file, sizeof(file), "%s/%s", folder, name);
	return remove(file) == 0;
}

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* The next writer removes a killed writer's leftovers and nothing else. */
static void test_leftovers(void **state)
{
	static const char *const others[] = {
		HASH, HASH ".a-cdef", HASH ".abcdefg", "x" HASH ".abcde", "measured.abcdef"};
	char name[192];

	(void)state;
	leave(HASH ".aZ09bc", 120);
	leave(HASH ".young0", 0);
	for (unsigned i = 0; i < ARRAY_LEN(others); i++)
		leave(others[i], 120);
	snprintf(name, sizeof(name), "%s/" HASH ".folder", folder);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(utimensat(AT_FDCWD, name, (struct timespec[2]){{0}}, 0), 0);
	snprintf(name, sizeof(name), "%s/way", folder);
	assert_int_equal(model_plain_put(name, "merge steal"), 0);
	assert_false(is_left(HASH ".aZ09bc"));
	assert_true(is_left(HASH ".young0"));
	for (unsigned i = 0; i < ARRAY_LEN(others); i++)
		assert_true(is_left(others[i]));
	assert_true(is_left(HASH ".folder"));
	assert_true(is_left("way"));
}

static int end(void **state)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	char name[96];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(tails); i++) {
		snprintf(name, sizeof(name), "%s%s", path, tails[i]);
		unlink(name);
	}
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_comes_back, begin, end),
		cmocka_unit_test_setup_teardown(test_only_the_same, begin, end),
		cmocka_unit_test_setup_teardown(test_not_a_store, begin, end),
		cmocka_unit_test_setup_teardown(test_later_layout, begin, end),
		cmocka_unit_test_setup_teardown(test_killed, begin, end),
		cmocka_unit_test_setup_teardown(test_two_writers, begin, end),
		cmocka_unit_test_setup_teardown(test_full_disk, begin, end),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_way_is_a_file),
		cmocka_unit_test(test_leftovers),
	};
	char name[96];
	int r;

	if (!mkdtemp(folder))
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(name, sizeof(name), "%s/deep/er", folder);
	rmdir(name);
	snprintf(name, sizeof(name), "%s/deep", folder);
	rmdir(name);
	rmdir(folder);
	return r;
}
