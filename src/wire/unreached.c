/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Explains an error of wire_socket_path, of wire_connect or of a conversation. The error number
 * alone does not say which file is meant: a folder on the way, the folder of the socket, or the
 * socket. So the files are examined. The table of cases is tests/cli/sockets.sh. */
#include "wire/unreached.h"
#include "wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char name_another[] = "name heddled's socket: --socket, or HEDDLE_SOCKET";

static const char *kind_of(mode_t mode)
{
	return S_ISREG(mode)    ? "a file"
	       : S_ISDIR(mode)  ? "a folder"
	       : S_ISLNK(mode)  ? "a symbolic link"
	       : S_ISFIFO(mode) ? "a pipe"
	       : S_ISSOCK(mode) ? "a socket"
				: "a device";
}

/* Removes the last name from a path. Returns false at the root. */
static bool cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !slash[1])
		return false;
	slash[slash == path] = 0;
	return true;
}

/* Finds the folder that keeps this user from what is below it. Returns false if there is none. */
static bool find_closed(const char *path, char *ret, size_t max, struct stat *ret_st)
{
	snprintf(ret, max, "%s", path);
	while (cut_name(ret))
		if (stat(ret, ret_st) == 0 && S_ISDIR(ret_st->st_mode) && access(ret, X_OK) < 0)
			return true;
	return false;
}

/* Advises about another user's folder. XDG_RUNTIME_DIR is usually the cause: su keeps it. */
static void advise_folder(const char *folder, struct wire_unreached *ret)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	size_t n = runtime ? strlen(runtime) : 0;

	if (n && strncmp(folder, runtime, n) == 0 && (!folder[n] || folder[n] == '/'))
		snprintf(ret->todo, sizeof(ret->todo),
			"XDG_RUNTIME_DIR is another user's (su keeps it): unset it, or name "
			"heddled's socket in HEDDLE_SOCKET");
	else
		snprintf(ret->todo, sizeof(ret->todo), "%s", name_another);
}

/* Explains that the folder does not exist and that this user cannot create it. */
static void explain_no_folder(const char *path, char *folder, int error, struct wire_unreached *ret)
{
	struct stat st;

	if (cut_name(folder) && stat(folder, &st) == 0 && access(folder, W_OK) < 0) {
		snprintf(ret->what, sizeof(ret->what),
			"%s cannot be made: %s belongs to user %u, and user %u may not write to it",
			path, folder, (unsigned)st.st_uid, (unsigned)geteuid());
		advise_folder(folder, ret);
	} else {
		snprintf(ret->what, sizeof(ret->what),
			"heddled's socket %s cannot be made or looked for: %s", path,
			strerror(-error));
	}
}

static void explain_folder(const char *path, int error, struct wire_unreached *ret)
{
	char folder[128], closed[128];
	struct stat st;

	snprintf(folder, sizeof(folder), "%s", path);
	cut_name(folder);
	snprintf(ret->todo, sizeof(ret->todo), "%s", name_another);
	if (find_closed(path, closed, sizeof(closed), &st)) {
		snprintf(ret->what, sizeof(ret->what),
			"%s cannot be looked at: %s belongs to user %u, and user %u may not enter",
			path, closed, (unsigned)st.st_uid, (unsigned)geteuid());
		advise_folder(closed, ret);
	} else if (!*path || lstat(folder, &st) < 0) {
		explain_no_folder(path, folder, error, ret);
	} else if (!S_ISDIR(st.st_mode)) {
		snprintf(ret->what, sizeof(ret->what), "%s is %s of user %u, not a folder", folder,
			kind_of(st.st_mode), (unsigned)st.st_uid);
		snprintf(ret->todo, sizeof(ret->todo), "remove it, or %s", name_another);
	} else if (st.st_uid != geteuid()) {
		snprintf(ret->what, sizeof(ret->what),
			"%s belongs to user %u, not to user %u: a socket there is not trusted",
			folder, (unsigned)st.st_uid, (unsigned)geteuid());
		advise_folder(folder, ret);
	} else {
		snprintf(ret->what, sizeof(ret->what),
			"other users can write to %s (of user %u): a socket there is not trusted",
			folder, (unsigned)st.st_uid);
		snprintf(ret->todo, sizeof(ret->todo), "remove that right (chmod go-w), or %s",
			name_another);
	}
}

