/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The cache on disk for the program's next start. It stores rewritten kernels, and the number of
 * hardware channels that the program needs. Each entry is one file: $XDG_CACHE_HOME/heddle/KEY, or
 * ~/.cache/heddle/KEY if that variable is not set.
 *
 * A file has a header, a digest of its key and content, and the content. If the digest does not
 * match, for example because the file was renamed, the entry counts as absent. The shim writes each
 * file under another name and then renames it, so that no reader sees half a file. Reading an entry
 * updates its file's time, at most once a minute, so that trimming removes the least recently used
 * files. An error in the cache only costs time. The program does not see the files that the shim
 * opens here (unseen.h). */
#include "shim/core/cache.h"
#include "base/environment.h"
#include "host/folder.h"
#include "host/unseen.h"

#include "shim/core/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CACHE_MAGIC "hdcache2"
#define CACHE_MAX   ((size_t)64 << 20)
/* A file's time says when its entry was last used. If that is less than this many seconds ago,
 * reading the file does not update the time. So a program that starts again and again does not
 * write to the disk at each start. */
#define TOUCH_AFTER_S 60

struct cache_head {
	char magic[8];
	uint64_t bytes;
	uint8_t digest[32];
};

/* Returns the limit for the total size of all cached files, in bytes. */
static uint64_t all_bytes(void)
{
	return env_number(ENV_CACHE_MB) << 20;
}

static bool cache_dir(char *ret, size_t size)
{
	const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int n = -1;

	if (xdg && *xdg == '/')
		n = snprintf(ret, size, "%s/heddle", xdg);
	else if (home && *home == '/')
		n = snprintf(ret, size, "%s/.cache/heddle", home);
	return n > 0 && (size_t)n < size;
}

/* Writes the path of this key's file in dir. */
static bool cache_path(const char *dir, const uint8_t key[32], char *ret, size_t size)
{
	char hex[65];
	int n;

	hex_encode(key, 32, hex);
	n = snprintf(ret, size, "%s/%s", dir, hex);
	return n > 0 && (size_t)n < size;
}

/* Computes the digest of a file. The digest also covers the key, so that a file that was copied or
 * renamed to another key is not accepted under that key. */
static void digest_of(const uint8_t key[32], const void *data, size_t len, uint8_t ret_digest[32])
{
	uint8_t both[64];

	memcpy(both, key, 32);
	sha256(data, len, both + 32);
	sha256(both, sizeof(both), ret_digest);
}

