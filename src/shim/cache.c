/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What is kept on disk for the next start (rewritten kernels, how many connections a program
 * needs), one file each: $XDG_CACHE_HOME/heddle/KEY, else ~/.cache/heddle/KEY. A file is a header,
 * the digest of what follows, and what follows; anything that does not fit is as good as absent.
 * Files appear by rename, so nobody reads half of one. Whatever fails here only costs time. */
#include "shim/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_MAGIC "hdcache1"
#define CACHE_MAX   ((size_t)64 << 20)

struct cache_head {
	char magic[8];
	uint64_t bytes;
	uint8_t digest[32];
};

static bool cache_dir(char *ret, size_t size)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = -1;

	if (xdg && *xdg == '/')
		n = snprintf(ret, size, "%s/heddle", xdg);
	else if (home && *home == '/')
		n = snprintf(ret, size, "%s/.cache/heddle", home);
	return n > 0 && (size_t)n < size;
}

static bool cache_path(const uint8_t key[32], char *ret, size_t size)
{
	char dir[3072], hex[65];
	int n;

	if (!cache_dir(dir, sizeof(dir)))
		return false;
	hex_encode(key, 32, hex);
	n = snprintf(ret, size, "%s/%s", dir, hex);
	return n > 0 && (size_t)n < size;
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

bool cache_get(const uint8_t key[32], struct strbuf *ret)
{
	struct cache_head h;
	char path[4096];
	uint8_t digest[32];
	struct stat st;
	char *data = NULL;
	bool ok = false;
	int fd;

	if (!cache_path(key, path, sizeof(path)))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	/* Only what this user wrote: it becomes code. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		read_all(fd, &h, sizeof(h)) && !memcmp(h.magic, CACHE_MAGIC, sizeof(h.magic)) &&
		h.bytes <= CACHE_MAX && (size_t)st.st_size == sizeof(h) + h.bytes)
		data = malloc(h.bytes + 1);
	if (data && read_all(fd, data, h.bytes)) {
		sha256(data, h.bytes, digest);
		ok = !memcmp(digest, h.digest, sizeof(digest));
	}
	if (ok)
		strbuf_add(ret, data, h.bytes);
	free(data);
	close(fd);
	return ok && !ret->failed;
}

bool cache_stage(const uint8_t key[32], const void *data, size_t len, struct staged *ret)
{
	struct cache_head h = {.magic = CACHE_MAGIC, .bytes = len};
	char *path = ret->path, *slash;
	int fd;
	bool ok;

	if (len > CACHE_MAX || !cache_path(key, path, sizeof(ret->path)))
		return false;
	slash = strrchr(path, '/');
	*slash = 0;
	if (mkdir(path, 0700) < 0 && errno == ENOENT) {
		char *up = strrchr(path, '/');

		*up = 0;
		mkdir(path, 0700);
		*up = '/';
		mkdir(path, 0700);
	}
	*slash = '/';
	sha256(data, len, h.digest);
	snprintf(ret->tmp, sizeof(ret->tmp), "%s.%d.%llx", path, (int)getpid(),
		(unsigned long long)shim_now_ns());
	fd = open(ret->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	ok = write_all(fd, &h, sizeof(h)) && write_all(fd, data, len);
	if (close(fd) < 0 || !ok) {
		unlink(ret->tmp);
		return false;
	}
	return true;
}

void cache_unstage(const struct staged *s)
{
	unlink(s->tmp);
}

void cache_commit(const struct staged *s)
{
	if (rename(s->tmp, s->path) < 0)
		unlink(s->tmp);
}

void cache_put(const uint8_t key[32], const void *data, size_t len)
{
	struct staged s;

	if (cache_stage(key, data, len, &s))
		cache_commit(&s);
}
