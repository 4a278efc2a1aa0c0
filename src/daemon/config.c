/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the configuration in systemd's order. A later source overrides an earlier one:
 * - the main file, from /etc or else from /usr/lib
 * - the drop-ins (files that add keys) of both folders, sorted by name; a drop-in in /etc replaces
 *   one of the same name in /usr/lib
 * - the command line
 *
 * The files have one section, [heddled]. */
#include "base/number.h"
#include "base/trust.h"
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char *const dirs[] = {"/etc/heddle", "/usr/lib/heddle"};

void config_defaults(struct hd_config *c)
{
	*c = (struct hd_config){
		.policy = &sched_policy_hpf,
		.gates = true,
		.mps_stays = true,
		.opaque_ns = 1000000,
		.opaque_auto = true,
		.max_tenants = 1024,
		.overhead_permille = 100,
		.min_managed_ns = 100000,
		.latency_ns = 24000,
		.still_ns = 1000000000,
		.silence_ns = 5000000000,
		.mps_answer_ns = 3000000000,
		.spin_ns = HD_SPIN_AUTO,
		.log_level = HD_LOG_INFO,
		.group = "heddle",
	};
}

static int set_bool(bool *ret, const char *value, const char *yes, const char *no)
{
	if (strcmp(value, yes) == 0 || strcmp(value, "yes") == 0 || strcmp(value, "true") == 0)
		*ret = true;
	else if (strcmp(value, no) == 0 || strcmp(value, "no") == 0 || strcmp(value, "false") == 0)
		*ret = false;
	else
		return -EINVAL;
	return 0;
}

static int set_number(uint64_t *ret, const char *value, uint64_t max, uint64_t unit)
{
	uint64_t n;

	if (number_parse(value, 0, max, &n) < 0)
		return -EINVAL;
	*ret = n * unit;
	return 0;
}

/* The value is a percentage. It is at least 1, because switching always costs something. */
static int set_percent(uint32_t *ret_permille, const char *value, uint32_t max)
{
	uint64_t n;
	int r = set_number(&n, value, max, 10);

	if (r == 0 && n == 0)
		return -EINVAL;
	if (r == 0)
		*ret_permille = (uint32_t)n;
	return r;
}

/* Sets a time that is given in ms; 0 means no limit. */
static int set_time(uint64_t *ret_ns, const char *value, uint32_t max)
{
	int r = set_number(ret_ns, value, max, 1000000);

	if (r == 0 && *ret_ns == 0)
		*ret_ns = UINT64_MAX;
	return r;
}

static int set_number32(uint32_t *ret, const char *value, uint32_t max)
{
	uint64_t n;
	int r = set_number(&n, value, max, 1);

	if (r == 0)
		*ret = (uint32_t)n;
	return r;
}

static int set_text(char *ret, size_t max, const char *value)
{
	if (strlen(value) >= max)
		return -EINVAL;
	strcpy(ret, value);
	return 0;
}

/* ---- one function for each kind of key ---- */

static int set_policy(struct hd_config *c, const char *value)
{
	const struct sched_policy *p = sched_policy_find(value);

	/* A policy's file is loaded after the whole configuration has been read (policies.c). */
	if (strchr(value, '/') || sched_policy_is_file(value))
		return set_text(c->policy_file, sizeof(c->policy_file), value);
	if (!p)
		return -EINVAL;
	c->policy = p;
	c->policy_file[0] = 0;
	return 0;
}

static int set_opaque(struct hd_config *c, const char *value, uint32_t max)
{
	c->opaque_auto = false;
	return set_number(&c->opaque_ns, value, max, 1000);
}

static int set_spin(struct hd_config *c, const char *value, uint32_t max)
{
	if (strcmp(value, "auto") != 0)
		return set_number(&c->spin_ns, value, max, 1000);
	c->spin_ns = HD_SPIN_AUTO;
	return 0;
}

static int set_level(struct hd_config *c, const char *value)
{
	return hd_log_level_parse(value, &c->log_level);
}

/* The group must exist: a mistyped name would silently exclude its members. */
static int set_group(char ret[64], const char *value)
{
	return *value && !getgrnam(value) ? -ESRCH : set_text(ret, 64, value);
}

/* For each key: its name, its possible values (of a number its unit), a number's least and greatest
 * value, and the call that sets it in c. */