static bool read_all(int fd, void *buf, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = read(fd, (char *)buf + at, len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static bool write_all(int fd, const void *buf, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, (const char *)buf + at, len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static void touch_file(int fd, const struct stat *st)
{
	const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};

	if (time(NULL) - st->st_mtim.tv_sec > TOUCH_AFTER_S && futimens(fd, now) < 0)
		return; /* the time stays old, so the file is removed sooner */
}

static bool read_file(int fd, const uint8_t key[32], struct strbuf *ret)
{
	struct cache_head h;
	uint8_t digest[32];
	struct stat st;
	char *data = NULL;
	bool ok = false;

	/* Accepts only files that this user wrote, because their content becomes code. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		read_all(fd, &h, sizeof(h)) && !memcmp(h.magic, CACHE_MAGIC, sizeof(h.magic)) &&
		h.bytes <= CACHE_MAX && (size_t)st.st_size == sizeof(h) + h.bytes)
		data = malloc(h.bytes + 1);
	if (data && read_all(fd, data, h.bytes)) {
		digest_of(key, data, h.bytes, digest);
		ok = !memcmp(digest, h.digest, sizeof(digest));
	}
	if (ok) {
		strbuf_add(ret, data, h.bytes);
		touch_file(fd, &st);
	}
	free(data);
	return ok && !ret->failed;
}

struct reading {
	const char *dir;
	const uint8_t *key;
	struct strbuf *ret;
	bool ok, refused;
};

/* Prints once that the shim does not use the folder, and what to do about it. */
static void say_refused(const char *dir, bool refused)
{
	static atomic_bool said;

	if (refused && !atomic_exchange(&said, true))
		shim_say("the cache of rewritten kernels is not used: it must belong to this user, "
			 "and "
			 "be writable by no one else (chown, chmod go-w): ",
			dir);
}

static void do_read(void *arg)
{
	struct reading *r = arg;
	int folder = folder_open(r->dir), fd;
	char hex[65];

	r->refused = folder == -EPERM;
	if (folder < 0)
		return;
	hex_encode(r->key, 32, hex);
	fd = openat(folder, hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0) {
		r->ok = read_file(fd, r->key, r->ret);
		close(fd);
	}
	close(folder);
}

bool cache_get(const uint8_t key[32], struct strbuf *ret)
{
	char dir[3072];
	struct reading r = {.dir = dir, .key = key, .ret = ret};

	if (cache_dir(dir, sizeof(dir)) && all_bytes())
		host_run_unseen(do_read, &r);
	say_refused(dir, r.refused);
	return r.ok;
}

static int make_folder(char *dir)
{
	char *up = strrchr(dir, '/');

	if (mkdir(dir, 0700) < 0 && errno == ENOENT && up != dir) {
		*up = 0;
		mkdir(dir, 0700);
		*up = '/';
		mkdir(dir, 0700);
	}
	return folder_open(dir);
}

/* Trims the cache from time to time. Scanning the folder takes milliseconds, so a process does not
 * trim at each write. It trims when it writes its first file, and again whenever it has written
 * another sixteenth of the size limit. */
static void trim_cache(int folder, uint64_t bytes, uint64_t all)
{
	static _Atomic uint64_t written;
	uint64_t before = atomic_fetch_add(&written, bytes), step = all / 16;

	if (!before || before / step != (before + bytes) / step)
		folder_trim(folder, all);
}

static bool write_file(
	int folder, const char *name, const struct cache_head *h, const void *data, size_t len)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool ok;

	if (fd < 0)
		return false;
	ok = write_all(fd, h, sizeof(*h)) && write_all(fd, data, len);
	if (close(fd) == 0 && ok)
		return true;
	unlinkat(folder, name, 0);
	return false;
}

struct writing {
	char *dir;
	const struct cache_head *head;
	const void *data;
	size_t len;
	const char *tmp;
	bool ok;
};

static void do_write(void *arg)
{
	struct writing *w = arg;
	int folder = make_folder(w->dir);

	if (folder < 0)
		return;
	trim_cache(folder, sizeof(*w->head) + w->len, all_bytes());
	w->ok = write_file(folder, strrchr(w->tmp, '/') + 1, w->head, w->data, w->len);
	close(folder);
}

bool cache_stage(const uint8_t key[32], const void *data, size_t len, struct staged *ret)
{
	struct cache_head h = {.magic = CACHE_MAGIC, .bytes = len};
	uint64_t all = all_bytes();
	char dir[3072];
	struct writing w = {.dir = dir, .head = &h, .data = data, .len = len, .tmp = ret->tmp};

	if (len > CACHE_MAX || len + sizeof(h) > all / 8 || !cache_dir(dir, sizeof(dir)) ||
		!cache_path(dir, key, ret->path, sizeof(ret->path)))
		return false;
	digest_of(key, data, len, h.digest);
	snprintf(ret->tmp, sizeof(ret->tmp), "%s.%d.%llx", ret->path, (int)getpid(),
		(unsigned long long)shim_now_ns());
	host_run_unseen(do_write, &w);
	return w.ok;
}

void cache_unstage(const struct staged *s)
{
	unlink(s->tmp);
}

static void do_commit(void *arg)
{
	const struct staged *s = arg;

	folder_keep(s->tmp, s->path);
}

void cache_commit(const struct staged *s)
{
	host_run_unseen(do_commit, (void *)s);
}

void cache_put(const uint8_t key[32], const void *data, size_t len)
{
	struct staged s;

	if (cache_stage(key, data, len, &s))
		cache_commit(&s);
}
