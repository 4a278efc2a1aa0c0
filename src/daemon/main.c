/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddled: options, start, end. Exit status 0; 1 failed; 2 usage. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char usage_text[] =
	"usage: heddled [--policy none|hpf] [--mps on|off] [--socket PATH] [--temporal]\n"
	"               [--events FILE] [--set KEY=VALUE]... [--foreground]\n"
	"  --policy NAME     hpf: the highest waiting priority runs, the shortest among equals;\n"
	"                    none: everything is granted\n"
	"  --mps on|off      own an MPS control daemon (default off)\n"
	"  --socket PATH     where to listen\n"
	"  --temporal        preempt whole devices only, never some SMs\n"
	"  --events FILE     log every event and decision as JSON lines\n"
	"  --set KEY=VALUE   any key of heddled.conf\n"
	"  --config-root DIR read the configuration below DIR\n"
	"  --foreground      stay in the foreground (it always does)\n"
	"  --version, -h, --help\n";

static uint64_t now_ns(void *user)
{
	struct timespec t;

	(void)user;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int usage(const char *fmt, const char *arg)
{
	fprintf(stderr, "heddled: ");
	fprintf(stderr, fmt, arg);
	fprintf(stderr, "\n%s", usage_text);
	return 2;
}

static int set_pair(struct hd_config *c, const char *pair)
{
	const char *eq = strchr(pair, '=');
	char key[32];

	if (!eq || (size_t)(eq - pair) >= sizeof(key))
		return -EINVAL;
	memcpy(key, pair, (size_t)(eq - pair));
	key[eq - pair] = 0;
	return config_set(c, key, eq + 1);
}

enum {
	OPT_POLICY = 256,
	OPT_MPS,
	OPT_SOCKET,
	OPT_EVENTS,
	OPT_SET,
	OPT_ROOT,
	OPT_TEMPORAL,
	OPT_FG,
	OPT_VERSION
};
static const struct option options[] = {
	{"policy", required_argument, NULL, OPT_POLICY},
	{"mps", required_argument, NULL, OPT_MPS},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"events", required_argument, NULL, OPT_EVENTS},
	{"temporal", no_argument, NULL, OPT_TEMPORAL},
	{"set", required_argument, NULL, OPT_SET},
	{"config-root", required_argument, NULL, OPT_ROOT},
	{"foreground", no_argument, NULL, OPT_FG},
	{"version", no_argument, NULL, OPT_VERSION},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* The files first, whatever the order on the command line. */
static int read_files(struct hd_config *c, int argc, char **argv)
{
	const char *root = "";

	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], "--config-root") == 0)
			root = argv[i + 1];
	}
	return config_read(c, root);
}

/* 0: go on; else the exit status plus 1. */
static int parse(struct hd_config *c, int argc, char **argv)
{
	int o, r = 0;

	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (o) {
		case OPT_POLICY:
			r = config_set(c, "policy", optarg);
			break;
		case OPT_MPS:
			r = config_set(c, "mps", optarg);
			break;
		case OPT_SOCKET:
			r = config_set(c, "socket", optarg);
			break;
		case OPT_SET:
			r = set_pair(c, optarg);
			break;
		case OPT_EVENTS:
			r = strlen(optarg) < sizeof(c->events) ? 0 : -EINVAL;
			if (r == 0)
				strcpy(c->events, optarg);
			break;
		case OPT_TEMPORAL:
			c->temporal = true;
			break;
		case OPT_ROOT:
		case OPT_FG:
			break;
		case OPT_VERSION:
			puts("heddled " HEDDLE_VERSION);
			return 1;
		case 'h':
			fputs(usage_text, stdout);
			return 1;
		default:
			fputs(usage_text, stderr);
			return 3;
		}
		if (r < 0)
			return usage("not a valid value: %s", optarg) + 1;
	}
	return optind < argc ? usage("unexpected: %s", argv[optind]) + 1 : 0;
}

/* As many connections as there are descriptors for: four a tenant. */
static uint32_t raise_limits(void)
{
	const rlim_t own = 64;
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return SERVER_CONNS;
	l.rlim_cur = MIN(l.rlim_max, 4 * SERVER_CONNS + own);
	setrlimit(RLIMIT_NOFILE, &l);
	return l.rlim_cur < own + 32 ? 8 : (uint32_t)((l.rlim_cur - own) / 4);
}

/* Whoever started it without: no socket and no lock shall be where messages are written. */
static bool open_standard_fds(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
			return false;
	}
	return true;
}

/* 0: go on; else the exit status. */
static int open_server(struct server *s)
{
	struct hd_io io = {now_ns, conn_wake, s};
	pid_t other = 0;
	int r;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = s->epoll < 0 ? -errno : listen_open(s, &other);
	if (r == -EADDRINUSE) {
		hd_log("another heddled (pid %d) listens on %s already", (int)other,
			s->config->socket);
		return 1;
	}
	if (r == -ENOTSOCK || r == -EBADFD) {
		hd_log(r == -EBADFD
				? "%s.lock is not this user's file: remove it, or choose another "
				  "--socket"
				: "%s exists and is no socket of this user's: remove it, or "
				  "choose another --socket",
			s->config->socket);
		return 1;
	}
	if (r < 0) {
		hd_log("cannot listen on %s: %s", s->config->socket, strerror(-r));
		return 1;
	}
	if (s->config->mps)
		mps_start(s);
	r = hd_create(s->config, &io, &s->hd);
	if (r < 0) {
		hd_log("%s%scannot start: %s", s->config->events, s->config->events[0] ? ": " : "",
			strerror(-r));
		mps_stop(s);
		listen_close(s);
		return 1;
	}
	return 0;
}

static void close_server(struct server *s)
{
	listen_close(s);
	while (s->conns) {
		conn_kill(s->conns);
		conn_reap(s);
	}
	mps_stop(s);
	hd_destroy(s->hd);
}

int main(int argc, char **argv)
{
	struct hd_config config;
	struct server s = {.config = &config,
		.may_spin = sysconf(_SC_NPROCESSORS_ONLN) >= 4,
		.expiry_ns = UINT64_MAX};
	int r;

	if (!open_standard_fds())
		return 1;
	config_defaults(&config);
	if (read_files(&config, argc, argv) < 0)
		return 1;
	r = parse(&config, argc, argv);
	if (r)
		return r - 1;
	if (!config.socket[0]) {
		r = wire_socket_path(config.socket, sizeof(config.socket), true);
		if (r < 0) {
			hd_log("no place for the socket: %s; name one with --socket", strerror(-r));
			return 1;
		}
	}
	loop_block_signals();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Timers of fifty microseconds must not be rounded up by another fifty. */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	s.max_conns = raise_limits();
	r = open_server(&s);
	if (r)
		return r;
	hd_log("policy %s, MPS %s, listening on %s", config.policy->name, config.mps ? "on" : "off",
		config.socket);
	notify("READY=1\nSTATUS=serving\n");
	r = loop_run(&s);
	if (r < 0)
		hd_log("cannot go on: %s", strerror(-r));
	notify("STOPPING=1\n");
	close_server(&s);
	return r < 0;
}
