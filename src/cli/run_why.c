/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reports why a program did not become a tenant. The reason comes from the shim's report, from the
 * program's file, and from /proc while the program runs. A program that ends within a millisecond
 * leaves no trace in /proc. */
#include "cli/run_why.h"
#include "cli/program.h"
#include "dev/dev.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns true if process pid is still executing exec: it has the program's executable already, but
 * neither arguments nor environment. The kernel sets up the arguments first. */
static bool is_starting(pid_t pid)
{
	char name[64];
	FILE *f;
	bool empty;

	snprintf(name, sizeof(name), "/proc/%d/cmdline", (int)pid);
	f = fopen(name, "re");
	empty = !f || fgetc(f) == EOF;
	if (f)
		fclose(f);
	return empty;
}

/* Returns 1 if the environment of process pid has HEDDLE_REPORT=path, 0 if it has not, and -1 if it
 * cannot be read. */
static int has_report(pid_t pid, const char *path)
{
	char name[64], *text = NULL;
	size_t size = 0, len;
	FILE *f;
	int r = 0;

	snprintf(name, sizeof(name), "/proc/%d/environ", (int)pid);
	f = fopen(name, "re");
	if (!f)
		return -1;
	len = strlen(WIRE_REPORT_ENV);
	while (getdelim(&text, &size, 0, f) > 0)
		if (!strncmp(text, WIRE_REPORT_ENV, len) && text[len] == '=' &&
			!strcmp(text + len + 1, path))
			r = 1;
	free(text);
	fclose(f);
	return r;
}

/* Returns true if process pid does not run the program (not yet, or no longer). Between fork and
 * exec the process still runs heddle's executable. After its end, /proc shows no executable. */
static bool is_other(pid_t pid)
{
	char name[64], its[4096] = "", ours[4096] = "";

	snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	return readlink(name, its, sizeof(its) - 1) < 0 ||
	       readlink("/proc/self/exe", ours, sizeof(ours) - 1) < 0 || !strcmp(its, ours);
}

static bool is_shim(const char *path)
{
	struct program p;
	bool is;

	if (program_open_headers(path, &p) < 0)
		return false;
	is = memmem(p.file.at, p.file.len, DEV_SHIM_MARKER, sizeof(DEV_SHIM_MARKER));
	program_close(&p);
	return is;
}

static void look_at_libraries(pid_t pid, struct run_seen *io)
{
	const char *driver = getenv("HEDDLE_DRIVER_LIB");
	char name[64], line[4400];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/'), *slash = strrchr(line, '/');

		if (!path || strncmp(slash, "/libcuda.so", 11) != 0)
			continue;
		path[strcspn(path, "\n")] = 0;
		if (io->has_shim || (driver && !strcmp(path, driver)) || !strcmp(path, io->foreign))
			continue;
		if (is_shim(path))
			io->has_shim = true;
		else
			snprintf(io->foreign, sizeof(io->foreign), "%.255s", path);
	}
	if (f)
		fclose(f);
}

void run_look(pid_t pid, const char *report_path, struct run_seen *io)
{
	bool was_other = is_other(pid) || is_starting(pid);
	int has = has_report(pid, report_path);

	/* is_other is called again because a process that has just ended shows an empty
	 * environment. */
	if (has < 0 || was_other || is_other(pid))
		return;
	io->is_cleared = !has;
	look_at_libraries(pid, io);
}

/* Finds an obstacle in the program's file. Returns false if there is none. */
static bool file_shows(const char *name, char *buf, size_t size)
{
	const char *why;
	struct program p;

	if (program_open(name, &p) < 0)
		return false;
	why = program_obstacle(&p, buf, size);
	program_close(&p);
	return why;
}

const char *run_why(
	const char *name, const char *said, const struct run_seen *seen, char *buf, size_t size)
{
	if (file_shows(name, buf, size))
		return buf;
	if (*said)
		snprintf(buf, size, "%s", said);
	else if (seen->is_cleared)
		snprintf(buf, size,
			"its environment was cleared (as env -i and sudo do), and LD_LIBRARY_PATH "
			"with it: put heddle run behind that");
	else if (seen->foreign[0] && !seen->has_shim)
		snprintf(buf, size,
			"it loaded %s in place of heddle's libcuda.so.1 (by a path, or an RPATH)",
			seen->foreign);
	else
		snprintf(buf, size,
			"no driver call of it, or of a program that it started, was seen");
	return buf;
}
