/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads policies from files, and protects heddled from a policy that crashes it.
 * - Before any of a policy's code runs, heddled writes the path of the policy's file to a note on
 *   disk.
 * - heddled removes the note when it unloads the policy, after the last call into the policy's code
 *   has returned.
 * - If heddled is to load a policy and finds a note with this policy's path, it assumes that the
 *   policy crashed the earlier heddled, and does not load the file.
 *
 * The note is in the service manager's state folder, or else beside the socket. */
#include "policies.h"
#include "log.h"
#include "policy_file.h"
#include "sched/planner.h"
#include "watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct policy_loaded {
	struct sched_policy policy; /* for the engines */
	struct sched_planner planner;
	struct policy_file file;
	char *options, *note;
};

/* ---- the file ---- */

/* Logs why, if this fails. */
static int open_file(const char *given, struct policy_file *ret)
{
	struct strbuf err = {0};
	int r = policy_file_open(given, ret, &err);

	if (r < 0)
		hd_log_at(HD_LOG_ERROR, "%s", err.at);
	strbuf_finish(&err);
	return r;
}

/* Checks the options of a built-in policy. Logs errors. */
static int check_options(const struct hd_config *c)
{
	char why[256];
	int r = sched_policy_check(c->policy, c->policy_options, why, sizeof(why));

	if (r < 0)
		hd_log_at(HD_LOG_ERROR, "%s", why);
	return r;
}

int policy_check(const struct hd_config *c)
{
	struct policy_file file;

	if (!c->policy_file[0])
		return check_options(c);
	if (open_file(c->policy_file, &file) < 0)
		return -EINVAL;
	policy_file_close(&file);
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

/* Writes the note; it is on disk when this returns. Returns 0 or a negative errno. */
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

/* True if the note names this policy. */
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

	watchdog_enter(p->file.name, call);
}

static void on_leave(void *user)
{
	(void)user;
	watchdog_leave();
}

static void on_fault(void *user, const char *what)
{
	const struct policy_loaded *p = user;

	hd_log("policy %s: %s", p->file.name, what);
}

/* Runs code of the policy for the first time. */
static int load_table(struct policy_loaded *p)
{
	struct strbuf err = {0};
	int r = policy_file_load(&p->file, &err);

	if (r < 0) {
		hd_log_at(HD_LOG_ERROR, "%s", err.at);
	} else {
		p->planner = (struct sched_planner){
			.policy = p->file.table,
			.options = p->options,
			.enter = on_enter,
			.leave = on_leave,
			.say = on_fault,
			.user = p,
		};
		p->policy = (struct sched_policy){
			.name = p->file.name, .one_split = true, .planner = &p->planner};
	}
	strbuf_finish(&err);
	return r;
}

static void free_loaded(struct policy_loaded *p)
{
	policy_file_close(&p->file);
	free(p->options);
	free(p->note);
	free(p);
}

static bool is_same_policy(const struct policy_loaded *old, const struct policy_loaded *p)
{
	return old && old->file.st.st_dev == p->file.st.st_dev &&
	       old->file.st.st_ino == p->file.st.st_ino && strcmp(old->options, p->options) == 0;
}

/* Returns true if an earlier heddled's note names this policy. A note about the policy that is
 * loaded now does not count. */
static bool is_suspect_policy(const struct policy_loaded *old, const struct policy_loaded *p)
{
	if ((old && strcmp(old->file.path, p->file.path) == 0) || !is_noted(p->note, p->file.path))
		return false;
	hd_log("policy: %s: an earlier heddled ended while this policy was loaded, so policy none "
	       "runs; "
	       "to try it again, remove %s and send heddled SIGHUP",
		p->file.path, p->note);
	return true;
}

/* NULL: failed, and logged. */
static struct policy_loaded *open_policy(const struct hd_config *c)
{
	struct policy_loaded *p = calloc(1, sizeof(*p));

	if (!p) {
		hd_log_at(HD_LOG_ERROR, "policy: %s: not loaded: out of memory", c->policy_file);
		return NULL;
	}
	if (open_file(c->policy_file, &p->file) < 0) {
		free(p);
		return NULL;
	}
	p->file.enter = watchdog_enter;
	p->file.leave = watchdog_leave;
	p->options = strdup(c->policy_options);
	p->note = note_path(c);
	if (p->options && p->note)
		return p;
	hd_log_at(HD_LOG_ERROR, "policy: %s: not loaded: out of memory", c->policy_file);
	free_loaded(p);
	return NULL;
}

static int start_policy(struct policy_loaded *p, const struct policy_loaded *old)
{
	int r = write_note(p->note, p->file.path);

	if (r < 0) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: not loaded, because its note %s cannot be written: %s",
			p->file.path, p->note, strerror(-r));
	} else if (!old && (r = watchdog_start()) < 0) {
		hd_log_at(HD_LOG_ERROR,
			"policy: %s: not loaded, because its watchdog cannot start: %s",
			p->file.path, strerror(-r));
		remove_note(p->note);
	} else {
		r = load_table(p);
	}
	return r < 0 ? -EINVAL : 0;
}

/* Cleans up after a policy that could not be loaded, and restores the note of the old one. */
static void discard_policy(struct policy_loaded *p, const struct policy_loaded *old)
{
	char *note = strdup(p->note);
	int r = 0;

	free_loaded(p);
	if (!note)
		return;
	if (old)
		r = write_note(note, old->file.path);
	else
		remove_note(note);
	if (r < 0)
		hd_log("policy: %s: cannot write its note %s: %s", old->file.path, note,
			strerror(-r));
	if (!old)
		watchdog_stop();
	free(note);
}

int policy_choose(struct hd_config *c, struct policy_loaded *old, struct policy_loaded **ret)
{
	struct policy_loaded *p;

	*ret = NULL;
	if (!c->policy_file[0])
		return check_options(c);
	p = open_policy(c);
	if (!p)
		return -EINVAL;
	if (is_same_policy(old, p)) {
		free_loaded(p);
		*ret = old;
		c->policy = &old->policy;
		return 0;
	}
	if (is_suspect_policy(old, p)) {
		free_loaded(p);
		c->policy = &sched_policy_none;
		return 0;
	}
	if (start_policy(p, old) < 0) {
		discard_policy(p, old);
		return -EINVAL;
	}
	hd_log_at(HD_LOG_INFO, "policy %s: loaded from %s", p->file.name, p->file.path);
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
