/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What a policy's file holds becomes code of heddled, with all its rights: only a file counts that
 * is the daemon's user's or root's, and that nobody else can write to or put another one in the
 * place of. It is opened once, looked at, and loaded by that descriptor.
 *
 * The note, one line with the file's path, is on disk before any of the policy's code runs, and
 * removed when all of it has ended in order. A heddled that finds it at its start was ended by that
 * policy, as far as anybody knows, and does not load it again. It lies in the service manager's
 * state folder, else beside the socket. */
#include "policies.h"
#include "log.h"
#include "sched/planner.h"
#include "watchdog.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As much of a table as has been there since this ABI number: later fields may be missing. */
#define TABLE_BYTES (offsetof(struct heddle_policy, decide) + sizeof(void (*)(void)))

struct policy_loaded {
	struct sched_policy policy; /* what the engines have */
	struct sched_planner planner;
	char *path, *options, *note;
	char name[32];
	struct stat st;
	int fd; /* stays open: dlopen takes files of one name for the same */
	void *dl;
};

/* ---- the file ---- */

static bool is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* The folders above, from the file's own: who may rename what lies there may replace it. */
static int check_folders(const char *path)
{
	char folder[PATH_MAX];
	bool own = true;
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	while ((slash = strrchr(folder, '/'))) {
		struct stat st;
		mode_t others;

		slash[slash == folder] = 0;
		if (stat(folder, &st) < 0) {
			hd_log_at(HD_LOG_ERROR, "policy: %s: %s", folder, strerror(errno));
			return -EINVAL;
		}
		/* In /tmp and its like nobody renames what is another's. */
		others = !own && st.st_mode & S_ISVTX ? 0 : st.st_mode & 022;
		if (!is_trusted(&st) || others) {
			hd_log_at(HD_LOG_ERROR,
				"policy: %s: other users can replace what lies in the folder %s: "
				"it must be this user's or root's, and writable by no one else",
				path, folder);
			return -EINVAL;
		}
		own = false;
		if (slash == folder)
			break;
	}
	return 0;
}

static int check_file(const char *path, const struct stat *st)
{
	if (!S_ISREG(st->st_mode)) {
		hd_log_at(HD_LOG_ERROR, "policy: %s: not a regular file", path);
		return -EINVAL;
	}
	if (!is_trusted(st)) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: it is the file of user %u: it must be this user's or root's",
			path, (unsigned)st->st_uid);
		return -EINVAL;
	}
	if (st->st_mode & 022) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: other users can write to it: take that right from them "
			"(chmod go-w)",
			path);
		return -EINVAL;
	}
	return check_folders(path);
}

/* A descriptor, or -EINVAL: said. The caller frees *ret_path. */
static int open_file(const char *given, char **ret_path, struct stat *ret_st)
{
	char *path = realpath(given, NULL);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;

	if (fd < 0 || fstat(fd, ret_st) < 0) {
		hd_log_at(HD_LOG_ERROR, "policy: %s: %s", given, strerror(errno));
	} else if (check_file(path, ret_st) == 0) {
		*ret_path = path;
		return fd;
	}
	free(path);
	if (fd >= 0)
		close(fd);
	return -EINVAL;
}

int policy_check(const struct hd_config *c)
{
	struct stat st;
	char *path;
	int fd;

	if (!c->policy_file[0])
		return 0;
	fd = open_file(c->policy_file, &path, &st);
	if (fd < 0)
		return fd;
	free(path);
	close(fd);
	return 0;
}

/* ---- the note ---- */

