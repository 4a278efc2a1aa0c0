/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The note of a loaded policy. The mark is a mapping of the file, so that the kernel keeps it when
 * heddled is killed. After a power cut the file has the state that it was written with: no call. */
#include "policy_note.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A heddled that has run for so long was not killed because of the policy. */
#define FORGET_S 600

enum mark { MARK_KILLS, MARK_CALL, MARK_ENDED, MARKS };

static struct {
	char *map, *marks; /* NULL: there is no note */
	size_t bytes;
	time_t since;
} note_map;

char *note_path(const char *socket)
{
	const char *state = getenv("STATE_DIRECTORY");
	char *path = NULL;
	int n = state && *state ? asprintf(&path, "%.*s/policy", (int)strcspn(state, ":"), state)
				: asprintf(&path, "%s.policy", socket);

	return n < 0 ? NULL : path;
}

static int sync_folder(const char *path)
{
	char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
	int fd, r = 0;

	if (!folder)
		return -ENOMEM;
	if (slash)
		slash[slash == folder] = 0;
	fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	free(folder);
	return r;
}

static void unmap_note(void)
{
	if (note_map.map)
		munmap(note_map.map, note_map.bytes);
	note_map.map = note_map.marks = NULL;
}

/* Maps the note. Without a mapping each kill counts as one outside of the policy's code. */
static void map_note(int fd, size_t path_bytes)
{
	void *map;

	unmap_note();
	note_map.bytes = path_bytes + 1 + MARKS;
	map = mmap(NULL, note_map.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return;
	note_map.map = map;
	note_map.marks = note_map.map + path_bytes + 1;
	note_map.since = time(NULL);
}

static int write_file(const char *path, const char *policy, uint32_t kills)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r = 0;
	char *text = NULL;
	int n;

	if (fd < 0)
		return -errno;
	n = asprintf(&text, "%s\n%u0-\n", policy, MIN(kills, 9u));
	if (n < 0)
		r = -ENOMEM;
	else if (write(fd, text, (size_t)n) != n || fsync(fd) < 0)
		r = errno ? -errno : -EIO;
	else
		map_note(fd, strlen(policy));
	close(fd);
	if (n >= 0)
		free(text);
	return r;
}

int note_write(const char *note, const char *policy, uint32_t kills)
{
	char *tmp = NULL;
	int r;

	if (asprintf(&tmp, "%s.new", note) < 0)
		return -ENOMEM;
	unlink(tmp);
	r = write_file(tmp, policy, kills);
	if (r == 0 && rename(tmp, note) < 0)
		r = -errno;
	if (r < 0)
		unlink(tmp);
	free(tmp);
	return r < 0 ? r : sync_folder(note);
}

void note_remove(const char *note)
{
	unmap_note();
	if (unlink(note) == 0)
		sync_folder(note);
}

static void read_marks(const char *marks, size_t n, struct note_found *ret)
{
	*ret = (struct note_found){0};
	if (n < MARKS)
		return;
	if (marks[MARK_KILLS] >= '0' && marks[MARK_KILLS] <= '9')
		ret->kills = (uint32_t)(marks[MARK_KILLS] - '0');
	if (marks[MARK_CALL] >= '0' && marks[MARK_CALL] < '0' + POLICY_CALLS)
		ret->call = (enum policy_call)(marks[MARK_CALL] - '0');
	ret->ended = marks[MARK_ENDED] == '!';
}

bool note_read(const char *note, const char *policy, struct note_found *ret)
{
	size_t n = strlen(policy);
	char text[PATH_MAX + 2 + MARKS];
	int fd = open(note, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool own = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid();
	ssize_t got = own ? read(fd, text, sizeof(text)) : -1;

	if (fd >= 0)
		close(fd);
	if (got < (ssize_t)n + 1 || memcmp(text, policy, n) != 0 || text[n] != '\n')
		return false;
	read_marks(text + n + 1, (size_t)got - n - 1, ret);
	return true;
}

void note_mark_call(enum policy_call call)
{
	if (!note_map.marks)
		return;
	if (note_map.marks[MARK_KILLS] != '0' && time(NULL) - note_map.since > FORGET_S)
		note_map.marks[MARK_KILLS] = '0';
	note_map.marks[MARK_CALL] = (char)('0' + call);
}

void note_mark_ended(void)
{
	if (note_map.marks)
		note_map.marks[MARK_ENDED] = '!';
}
