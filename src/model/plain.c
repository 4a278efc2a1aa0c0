/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* STORE.ways/HASH is the file of one set of kernels, with one line for the way. HASH is the
 * SHA-256 of the text that model_describe writes. The file is first written as
 * STORE.ways/HASH.XXXXXX, and then renamed. */
#include "model/plain.h"
#include "base/trust.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HASH_DIGITS 64
#define OLD_S       60 /* unfinished files that are older than this, in s, were abandoned */

int model_default_path(char *buf, size_t size)
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	int n;

	if (state && state[0] == '/')
		n = snprintf(buf, size, "%s/heddle/measured.db", state);
	else if (home && home[0] == '/')
		n = snprintf(buf, size, "%s/.local/state/heddle/measured.db", home);
	else
		return -ENOENT;
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

void model_make_folders(const char *path)
{
	char part[4096];

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		mkdir(part, 0700);
	}
}

void model_describe(const struct model_together *t, struct strbuf *out)
{
	strbuf_printf(out, "device %s\ndriver %s\n", t->device, t->driver);
	for (unsigned i = 0; i < t->n; i++) {
		const struct model_kernel *k = &t->kernels[i];

		char hex[65];

		hex_encode(k->digest, sizeof(k->digest), hex);
		strbuf_printf(out, "kernel %s grid %u,%u,%u block %u,%u,%u shared %u\n", hex,
			k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2],
			k->shared_bytes);
	}
}

int model_plain_path(const char *store, const struct model_together *t, char *buf, size_t size)
{
	struct strbuf text = {0};
	uint8_t hash[32];
	char hex[65];
	size_t used;
	int r = 0, n;

	if (store)
		r = (size_t)snprintf(buf, size, "%s", store) < size ? 0 : -ENAMETOOLONG;
	else
		r = model_default_path(buf, size);
	model_describe(t, &text);
	if (r == 0 && text.failed)
		r = -ENOMEM;
	if (r == 0)
		sha256(text.at, text.len, hash);
	strbuf_finish(&text);
	if (r < 0)
		return r;
	hex_encode(hash, sizeof(hash), hex);
	used = strlen(buf);
	n = snprintf(buf + used, size - used, ".ways/%s", hex);
	return n < 0 || (size_t)n >= size - used ? -ENAMETOOLONG : 0;
}

/* Returns true for HASH.XXXXXX, the name of a file that model_plain_put has not completed. */
static bool is_unfinished(const char *name)
{
	const char *end = name + HASH_DIGITS;

	if (strlen(name) != HASH_DIGITS + strlen(".XXXXXX") || *end != '.')
		return false;
	if (strspn(name, "0123456789abcdef") != HASH_DIGITS)
		return false;
	while (isalnum((unsigned char)*++end))
		;
	return !*end;
}

/* Removes the unfinished files of processes that were killed while they wrote: files of this user
 * that are older than OLD_S seconds. */
static void remove_unfinished(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[4096];
	struct dirent *e;
	struct stat st;
	DIR *d;

	if (!slash || snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + 1), path) >=
			      (int)sizeof(folder))
		return;
	d = opendir(folder);
	while (d && (e = readdir(d))) {
		if (is_unfinished(e->d_name) &&
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
			st.st_mtime < time(NULL) - OLD_S)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

int model_plain_put(const char *path, const char *way)
{
	char beside[4096];
	FILE *f;
	int fd, err = 0;

	model_make_folders(path);
	remove_unfinished(path);
	if ((size_t)snprintf(beside, sizeof(beside), "%s.XXXXXX", path) >= sizeof(beside))
		return -ENAMETOOLONG;
	fd = mkostemp(beside, O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		err = errno;
		if (fd >= 0)
			close(fd);
		return -err;
	}
	fprintf(f, "%s\n", way);
	if (fflush(f) || fsync(fd))
		err = errno;
	if (fclose(f) && !err)
		err = errno;
	if (!err && rename(beside, path))
		err = errno;
	if (err)
		unlink(beside);
	return -err;
}

int model_plain_get(const char *path, char ret_way[MODEL_WAY_MAX])
{
	char line[MODEL_WAY_MAX + 1];
	int fd =
		/* O_NONBLOCK: does not wait for the writer of a FIFO */
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char problem[8];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || trust_file(&st, problem, sizeof(problem)) < 0) {
		close(fd);
		return -EPERM;
	}
	n = S_ISREG(st.st_mode) ? read(fd, line, sizeof(line)) : 0;
	close(fd);
	if (n < 2 || n > MODEL_WAY_MAX || line[n - 1] != '\n' || memchr(line, 0, n))
		return -EINVAL;
	line[n - 1] = 0;
	memcpy(ret_way, line, (size_t)n);
	return 0;
}