/* NULL: out of memory. The caller frees it. */
static char *note_path(const struct hd_config *c)
{
	const char *state = getenv("STATE_DIRECTORY");
	char *path = NULL;
	int n = state && *state ? asprintf(&path, "%.*s/policy", (int)strcspn(state, ":"), state)
				: asprintf(&path, "%s.policy", c->socket);

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

/* On disk when this returns. 0 or negative errno. */
static int write_note(const char *note, const char *policy)
{
	char *tmp = NULL;
	size_t n = strlen(policy);
	int fd, r = 0;

	if (asprintf(&tmp, "%s.new", note) < 0)
		return -ENOMEM;
	unlink(tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		r = -errno;
		free(tmp);
		return r;
	}
	if (write(fd, policy, n) != (ssize_t)n || write(fd, "\n", 1) != 1 || fsync(fd) < 0)
		r = errno ? -errno : -EIO;
	close(fd);
	if (r == 0 && rename(tmp, note) < 0)
		r = -errno;
	if (r < 0)
		unlink(tmp);
	free(tmp);
	return r < 0 ? r : sync_folder(note);
}

static void remove_note(const char *note)
{
	if (unlink(note) == 0)
		sync_folder(note);
}

/* Does the note name this policy? */
static bool is_noted(const char *note, const char *policy)
{
	size_t n = strlen(policy);
	char text[PATH_MAX + 2];
	int fd = open(note, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return got == (ssize_t)n + 1 && memcmp(text, policy, n) == 0 && text[n] == '\n';
}

/* ---- loading ---- */

static void on_enter(void *user, const char *call)
{
	const struct policy_loaded *p = user;

	watchdog_enter(p->name, call);
}

static void on_leave(void *user)
{
	(void)user;
	watchdog_leave();
}

static void on_say(void *user, const char *what)
{
	const struct policy_loaded *p = user;

	hd_log("policy %s: %s", p->name, what);
}

static int check_table(const struct policy_loaded *p, const struct heddle_policy *t)
{
	if (!t) {
		hd_log_at(HD_LOG_ERROR, "policy: %s: heddle_policy() returned NULL", p->path);
		return -EINVAL;
	}
	if (t->abi != HEDDLE_POLICY_ABI) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: made for ABI %u, this heddled has %u: build it with this "
			"heddled's heddle/policy.h",
			p->path, t->abi, HEDDLE_POLICY_ABI);
		return -EINVAL;
	}
	if (t->size < TABLE_BYTES) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: its table has %u bytes, of at least %zu: set size to "
			"sizeof(struct heddle_policy)",
			p->path, t->size, TABLE_BYTES);
		return -EINVAL;
	}
	if (!t->name || !t->name[0] || !t->decide) {
		hd_log_at(HD_LOG_ERROR, "policy: %s: its table has no %s", p->path,
			t->decide ? "name" : "decide");
		return -EINVAL;
	}
	return 0;
}

/* Runs its code for the first time. */
static int load_table(struct policy_loaded *p)
{
	const struct heddle_policy *(*table)(void);
	const struct heddle_policy *t;
	char file[32];

	snprintf(file, sizeof(file), "/proc/self/fd/%d", p->fd);
	watchdog_enter(p->name, "loading it");
	p->dl = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	watchdog_leave();
	if (!p->dl) {
		const char *why = dlerror();
		size_t n = strlen(file);

		/* The file has a name that says more. */
		why += strncmp(why, file, n) == 0 && strncmp(why + n, ": ", 2) == 0 ? n + 2 : 0;
		hd_log_at(HD_LOG_ERROR, "policy: %s: it cannot be loaded: %s", p->path, why);
		return -EINVAL;
	}
	table = (const struct heddle_policy *(*)(void))dlsym(p->dl, "heddle_policy");
	if (!table) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: it exports no heddle_policy(); see heddle/policy.h", p->path);
		return -EINVAL;
	}
	watchdog_enter(p->name, "heddle_policy");
	t = table();
	watchdog_leave();
	if (check_table(p, t) < 0)
		return -EINVAL;
	snprintf(p->name, sizeof(p->name), "%s", t->name);
	p->planner = (struct sched_planner){
		.policy = t,
		.options = p->options,
		.enter = on_enter,
		.leave = on_leave,
		.say = on_say,
		.user = p,
	};
	p->policy = (struct sched_policy){.name = p->name, .planner = &p->planner};
	return 0;
}

