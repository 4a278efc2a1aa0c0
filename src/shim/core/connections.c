/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Chooses the number of hardware channels ("connections") that the driver makes for a context. The
 * driver reads this number from the variable CUDA_DEVICE_MAX_CONNECTIONS. Each channel costs time
 * at the start of every program: creating a context with 32 channels takes more than half a second
 * longer than with 8, and other programs on the GPU stall meanwhile. Setting the variable to the
 * driver's default costs time as well: on an H200 a short program takes 20 to 60 ms longer if the
 * variable is 8 than if it is unset.
 *
 * So the shim leaves the variable unset at first. If a program that has run long enough has more
 * streams than channels, the shim records the number on disk, and the program's next start gets
 * more channels. If the user sets the variable, the shim does not change it and records nothing. */
#include "shim/core/connections.h"
#include "base/environment.h"
#include "base/number.h"
#include "shim/core/cache.h"
#include "shim/core/say.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "CUDA_DEVICE_MAX_CONNECTIONS"
/* Environment variable with the value to which the shim has set CUDA_DEVICE_MAX_CONNECTIONS. Child
 * processes inherit both variables. If their values differ, the user has set
 * CUDA_DEVICE_MAX_CONNECTIONS. */
#define OURS "HEDDLE_CONNECTIONS"

#define DRIVERS_CONNECTIONS 8 /* the driver's default; see also SPARE_CHANNELS */

static unsigned number = DRIVERS_CONNECTIONS;
/* cache key of the file that has this program's number of channels */
static uint8_t program[32];
/* the shim records only larger numbers than this */
static _Atomic unsigned enough = CONNECTIONS_MAX;
static uint64_t from_ns; /* the shim records no number before this time */

/* Returns true if the program is an interpreter. All scripts of an interpreter run the same
 * executable, so the key of such a program includes the path of its script. */
static bool is_interpreter(const char *path)
{
	static const char *const names[] = {
		"python", "pypy", "julia", "perl", "ruby", "lua", "node"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

/* Adds to the key the program's first argument that is not an option. If the argument names a file,
 * adds the file's absolute path instead. */
static void add_script(struct strbuf *b)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char args[4097], *path;
	const char *arg;
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, args, sizeof(args) - 1);
	close(fd);
	if (n <= 0)
		return;
	args[n] = 0;
	arg = args;
	do
		arg += strlen(arg) + 1;
	while (arg < args + n && *arg == '-');
	if (arg >= args + n)
		return;
	path = realpath(arg, NULL);
	strbuf_printf(b, "|%s", path ? path : arg);
	free(path);
}

/* Returns false if the program cannot be identified. */
static bool key_of_program(uint8_t ret[32])
{
	struct strbuf b = {0};
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	bool ok;

	if (n <= 0)
		return false;
	path[n] = 0;
	strbuf_printf(&b, "connections after|%s", path);
	if (is_interpreter(path))
		add_script(&b);
	ok = !b.failed;
	if (ok)
		sha256(b.at, b.len, ret);
	strbuf_finish(&b);
	return ok;
}

static unsigned read_note(const uint8_t key[32])
{
	struct strbuf b = {0};
	uint32_t n = 0;

	if (cache_get(key, &b) && b.len == sizeof(n))
		memcpy(&n, b.at, sizeof(n));
	strbuf_finish(&b);
	return n <= CONNECTIONS_MAX ? n : 0;
}

static unsigned parse_count(const char *s)
{
	uint64_t n = number_digits(s, SIZE_MAX, 10).value;

	return n ? (unsigned)MIN(n, CONNECTIONS_MAX) : DRIVERS_CONNECTIONS;
}

void connections_init(void)
{
	const char *given = secure_getenv(VARIABLE), *ours = secure_getenv(OURS);
	unsigned n = 0;
	char text[12];
	bool known;

	if (given && !(ours && !strcmp(given, ours))) {
		number = parse_count(given);
		return;
	}
	from_ns = shim_now_ns() + env_number(ENV_CONNECTIONS_AFTER) * 1000000000;
	known = key_of_program(program);
	if (known)
		n = read_note(program);
	n = MAX(n, DRIVERS_CONNECTIONS);
	if (n > DRIVERS_CONNECTIONS) {
		snprintf(text, sizeof(text), "%u", n);
		if (setenv(OURS, text, 1) || setenv(VARIABLE, text, 1))
			return;
	} else { /* also removes values that a parent process has set */
		unsetenv(OURS);
		unsetenv(VARIABLE);
	}
	number = n;
	if (known)
		atomic_store(&enough, n);
}

unsigned connections(void)
{
	return number;
}

void connections_wanted(unsigned n)
{
	unsigned was = atomic_load_explicit(&enough, memory_order_relaxed);
	uint32_t next;

	if (n <= was || was >= CONNECTIONS_MAX || shim_now_ns() < from_ns)
		return;
	for (next = 8; next < n && next < CONNECTIONS_MAX;)
		next *= 2;
	if (atomic_compare_exchange_strong(&enough, &was, next))
		cache_put(program, &next, sizeof(next));
}

unsigned connections_for_streams(void)
{
	return connections() > CONNECTIONS_SPARE ? connections() - CONNECTIONS_SPARE : 0;
}