#define KEYS(KEY)                                                                                \
	KEY(policy, sched_policy_values, 0, 0, set_policy(c, value))                             \
	KEY(policy_options, "text", 0, 0,                                                        \
		set_text(c->policy_options, sizeof(c->policy_options), value))                   \
	KEY(max_overhead, "percent", 1, 100, set_percent(&c->overhead_permille, value, max))     \
	KEY(mps, "on|off", 0, 0, set_bool(&c->mps, value, "on", "off"))                          \
	KEY(mps_stays, "on|off", 0, 0, set_bool(&c->mps_stays, value, "on", "off"))              \
	KEY(mps_answer_ms, "ms", 0, 86400000, set_time(&c->mps_answer_ns, value, max))           \
	KEY(preempt, "temporal|spatial", 0, 0,                                                   \
		set_bool(&c->temporal, value, "temporal", "spatial"))                            \
	KEY(within_tenant, "together|srt", 0, 0,                                                 \
		set_bool(&c->within_srt, value, "srt", "together"))                              \
	KEY(extra_sms, "SMs", 0, CTL_MAX_SMS, set_number32(&c->extra_sms, value, max))           \
	KEY(opaque_us, "us", 0, 10000000, set_opaque(c, value, max))                             \
	KEY(opaque_hold_us, "us", 0, 10000000, set_number(&c->opaque_hold_ns, value, max, 1000)) \
	KEY(gates, "on|off", 0, 0, set_bool(&c->gates, value, "on", "off"))                      \
	KEY(max_tenants, "number", 0, SERVER_CONNS, set_number32(&c->max_tenants, value, max))   \
	KEY(user_tenants, "number", 0, SERVER_CONNS, set_number32(&c->user_tenants, value, max)) \
	KEY(user_devices, "number", 0, HD_DEVICES, set_number32(&c->user_devices, value, max))   \
	KEY(user_connections, "number", 0, SERVER_CONNS,                                         \
		set_number32(&c->user_connections, value, max))                                  \
	KEY(silence_ms, "ms", 0, 86400000, set_time(&c->silence_ns, value, max))                 \
	KEY(min_managed_us, "us", 0, 4000000, set_number(&c->min_managed_ns, value, max, 1000))  \
	KEY(latency_us, "us", 0, 1000000, set_number(&c->latency_ns, value, max, 1000))          \
	KEY(linger_max_us, "us", 0, 1000000, set_number(&c->linger_max_ns, value, max, 1000))    \
	KEY(spin_us, "us|auto", 0, 10000000, set_spin(c, value, max))                            \
	KEY(grace_us, "us", 0, 10000000, set_number(&c->grace_ns, value, max, 1000))             \
	KEY(standstill_ms, "ms", 0, 86400000, set_time(&c->still_ns, value, max))                \
	KEY(log, "error|warning|info|debug", 0, 0, set_level(c, value))                          \
	KEY(socket, "path", 0, 0, set_text(c->socket, sizeof(c->socket), value))                 \
	KEY(state, "path", 0, 0, set_text(c->state, sizeof(c->state), value))                    \
	KEY(group, "group", 0, 0, set_group(c->group, value))                                    \
	KEY(privileged_group, "group", 0, 0, set_group(c->privileged_group, value))

#define SETTER(name, values, least, greatest, call)                   \
	static int key_##name(struct hd_config *c, const char *value) \
	{                                                             \
		const uint32_t max = greatest;                        \
                                                                      \
		(void)max;                                            \
		return call;                                          \
	}
KEYS(SETTER)

static const struct key {
	const char *name, *values;
	uint32_t min, max; /* limits of a numeric value */
	int (*set)(struct hd_config *c, const char *value);
} keys[] = {
#define ROW(name, values, least, greatest, call) {#name, values, least, greatest, key_##name},
	KEYS(ROW)};

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	}
	return NULL;
}

int config_set(struct hd_config *c, const char *key, const char *value)
{
	const struct key *k = find_key(key);

	return k ? k->set(c, value) : -ENOENT;
}

void config_explain(int error, const char *key, const char *value, char *buf, size_t size)
{
	const struct key *k = find_key(key);
	int n;

	if (!k) {
		n = snprintf(buf, size, "no such key: %s; there are", key);
		for (size_t i = 0; i < ARRAY_LEN(keys) && n < (int)size; i++)
			n += snprintf(
				buf + n, size - (size_t)n, "%s %s", i ? "," : "", keys[i].name);
	} else if (error == -ESRCH) {
		snprintf(buf, size, "%s: this system has no group '%s'", key, value);
	} else if (k->max) {
		bool has_auto = strchr(k->values, '|') != NULL;
		int unit = (int)strcspn(k->values, "|");

		snprintf(buf, size, "%s: '%s' is %s a whole number%s%.*s from %u to %u", key, value,
			has_auto ? "neither auto nor" : "not",
			strcmp(k->values, "number") == 0 ? "" : " of ",
			strcmp(k->values, "number") == 0 ? 0 : unit, k->values, k->min, k->max);
	} else if (strchr(k->values, '|')) {
		snprintf(buf, size, "%s: '%s' is not one of %s", key, value, k->values);
	} else {
		snprintf(buf, size, "%s: too long", key);
	}
}

struct reading {
	struct hd_config *c;
	const char *path;
	FILE *file;
	int line, status;
};

/* inih reports no line numbers, but reads its lines through this function, which counts them. The
 * function also reports text after a section's name as an error. */
