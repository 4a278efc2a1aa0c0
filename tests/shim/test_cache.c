/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the store of forms for the next start. A file must count only under its own name, and only
 * in a folder that no other user can write to. If the files exceed their limit, the least recently
 * used ones must be removed. */
#include "unit.h"

#include "host/folder.h"
#include "host/unseen.h"
#include "shim/core/cache.h"
#include "shim/core/say.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SOME (100u << 10)

static char home[] = "/tmp/heddle-cache-XXXXXX", folder[64];

static unsigned says; /* number of lines that the shim printed */

void shim_say(const char *text, const char *more)
{
	assert_non_null(strstr(text, "is not used"));
	assert_string_equal(more, folder);
	says++;
}

uint64_t shim_now_ns(void)
{
	static uint64_t n;

	return ++n;
}

static const uint8_t *key(unsigned i)
{
	static uint8_t k[32];

	memset(k, 0xab, sizeof(k));
	memcpy(k, &i, sizeof(i));
	return k;
}

static char *path_of(unsigned i)
{
	static char path[2][200];
	static unsigned turn;
	char hex[65];

	turn ^= 1;
	hex_encode(key(i), 32, hex);
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, hex);
	return path[turn];
}

static bool has(unsigned i, const char *text)
{
	struct strbuf b = {0};
	bool ok = cache_get(key(i), &b) && b.len == strlen(text) && !memcmp(b.at, text, b.len);

	strbuf_finish(&b);
	return ok;
}

static void put(unsigned i, const char *text)
{
	cache_put(key(i), text, strlen(text));
}

static int begin(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	unsetenv("HEDDLE_CACHE_MB");
	return system(command);
}

static void keeps(void **state)
{
	put(1, "one");
	put(2, "another");
	assert_true(has(1, "one"));
	assert_true(has(2, "another"));
	assert_false(has(3, "one"));
	put(1, "one again");
	assert_true(has(1, "one again"));
}

static void under_its_name(void **state)
{
	char aside[100];

	put(1, "one");
	put(2, "two");
	snprintf(aside, sizeof(aside), "%s/aside", folder);
	assert_int_equal(rename(path_of(1), aside), 0);
	assert_int_equal(rename(path_of(2), path_of(1)), 0);
	assert_int_equal(rename(aside, path_of(2)), 0);
	assert_false(has(1, "two"));
	assert_false(has(1, "one"));
	assert_false(has(2, "one"));
	/* A file with the wrong contents is replaced. */
	put(1, "one");
	assert_true(has(1, "one"));
}

static void damaged(void **state)
{
	struct stat st;
	int fd;

	put(1, "one");
	assert_int_equal(stat(path_of(1), &st), 0);
	fd = open(path_of(1), O_RDWR);
	assert_int_equal(pwrite(fd, "x", 1, st.st_size - 1), 1);
	assert_false(has(1, "one"));
	assert_false(has(1, "onx"));
	put(1, "one");
	close(fd);
	assert_int_equal(truncate(path_of(1), st.st_size - 1), 0);
	assert_false(has(1, "one"));
	assert_false(has(1, "on"));
}

static void others_may_write(void **state)
{
	put(1, "one");
	assert_int_equal(chmod(folder, 0777), 0);
	assert_false(has(1, "one"));
	put(2, "two");
	assert_int_equal(access(path_of(2), F_OK), -1);
	assert_int_equal(chmod(folder, 0720), 0);
	assert_false(has(1, "one"));
	assert_int_equal(says, 1); /* reported once */
	assert_int_equal(chmod(folder, 0755), 0);
	assert_true(has(1, "one"));
	if (geteuid() == 0) {
		assert_int_equal(chown(folder, 65534, 65534), 0);
		assert_false(has(1, "one"));
		put(2, "two");
		assert_int_equal(access(path_of(2), F_OK), -1);
	}
}

static void elsewhere(void **state)
{
	char real[100];

	put(1, "one");
	snprintf(real, sizeof(real), "%s/real", home);
	assert_int_equal(rename(folder, real), 0);
	assert_int_equal(symlink(real, folder), 0);
	assert_false(has(1, "one"));
	unlink(folder);
	assert_int_equal(rename(real, folder), 0);
	assert_true(has(1, "one"));
}

/* Between staging and commit, the folder becomes writable for others. */
static void staged(void **state)
{
	struct staged s;

	assert_true(cache_stage(key(1), "one", 3, &s));
	assert_false(has(1, "one"));
	assert_int_equal(chmod(folder, 0777), 0);
	cache_commit(&s);
	assert_int_equal(access(path_of(1), F_OK), -1);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_true(cache_stage(key(1), "one", 3, &s));
	cache_commit(&s);
	assert_true(has(1, "one"));
	assert_true(cache_stage(key(2), "two", 3, &s));
	cache_unstage(&s);
	assert_int_equal(access(s.tmp, F_OK), -1);
}

