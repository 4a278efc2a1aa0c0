/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Configuration, in the order that systemd has: the main file from /etc, else from /usr/lib; then
 * the drop-ins of both folders by name, where one in /etc hides its namesake. The command line
 * comes last. One section, [heddled]. */
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const dirs[] = {"/etc/heddle", "/usr/lib/heddle"};

void config_defaults(struct hd_config *c)
{
	*c = (struct hd_config){
		.policy = &sched_policy_hpf,
		.gates = true,
		.opaque_ns = 1000000,
		.opaque_auto = true,
		.max_tenants = 1024,
		.min_managed_ns = 100000,
		.latency_ns = 24000,
		.still_ns = 1000000000,
		.silence_ns = 5000000000,
		.spin_ns = HD_SPIN_AUTO,
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
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno || end == value || *end || *value == '-' || n > max)
		return -EINVAL;
	*ret = n * unit;
	return 0;
}

/* In ms, a day at most; 0: for ever. */
static int set_time(uint64_t *ret_ns, const char *value)
{
	int r = set_number(ret_ns, value, 86400000, 1000000);

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

int config_set(struct hd_config *c, const char *key, const char *value)
{
	const struct sched_policy *p;

	if (strcmp(key, "policy") == 0) {
		p = sched_policy_find(value);
		if (p)
			c->policy = p;
		return p ? 0 : -EINVAL;
	}
	if (strcmp(key, "mps") == 0)
		return set_bool(&c->mps, value, "on", "off");
	if (strcmp(key, "preempt") == 0)
		return set_bool(&c->temporal, value, "temporal", "spatial");
	if (strcmp(key, "within_tenant") == 0)
		return set_bool(&c->within_srt, value, "srt", "together");
	if (strcmp(key, "extra_sms") == 0)
		return set_number32(&c->extra_sms, value, CTL_MAX_SMS);
	if (strcmp(key, "opaque_us") == 0) {
		c->opaque_auto = false;
		return set_number(&c->opaque_ns, value, 10000000, 1000);
	}
	if (strcmp(key, "opaque_hold_us") == 0)
		return set_number(&c->opaque_hold_ns, value, 10000000, 1000);
	if (strcmp(key, "gates") == 0)
		return set_bool(&c->gates, value, "on", "off");
	if (strcmp(key, "max_tenants") == 0)
		return set_number32(&c->max_tenants, value, SERVER_CONNS);
	if (strcmp(key, "user_tenants") == 0)
		return set_number32(&c->user_tenants, value, SERVER_CONNS);
	if (strcmp(key, "user_devices") == 0)
		return set_number32(&c->user_devices, value, HD_DEVICES);
	if (strcmp(key, "user_connections") == 0)
		return set_number32(&c->user_connections, value, SERVER_CONNS);
	if (strcmp(key, "silence_ms") == 0)
		return set_time(&c->silence_ns, value);
	if (strcmp(key, "min_managed_us") == 0)
		return set_number(&c->min_managed_ns, value, 4000000, 1000);
	if (strcmp(key, "latency_us") == 0)
		return set_number(&c->latency_ns, value, 1000000, 1000);
	if (strcmp(key, "linger_max_us") == 0)
		return set_number(&c->linger_max_ns, value, 1000000, 1000);
	if (strcmp(key, "spin_us") == 0 && strcmp(value, "auto") == 0) {
		c->spin_ns = HD_SPIN_AUTO;
		return 0;
	}
	if (strcmp(key, "spin_us") == 0)
		return set_number(&c->spin_ns, value, 10000000, 1000);
	if (strcmp(key, "grace_us") == 0)
		return set_number(&c->grace_ns, value, 10000000, 1000);
	if (strcmp(key, "standstill_ms") == 0)
		return set_time(&c->still_ns, value);
	if (strcmp(key, "socket") == 0)
		return set_text(c->socket, sizeof(c->socket), value);
	if (strcmp(key, "group") == 0)
		return set_text(c->group, sizeof(c->group), value);
	if (strcmp(key, "privileged_group") == 0)
		return set_text(c->privileged_group, sizeof(c->privileged_group), value);
	return -ENOENT;
}

struct reading {
	struct hd_config *c;
	const char *path;
	int status;
};

static int on_key(void *user, const char *section, const char *key, const char *value)
{
	struct reading *r = user;
	int e = strcmp(section, "heddled") == 0 ? config_set(r->c, key, value) : -ENOENT;

	if (e == -ENOENT) {
		/* A file for a newer version must not keep an older one from starting. */
		hd_log("%s: [%s] %s: unknown, ignored", r->path, section, key);
	} else if (e < 0) {
		hd_log("%s: %s: cannot be '%s'", r->path, key, value);
		r->status = -EINVAL;
	}
	return 1;
}

/* -ENOENT: no such file. */
static int read_one(struct hd_config *c, const char *path)
{
	struct reading r = {c, path, 0};
	int line;

	if (access(path, F_OK) < 0)
		return -ENOENT;
	line = ini_parse(path, on_key, &r);
	if (line < 0) {
		hd_log("%s: cannot be read", path);
		return -EINVAL;
	}
	if (line > 0) {
		hd_log("%s:%d: not a line of a configuration", path, line);
		return -EINVAL;
	}
	return r.status;
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
			i[1]++; /* hidden by its namesake */
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