static char *next_line(char *ret, int max, void *user)
{
	struct reading *r = user;
	char *got = fgets(ret, max, r->file);
	const char *at = got ? got + strspn(got, " \t") : "";

	r->line += got != NULL;
	if (*at == '[' && (at = strchr(at, ']')) && (at += 1 + strspn(at + 1, " \t\r\n"), *at) &&
		*at != ';' && *at != '#') {
		hd_log_at(HD_LOG_ERROR, "%s:%d: text after the section's name: '%.*s'", r->path,
			r->line, (int)strcspn(at, "\r\n"), at);
		r->status = -EINVAL;
	}
	return got;
}

static int on_key(void *user, const char *section, const char *key, const char *value)
{
	struct reading *r = user;
	char why[512];
	int e;

	if (strcmp(section, "heddled") != 0) {
		hd_log_at(HD_LOG_ERROR, "%s:%d: no such section: [%s]; there is [heddled]", r->path,
			r->line, section);
		r->status = -EINVAL;
		return 1;
	}
	e = config_set(r->c, key, value);
	if (e < 0) {
		config_explain(e, key, value, why, sizeof(why));
		hd_log_at(HD_LOG_ERROR, "%s:%d: %s", r->path, r->line, why);
		r->status = -EINVAL;
	}
	return 1;
}

/* Opens only a regular file, or /dev/null. (A drop-in that is a link to /dev/null disables the
 * drop-in of the same name.) Opening a FIFO would wait for a writer of the FIFO. Returns NULL, and
 * the reason in errno, if there is no such file. */
static FILE *open_config(const char *path, char *ret_why, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *f = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0) {
		if (S_ISREG(st.st_mode) && trust_file(&st, ret_why, size) < 0)
			errno = EPERM;
		else if (S_ISREG(st.st_mode) ||
			 (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
			f = fdopen(fd, "r");
		else
			errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	}
	if (!f)
		close(fd);
	return f;
}

/* Reads one file. Returns -ENOENT if it does not exist. */
static int read_one(struct hd_config *c, const char *path)
{
	struct reading r = {.c = c, .path = path};
	char problem[256];
	int line;

	r.file = open_config(path, problem, sizeof(problem));
	if (!r.file && errno == ENOENT)
		return -ENOENT;
	if (!r.file) {
		hd_log_at(HD_LOG_ERROR, "%s: %s", path,
			errno == EINVAL  ? "not a regular file"
			: errno == EPERM ? problem
					 : strerror(errno));
		return -EINVAL;
	}
	line = ini_parse_stream(next_line, &r, on_key, &r);
	fclose(r.file);
	if (line > 0) {
		hd_log_at(HD_LOG_ERROR, "%s:%d: neither KEY = VALUE nor [heddled]", path, line);
		return -EINVAL;
	}
	return line < 0 ? -EINVAL : r.status;
}

static int is_conf(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 5 && strcmp(e->d_name + n - 5, ".conf") == 0;
}

static int read_drop_ins(struct hd_config *c, const char *root)
{
	struct dirent **at[ARRAY_LEN(dirs)] = {0};
	char path[ARRAY_LEN(dirs)][PATH_MAX];
	int n[ARRAY_LEN(dirs)], i[ARRAY_LEN(dirs)] = {0}, status = 0;

	for (size_t k = 0; k < ARRAY_LEN(dirs); k++) {
		snprintf(path[k], sizeof(path[k]), "%s%s/heddled.conf.d", root, dirs[k]);
		n[k] = scandir(path[k], &at[k], is_conf, alphasort);
		n[k] = MAX(n[k], 0);
	}
	while (i[0] < n[0] || i[1] < n[1]) {
		int order = i[0] >= n[0]   ? 1
			    : i[1] >= n[1] ? -1
					   : strcmp(at[0][i[0]]->d_name, at[1][i[1]]->d_name);
		size_t k = order > 0;
		char *file = NULL;

		if (asprintf(&file, "%s/%s", path[k], at[k][i[k]]->d_name) < 0)
			return -ENOMEM;
		if (read_one(c, file) < 0)
			status = -EINVAL;
		free(file);
		i[k]++;
		if (order == 0)
			i[1]++; /* a file of the same name in the first folder replaces this one */
	}
	for (size_t k = 0; k < ARRAY_LEN(dirs); k++) {
		for (int j = 0; j < n[k]; j++)
			free(at[k][j]);
		free(at[k]);
	}
	return status;
}

int config_read(struct hd_config *c, const char *root)
{
	int r = -ENOENT, drop_ins;

	for (size_t k = 0; k < ARRAY_LEN(dirs) && r == -ENOENT; k++) {
		char file[PATH_MAX];

		snprintf(file, sizeof(file), "%s%s/heddled.conf", root, dirs[k]);
		r = read_one(c, file);
	}
	drop_ins = read_drop_ins(c, root);
	return (r < 0 && r != -ENOENT) || drop_ins < 0 ? -EINVAL : 0;
}
