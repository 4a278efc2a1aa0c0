/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implements folder.h. Several processes can use the folder at the same time. If one of them
 * removes a file, the others no longer find it, which does no harm. */
#include "host/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEY_CHARS     64
#define UNFINISHED_S  86400 /* no process writes a file for this long */
#define NAME_CHARS    128
#define FIRST_ENTRIES 256u

int folder_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -EPERM;
}

bool folder_keep(const char *tmp, const char *path)
{
	const char *from = strrchr(tmp, '/'), *to = strrchr(path, '/');
	char dir[4096];
	bool ok;
	int fd;

	if (!from || !to || (size_t)(to - path) >= sizeof(dir) || to == path)
		return false;
	memcpy(dir, path, (size_t)(to - path));
	dir[to - path] = 0;
	fd = folder_open(dir);
	if (fd < 0)
		return false;
	ok = renameat(fd, from + 1, fd, to + 1) == 0;
	if (!ok)
		unlinkat(fd, from + 1, 0);
	close(fd);
	return ok;
}

/* ---- size of the folder ---- */

struct kept {
	struct timespec used;
	uint64_t bytes;
	char name[NAME_CHARS];
};

struct list {
	struct kept *at;
	size_t n, room;
	uint64_t bytes;
};

/* Returns true if heddle made this file. Its name is KEY, or KEY.PID.TIME while it is being
 * written. */
static bool is_ours(const char *name, bool *ret_finished)
{
	size_t n = strspn(name, "0123456789abcdef");

	*ret_finished = !name[n];
	return n == KEY_CHARS && (!name[n] || name[n] == '.') && strlen(name) < NAME_CHARS;
}

static bool add_file(struct list *l, const char *name, const struct stat *st)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : FIRST_ENTRIES;
		struct kept *more = realloc(l->at, room * sizeof(*more));

		if (!more)
			return false;
		l->at = more;
		l->room = room;
	}
	l->at[l->n] = (struct kept){.used = st->st_mtim, .bytes = (uint64_t)st->st_size};
	snprintf(l->at[l->n].name, NAME_CHARS, "%s", name);
	l->bytes += l->at[l->n++].bytes;
	return true;
}

static bool list_files(int folder, struct list *l)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;
	bool ok = dir;

	if (!dir && again >= 0)
		close(again);
	while (ok && (e = readdir(dir))) {
		bool finished;
		struct stat st;

		if (!is_ours(e->d_name, &finished) ||
			fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		if (!finished && time(NULL) - st.st_mtim.tv_sec > UNFINISHED_S)
			unlinkat(folder, e->d_name, 0);
		else
			ok = add_file(l, e->d_name, &st);
	}
	if (dir)
		closedir(dir);
	return ok;
}

static int by_use(const void *pa, const void *pb)
{
	const struct kept *a = pa, *b = pb;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

void folder_trim(int folder, uint64_t max_bytes)
{
	struct list l = {0};

	if (list_files(folder, &l) && l.bytes > max_bytes) {
		qsort(l.at, l.n, sizeof(l.at[0]), by_use);
		for (size_t i = 0; i < l.n && l.bytes > max_bytes - max_bytes / 8; i++) {
			unlinkat(folder, l.at[i].name, 0);
			l.bytes -= l.at[i].bytes;
		}
	}
	free(l.at);
}