static void free_loaded(struct policy_loaded *p)
{
	if (p->dl) {
		watchdog_enter(p->name, "unloading it");
		dlclose(p->dl);
		watchdog_leave();
	}
	close(p->fd);
	free(p->path);
	free(p->options);
	free(p->note);
	free(p);
}

/* The caller has noted it. */
static int load_noted(struct policy_loaded *p)
{
	const char *base = strrchr(p->path, '/');

	snprintf(p->name, sizeof(p->name), "%s", base ? base + 1 : p->path);
	return load_table(p);
}

static bool is_same(const struct policy_loaded *old, const struct policy_loaded *p)
{
	return old && old->st.st_dev == p->st.st_dev && old->st.st_ino == p->st.st_ino &&
	       strcmp(old->options, p->options) == 0;
}

/* Of an earlier heddled's note: the one that is loaded now is not meant. */
static bool is_feared(const struct policy_loaded *old, const struct policy_loaded *p)
{
	if ((old && strcmp(old->path, p->path) == 0) || !is_noted(p->note, p->path))
		return false;
	hd_log("policy: %s: an earlier heddled ended while it was loaded: policy none instead; to "
	       "try it again, remove %s and have the configuration read again (SIGHUP)",
		p->path, p->note);
	return true;
}

/* NULL: said. */
static struct policy_loaded *open_policy(const struct hd_config *c)
{
	struct policy_loaded *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = open_file(c->policy_file, &p->path, &p->st);
	if (p->fd < 0) {
		free(p);
		return NULL;
	}
	p->options = strdup(c->policy_options);
	p->note = note_path(c);
	if (p->options && p->note)
		return p;
	free_loaded(p);
	return NULL;
}

static int start_policy(struct policy_loaded *p, const struct policy_loaded *old)
{
	int r = write_note(p->note, p->path);

	if (r < 0) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: it is noted in %s before it is loaded, which fails: %s",
			p->path, p->note, strerror(-r));
	} else if (!old && (r = watchdog_start()) < 0) {
		hd_log_at(HD_LOG_ERROR, "policy: %s: no thread can look on: %s", p->path,
			strerror(-r));
		remove_note(p->note);
	} else {
		r = load_noted(p);
	}
	return r < 0 ? -EINVAL : 0;
}

/* A policy that was not taken leaves no trace. */
static void give_up(struct policy_loaded *p, const struct policy_loaded *old)
{
	char *note = strdup(p->note);
	int r = 0;

	free_loaded(p);
	if (!note)
		return;
	if (old)
		r = write_note(note, old->path);
	else
		remove_note(note);
	if (r < 0)
		hd_log("policy: %s: cannot be noted in %s: %s", old->path, note, strerror(-r));
	if (!old)
		watchdog_stop();
	free(note);
}

int policy_choose(struct hd_config *c, struct policy_loaded *old, struct policy_loaded **ret)
{
	struct policy_loaded *p;

	*ret = NULL;
	if (!c->policy_file[0])
		return 0;
	p = open_policy(c);
	if (!p)
		return -EINVAL;
	if (is_same(old, p)) {
		free_loaded(p);
		*ret = old;
		c->policy = &old->policy;
		return 0;
	}
	if (is_feared(old, p)) {
		free_loaded(p);
		c->policy = &sched_policy_none;
		return 0;
	}
	if (start_policy(p, old) < 0) {
		give_up(p, old);
		return -EINVAL;
	}
	hd_log_at(HD_LOG_INFO, "policy %s: loaded from %s", p->name, p->path);
	c->policy = &p->policy;
	*ret = p;
	return 0;
}

void policy_unload(struct policy_loaded *p, bool keep_note)
{
	char *note;

	if (!p)
		return;
	note = p->note;
	p->note = NULL;
	free_loaded(p);
	if (!keep_note && note)
		remove_note(note);
	if (!keep_note)
		watchdog_stop();
	free(note);
}