static void explain_refused_by_system(const char *path, struct wire_unreached *ret)
{
	char closed[128];
	struct stat st;

	if (find_closed(path, closed, sizeof(closed), &st)) {
		snprintf(ret->what, sizeof(ret->what),
			"%s cannot be used: %s belongs to user %u, and user %u may not enter", path,
			closed, (unsigned)st.st_uid, (unsigned)geteuid());
		advise_folder(closed, ret);
		return;
	}
	if (stat(path, &st) < 0)
		st = (struct stat){0};
	snprintf(ret->what, sizeof(ret->what),
		"%s does not let this user in: it belongs to user %u and group %u, and user %u may "
		"not connect",
		path, (unsigned)st.st_uid, (unsigned)st.st_gid, (unsigned)geteuid());
	snprintf(ret->todo, sizeof(ret->todo),
		"who may: heddled's own user, and the members of that group (heddled(8), group)");
}

static void explain_nobody(const char *path, struct wire_unreached *ret)
{
	struct stat st;

	ret->is_none = true;
	snprintf(ret->what, sizeof(ret->what), "no heddled listens on %s", path);
	snprintf(ret->todo, sizeof(ret->todo), "start it: heddled");
	if (stat(path, &st) < 0)
		return;
	if (S_ISSOCK(st.st_mode)) {
		snprintf(ret->what, sizeof(ret->what),
			"no heddled listens on %s: user %u's has ended", path, (unsigned)st.st_uid);
		return;
	}
	ret->is_none = false;
	snprintf(ret->what, sizeof(ret->what), "%s is %s of user %u, not a socket", path,
		kind_of(st.st_mode), (unsigned)st.st_uid);
	snprintf(ret->todo, sizeof(ret->todo), "remove it, or %s", name_another);
}

static void explain_other_type(const char *path, struct wire_unreached *ret)
{
	struct stat st;

	if (stat(path, &st) < 0)
		st = (struct stat){0};
	snprintf(ret->what, sizeof(ret->what),
		"%s is a socket of another program, of user %u: heddled's are of another type",
		path, (unsigned)st.st_uid);
	snprintf(ret->todo, sizeof(ret->todo), "%s", name_another);
}

/* Explains an error of the program that listens on the socket: heddled or another one. */
static void explain_listener(const char *path, int error, struct wire_unreached *ret)
{
	const char *what;
	struct stat st;

	switch (error) {
	case -EPROTO:
	case -EBADMSG:
		what = "speaks another protocol version";
		snprintf(ret->todo, sizeof(ret->todo),
			"heddle and heddled must come from the same release");
		break;
	case -ECONNRESET:
		what = "closed the connection without an answer";
		snprintf(ret->todo, sizeof(ret->todo), "heddled's log says why");
		break;
	default: /* a timeout, or an unexpected error */
		what = "does not answer";
		snprintf(ret->todo, sizeof(ret->todo),
			"see whether it is stopped; nothing is shared until it answers");
	}
	if (stat(path, &st) == 0)
		snprintf(ret->what, sizeof(ret->what), "the heddled at %s (user %u's) %s", path,
			(unsigned)st.st_uid, what);
	else
		snprintf(ret->what, sizeof(ret->what), "the heddled at %s %s", path, what);
}

void wire_unreached(const char *path, bool by_folder, int error, struct wire_unreached *ret)
{
	*ret = (struct wire_unreached){0};
	if (error == -ENAMETOOLONG) {
		snprintf(ret->what, sizeof(ret->what), "%s: sockets' paths have at most 107 bytes",
			path);
		snprintf(ret->todo, sizeof(ret->todo), "%s", name_another);
		return;
	}
	if (by_folder) {
		explain_folder(path, error, ret);
		return;
	}
	switch (error) {
	case -ENOENT:
	case -ECONNREFUSED:
		explain_nobody(path, ret);
		break;
	case -EACCES:
	case -EPERM:
		explain_refused_by_system(path, ret);
		break;
	case -EPROTOTYPE:
		explain_other_type(path, ret);
		break;
	case -EPROTO:
	case -EBADMSG:
	case -ECONNRESET:
	case -EAGAIN:
	case -ETIMEDOUT:
		explain_listener(path, error, ret);
		break;
	default:
		snprintf(ret->what, sizeof(ret->what), "%s: %s", path, strerror(-error));
		snprintf(ret->todo, sizeof(ret->todo), "%s", name_another);
	}
}