static uint64_t bytes_there(unsigned *ret_files)
{
	DIR *dir = opendir(folder);
	uint64_t bytes = 0;
	struct dirent *e;

	*ret_files = 0;
	while (dir && (e = readdir(dir))) {
		struct stat st;

		if (e->d_name[0] == '.' || fstatat(dirfd(dir), e->d_name, &st, 0) < 0)
			continue;
		bytes += (uint64_t)st.st_size;
		++*ret_files;
	}
	if (dir)
		closedir(dir);
	return bytes;
}

static void used(const char *path, time_t hours_ago)
{
	struct timespec t[2] = {{.tv_sec = time(NULL) - hours_ago * 3600}};

	t[1] = t[0];
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void takes_what_it_may(void **state)
{
	static char text[SOME];
	char path[100];
	unsigned files;

	memset(text, 'x', sizeof(text) - 1);
	setenv("HEDDLE_CACHE_MB", "1", 1);
	for (unsigned i = 0; i < 8; i++) {
		put(i, text);
		used(path_of(i), 100 - (time_t)i);
	}
	assert_true(has(0, text)); /* this read makes the oldest file the most recently used */
	snprintf(path, sizeof(path), "%s/notes-of-mine", folder);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	used(path, 1000);
	for (unsigned i = 8; i < 60; i++) {
		put(i, text);
		assert_true(has(i, text));
		if (i == 12)
			assert_true(has(0, text));
	}
	assert_true(bytes_there(&files) <= (1u << 20) + (1u << 17));
	assert_true(files >= 7);
	assert_false(has(1, text));
	assert_false(has(5, text));
	assert_int_equal(access(path, F_OK), 0);
	/* A file that would displace most of the others is not stored. */
	snprintf(path, sizeof(path), "%s", path_of(99));
	{
		static char large[300u << 10];

		memset(large, 'y', sizeof(large) - 1);
		put(99, large);
		assert_int_equal(access(path, F_OK), -1);
	}
	setenv("HEDDLE_CACHE_MB", "0", 1);
	assert_false(has(59, text));
	put(60, "small");
	unsetenv("HEDDLE_CACHE_MB");
	assert_false(has(60, "small"));
	assert_true(has(59, text));
}

static void unfinished(void **state)
{
	char path[200];
	unsigned files;
	int fd;

	put(1, "one");
	snprintf(path, sizeof(path), "%s.1.a", path_of(2));
	close(open(path, O_CREAT | O_WRONLY, 0600));
	fd = folder_open(folder);
	folder_trim(fd, 1 << 20);
	assert_int_equal(access(path, F_OK), 0); /* recent, so its writer may still be running */
	used(path, 48);
	folder_trim(fd, 1 << 20);
	assert_int_equal(access(path, F_OK), -1);
	bytes_there(&files);
	assert_int_equal(files, 1);
	close(fd);
}

/* ---- the descriptors that the store uses ---- */

static sem_t inside, over;

static unsigned numbers(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void opens(void *arg)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* the lowest free number, so the thread has none of the program's descriptors */
	*(bool *)arg = fd == 3;
	sem_post(&inside);
	sem_wait(&over);
	close(fd);
}

static void *works(void *arg)
{
	host_run_unseen(opens, arg);
	return NULL;
}

/* The program must not see the store's descriptors. Nor may the store keep descriptors open that
 * the program closes. */
static void unseen(void **state)
{
	bool alone = false;
	pthread_t t;
	int ends[2];
	unsigned n;
	char byte;

	sem_init(&inside, 0, 0);
	sem_init(&over, 0, 0);
	assert_int_equal(pipe(ends), 0);
	n = numbers();
	assert_int_equal(pthread_create(&t, NULL, works, &alone), 0);
	sem_wait(&inside);
	assert_int_equal(numbers(), n);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	sem_post(&over);
	pthread_join(t, NULL);
	assert_true(alone);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(keeps, begin),
		cmocka_unit_test_setup(under_its_name, begin),
		cmocka_unit_test_setup(damaged, begin),
		cmocka_unit_test_setup(others_may_write, begin),
		cmocka_unit_test_setup(elsewhere, begin),
		cmocka_unit_test_setup(staged, begin),
		cmocka_unit_test_setup(takes_what_it_may, begin),
		cmocka_unit_test_setup(unfinished, begin),
		cmocka_unit_test(unseen),
	};
	char command[128];
	int r;

	if (!mkdtemp(home))
		return 1;
	snprintf(folder, sizeof(folder), "%s/heddle", home);
	setenv("XDG_CACHE_HOME", home, 1);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", home);
	return system(command) || r;
}
