/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shared-memory file of a device's table: /dev/shm/heddle-vgpuLAYOUT-UID[-NAME], for one user.
 * Device N of several appends +N. heddle versions with different table layouts use different files.
 *
 * Processes lock the file while they join and while they leave, so that the last one to leave can
 * remove it. After joining, a process closes the file's descriptor, because the program may close
 * any descriptor, and a child would keep the lock.
 *
 * A file without live users, or with another layout, is replaced by a new file and never
 * overwritten. So processes that still map the old file are not disturbed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sm_table.h"

#define FOLDER        "/dev/shm"
#define PREFIX        "heddle-vgpu%u-%u"
#define LOCK_PAUSE_NS 5000000
#define SWEEP_AT_MOST 200
/* ten seconds; other processes hold the file lock only for milliseconds */
#define JOIN_TRIES  2000
#define LEAVE_TRIES 200 /* one second; if it fails, the next process removes the file */

static void mutex_init(pthread_mutex_t *m, bool shared)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (shared)
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
}

void sm_table_init(struct sm_table *t, const struct sm_config *c, bool shared)
{
	memset(t, 0, sizeof(*t));
	t->bytes = sizeof(*t);
	t->config = *c;
	t->config.devices = MAX(c->devices, 1);
	mutex_init(&t->lock, shared);
	for (size_t i = 0; i < ARRAY_LEN(t->proc); i++)
		mutex_init(&t->proc[i].life, shared);
	for (size_t i = 0; i < ARRAY_LEN(t->slot); i++)
		t->slot[i].proc = SM_NONE;
	sm_rebuild(t);
	t->magic = SM_MAGIC;
}

/* Returns true if only this user can open the file. Another user who could open it could also lock
 * it. */
static bool is_ours(int fd, struct stat *ret)
{
	return fstat(fd, ret) == 0 && ret->st_uid == geteuid() && S_ISREG(ret->st_mode) &&
	       !(ret->st_mode & 077);
}

static int lock_file(int fd, int tries)
{
	struct timespec pause = {0, LOCK_PAUSE_NS};

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (--tries <= 0)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

void sm_segment_unlock(int fd)
{
	flock(fd, LOCK_UN);
	close(fd);
}

/* Opens and locks a file of this user. If another process removed the file before it was locked,
 * opens it again. Returns the descriptor or a negative errno. */
static int open_locked(const char *path, int flags, int tries, struct stat *ret)
{
	for (;;) {
		int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
		if (fd < 0)
			return -errno;
		int r = is_ours(fd, ret) ? lock_file(fd, tries) : -EPERM;
		if (r == 0 && fstat(fd, ret) != 0)
			r = -errno;
		if (r) {
			close(fd);
			return r;
		}
		if (ret->st_nlink > 0)
			return fd;
		sm_segment_unlock(fd);
	}
}

static struct sm_table *map_table(int fd)
{
	void *p = mmap(NULL, sizeof(struct sm_table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool anybody_lives(struct sm_table *t)
{
	for (size_t i = 0; i < SM_MAX_PROCS; i++)
		if (sm_life_lasts(&t->proc[i].life))
			return true;
	return false;
}

/* Returns true for a complete table of this layout. An unfinished one has no magic number yet. */
static bool is_table(const struct sm_table *t)
{
	return t->magic == SM_MAGIC && t->bytes == sizeof(*t);
}

static void remove_dead(const char *path)
{
	struct stat st;
	int fd = open_locked(path, 0, 1, &st);

	if (fd < 0)
		return;
	struct sm_table *t = st.st_size == sizeof(*t) ? map_table(fd) : NULL;
	if (t && is_table(t) && !anybody_lives(t))
		unlink(path);
	if (t)
		munmap(t, sizeof(*t));
	sm_segment_unlock(fd);
}

/* Removes files of other instances whose processes are all dead. Errors are ignored, because
 * leftover files do no harm. */
static void sweep_files(const char *own)
{
	char prefix[40], path[sizeof(FOLDER) + 256];
	DIR *dir = opendir(FOLDER);
	struct dirent *e;

	if (!dir)
		return;
	size_t n = (size_t)snprintf(prefix, sizeof(prefix), PREFIX, SM_LAYOUT, (unsigned)geteuid());
	for (int i = 0; i < SWEEP_AT_MOST && (e = readdir(dir)) != NULL; i++) {
		struct stat st;
		if (strncmp(e->d_name, prefix, n) || (e->d_name[n] && e->d_name[n] != '-') ||
			fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
			st.st_size != sizeof(struct sm_table))
			continue;
		snprintf(path, sizeof(path), FOLDER "/%s", e->d_name);
		if (strcmp(path, own) != 0)
			remove_dead(path);
	}
	closedir(dir);
}

static int map_new(struct sm *s, int fd, const struct sm_config *c)
{
	if (ftruncate(fd, sizeof(*s->t)) != 0)
		return -errno;
	s->t = map_table(fd);
	if (!s->t)
		return -errno;
	sm_table_init(s->t, c, true);
	return 0;
}

/* Uses an opened file. Returns -EAGAIN if the file was useless and was removed. */
static int use_file(struct sm *s, int fd, const struct stat *st, const struct sm_config *c)
{
	if (st->st_size == 0)
		return map_new(s, fd, c);
	if (st->st_size == sizeof(*s->t)) {
		s->t = map_table(fd);
		if (!s->t)
			return -errno;
		if (is_table(s->t) && anybody_lives(s->t))
			return 0;
		munmap(s->t, sizeof(*s->t));
	}
	return unlink(s->path) != 0 ? -errno : -EAGAIN;
}

int sm_segment_open(struct sm *s, const struct sm_config *c, int *ret_fd)
{
	bool named = c->name[0] || c->device;
	char number[16] = "";
	struct stat st;
	int r, fd;

	if (c->device)
		snprintf(number, sizeof(number), "+%u", c->device);
	snprintf(s->path, sizeof(s->path), FOLDER "/" PREFIX "%s%s%s", SM_LAYOUT,
		(unsigned)geteuid(), named ? "-" : "", c->name, number);
	sweep_files(s->path);
	do {
		fd = open_locked(s->path, O_CREAT, JOIN_TRIES, &st);
		if (fd < 0)
			return fd;
		r = use_file(s, fd, &st, c);
		if (r)
			sm_segment_unlock(fd);
	} while (r == -EAGAIN);
	if (r)
		return r;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	*ret_fd = fd;
	return 0;
}

void sm_segment_close(struct sm *s)
{
	struct stat st;
	int fd = open_locked(s->path, 0, LEAVE_TRIES, &st);

	if (fd >= 0) {
		if (st.st_dev == s->dev && st.st_ino == s->ino && !anybody_lives(s->t))
			unlink(s->path);
		sm_segment_unlock(fd);
	}
	munmap(s->t, sizeof(*s->t));
}
