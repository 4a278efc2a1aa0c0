/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A policy runs with all rights of its caller. So its file must belong to this user or to root,
 * and no other user may be able to write to it or to replace it. The file is opened once,
 * checked, and loaded through that descriptor. */
#include "policy_file.h"
#include "base/part.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER_MAX 4096 /* size of realpath's buffer: PATH_MAX */
/* Size of a policy's table in the first ABI version, where `decide` was the last field. A file that
 * was built for that version lacks the fields after it. */
#define TABLE_BYTES (offsetof(struct heddle_policy, decide) + sizeof(void (*)(void)))

static void HD_PRINTF(2, 3) policy_error(struct strbuf *err, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	strbuf_puts(err, text ? text : "policy: out of memory");
	free(text);
}

static void file_enter(const struct policy_file *p, const char *call)
{
	if (p->enter)
		p->enter(p->name, call);
}

static void file_leave(const struct policy_file *p)
{
	if (p->leave)
		p->leave();
}

static bool is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Checks all folders above the file: a user who can rename entries of a folder can replace the
 * file. */
static int check_folders(const char *path, struct strbuf *err)
{
	char folder[FOLDER_MAX];
	bool own = true;
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	while ((slash = strrchr(folder, '/'))) {
		struct stat st;
		mode_t others;

		slash[slash == folder] = 0;
		if (stat(folder, &st) < 0) {
			policy_error(err, "policy: %s: %s", folder, strerror(errno));
			return -EINVAL;
		}
		/* In a sticky folder such as /tmp, users cannot rename files of others. */
		others = !own && st.st_mode & S_ISVTX ? 0 : st.st_mode & 022;
		if (!is_trusted(&st) || others) {
			policy_error(err,
				"policy: %s: other users can replace files in the folder %s: it "
				"must belong to "
				"this user or root, and be writable by no one else",
				path, folder);
			return -EINVAL;
		}
		own = false;
		if (slash == folder)
			break;
	}
	return 0;
}

static int check_file(const char *path, const struct stat *st, struct strbuf *err)
{
	if (!S_ISREG(st->st_mode)) {
		policy_error(err, "policy: %s: not a regular file", path);
		return -EINVAL;
	}
	if (!is_trusted(st)) {
		policy_error(err,
			"policy: %s: it belongs to user %u: it must belong to this user or root",
			path, (unsigned)st->st_uid);
		return -EINVAL;
	}
	if (st->st_mode & 022) {
		policy_error(err,
			"policy: %s: other users can write to it: remove that right (chmod go-w)",
			path);
		return -EINVAL;
	}
	return check_folders(path, err);
}

static int open_file(const char *given, bool own, struct policy_file *ret, struct strbuf *err)
{
	struct policy_file p = {.path = realpath(given, NULL)};
	const char *base;

	p.fd = p.path ? open(p.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
	if (p.fd < 0 || fstat(p.fd, &p.st) < 0) {
		policy_error(err, "policy: %s: %s", given, strerror(errno));
	} else if (own || check_file(p.path, &p.st, err) == 0) {
		base = strrchr(p.path, '/');
		snprintf(p.name, sizeof(p.name), "%s", base ? base + 1 : p.path);
		*ret = p;
		return 0;
	}
	free(p.path);
	if (p.fd >= 0)
		close(p.fd);
	return -EINVAL;
}

int policy_file_open(const char *given, struct policy_file *ret, struct strbuf *err)
{
	return open_file(given, false, ret, err);
}

int policy_file_open_own(const char *name, struct policy_file *ret, struct strbuf *err)
{
	char part[64], built[64], *path;
	int r;

	snprintf(part, sizeof(part), "policies/%.32s.so", name);
	snprintf(built, sizeof(built), "src/sched/policy/%.32s.so", name);
	r = part_find(HEDDLE_PARTS, part, built, &path);
	if (r < 0) {
		policy_error(
			err, "policy: %s: its file was not found: install heddle as a whole", name);
		return -EINVAL;
	}
	r = open_file(path, true, ret, err);
	free(path);
	return r;
}

static int check_table(
	const struct policy_file *p, const struct heddle_policy *t, struct strbuf *err)
{
	if (!t) {
		policy_error(err, "policy: %s: heddle_policy() returned NULL", p->path);
		return -EINVAL;
	}
	if (t->abi != HEDDLE_POLICY_ABI) {
		policy_error(err,
			"policy: %s: made for ABI %u, this heddled has %u: build it with this "
			"heddled's heddle/policy.h",
			p->path, t->abi, HEDDLE_POLICY_ABI);
		return -EINVAL;
	}
	if (t->size < TABLE_BYTES) {
		policy_error(err,
			"policy: %s: its table has %u bytes, at least %zu are needed: set size to "
			"sizeof(struct heddle_policy)",
			p->path, t->size, TABLE_BYTES);
		return -EINVAL;
	}
	if (!t->name || !t->name[0] || !t->decide) {
		policy_error(err, "policy: %s: its table has no %s", p->path,
			t->decide ? "name" : "decide");
		return -EINVAL;
	}
	return 0;
}

int policy_file_load(struct policy_file *p, struct strbuf *err)
{
	const struct heddle_policy *(*table)(void);
	const struct heddle_policy *t;
	char file[32], why_not[160];

	if (policy_elf_check(p->fd, (uint64_t)p->st.st_size, why_not, sizeof(why_not)) < 0) {
		policy_error(err, "policy: %s: it cannot be loaded: %s", p->path, why_not);
		return -EINVAL;
	}
	snprintf(file, sizeof(file), "/proc/self/fd/%d", p->fd);
	file_enter(p, "loading it");
	p->dl = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	file_leave(p);
	if (!p->dl) {
		const char *why = dlerror();
		size_t n = strlen(file);

		/* The file was loaded by the name /proc/self/fd/N, and dlerror's text begins with
		 * that name. So skip it; the message names the policy's own path instead. */
		why += strncmp(why, file, n) == 0 && strncmp(why + n, ": ", 2) == 0 ? n + 2 : 0;
		policy_error(err, "policy: %s: it cannot be loaded: %s", p->path, why);
		return -EINVAL;
	}
	table = (const struct heddle_policy *(*)(void))dlsym(p->dl, "heddle_policy");
	if (!table) {
		policy_error(err, "policy: %s: it exports no heddle_policy(); see heddle/policy.h",
			p->path);
		return -EINVAL;
	}
	file_enter(p, "heddle_policy");
	t = table();
	file_leave(p);
	if (check_table(p, t, err) < 0)
		return -EINVAL;
	snprintf(p->name, sizeof(p->name), "%s", t->name);
	p->table = t;
	return 0;
}

void policy_file_close(struct policy_file *p)
{
	if (p->dl) {
		file_enter(p, "unloading it");
		dlclose(p->dl);
		file_leave(p);
	}
	close(p->fd);
	free(p->path);
	*p = (struct policy_file){.fd = -1};
}
